"""Addresses for organizers."""

from django.urls import URLPattern, path
from rest_framework.views import APIView

from leaderboard.api.organize import (
    beginning,
    bundles,
    competitions,
    data,
    finals,
    gates,
    people,
    rounds,
    running,
    telling,
)


def _part(address: str, view: type[APIView], name: str) -> URLPattern:
    """Return the address of a part of one competition."""
    where = f"competitions/<slug:slug>/{address}"
    return path(where, view.as_view(), name=f"api-organize-{name}")


urlpatterns = [
    path("bundles/", bundles.BundlesView.as_view(), name="api-organize-bundles"),
    path("bundles/plan/", bundles.BundlePlanView.as_view(), name="api-organize-bundle-plan"),
    path("archives/", bundles.ArchivesView.as_view(), name="api-organize-archives"),
    path("competitions/", competitions.CompetitionsView.as_view(), name="api-organize"),
    path(
        "competitions/from-files/",
        beginning.FromFilesView.as_view(),
        name="api-organize-from-files",
    ),
    _part("", competitions.CompetitionView, "competition"),
    _part("checklist/", competitions.ChecklistView, "checklist"),
    _part("open/", competitions.OpenView, "open"),
    _part("draft/", competitions.DraftView, "draft"),
    _part("columns/", data.ColumnsView, "columns"),
    _part("columns/proposal/", data.ProposedColumnsView, "columns-proposal"),
    _part("files/", data.FilesView, "files"),
    _part("files/<str:name>/", data.PublicFileView, "file"),
    _part("scoring/", data.ScoringView, "scoring"),
    _part("scoring/proposal/", data.UseProposalView, "scoring-proposal"),
    _part("solution/", data.SolutionView, "solution"),
    _part("revision/", data.RevisionView, "revision"),
    _part("revision/preview/", data.RevisionPreviewView, "revision-preview"),
    _part("plan/", beginning.PlanView, "plan"),
    _part("trials/", beginning.TrialsView, "trials"),
    _part("trials/<int:trial_id>/", beginning.TrialView, "trial"),
    _part("submissions/", running.SubmissionsView, "submissions"),
    _part("submissions/requeue/", running.RequeueView, "requeue"),
    _part("teams/", running.TeamsView, "teams"),
    _part("teams/<str:uid>/", running.TeamView, "team"),
    _part("teams/<str:uid>/sanction/", people.TeamSanctionView, "team-sanction"),
    _part("teams/<str:uid>/quota/", people.QuotaView, "quota"),
    _part("teams/<str:uid>/merge/", people.MergeView, "merge"),
    _part(
        "teams/<str:uid>/submissions/<int:number>/sanction/",
        people.SubmissionSanctionView,
        "submission-sanction",
    ),
    _part("people/", people.PeopleView, "people"),
    _part("people/class-list/", people.ClassListView, "class-list"),
    _part("people/<str:uid>/", people.PersonView, "person"),
    _part("access/", people.AccessView, "access"),
    _part("organizers/", running.OrganizersView, "organizers"),
    _part("organizers/<str:username>/", running.OrganizerView, "organizer"),
    _part("budget/", running.BudgetView, "budget"),
    _part("gates/", gates.GatesView, "gates"),
    _part("gates/<str:gate>/", gates.GateView, "gate"),
    _part("gates/<str:gate>/promote/", gates.PromoteView, "gate-promote"),
    _part("events/", running.EventsView, "events"),
    _part("close/", finals.CloseView, "close"),
    _part("finals/", finals.ProgressView, "finals"),
    _part("finals/start/", finals.StartView, "finals-start"),
    _part("finals/reveal/", finals.RevealView, "finals-reveal"),
    _part("finals/board/", finals.UnrevealedBoardView, "finals-board"),
    _part("announcements/", telling.AnnouncementsView, "announcements"),
    _part("announcements/<int:number>/", telling.AnnouncementView, "announcement"),
    _part("webhooks/", telling.WebhooksView, "webhooks"),
    _part("webhooks/<str:uid>/", telling.WebhookView, "webhook"),
    _part("webhooks/<str:uid>/deliveries/", telling.DeliveriesView, "deliveries"),
    _part("rounds/", rounds.RoundsView, "rounds"),
    _part("rounds/<int:number>/", rounds.RoundView, "round"),
    _part("rounds/<int:number>/boards/", rounds.BoardsView, "boards"),
    _part("boards/<str:uid>/", rounds.BoardView, "board"),
    _part("practice/", rounds.PracticeView, "practice"),
    _part("bundle/", bundles.BundleView, "bundle"),
    _part("archive/", bundles.ArchiveView, "archive"),
    _part("move/", bundles.MoveView, "move"),
    _part("clone/", bundles.CloneView, "clone"),
    _part("publication/", finals.PublicationView, "publication"),
]
