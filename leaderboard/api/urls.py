"""API v1's addresses. Whatever is none of them is a problem document too."""

from django.urls import URLPattern, URLResolver, include, path, re_path
from rest_framework.views import APIView

from leaderboard.api import (
    views_account,
    views_announcements,
    views_campaigns,
    views_competitions,
    views_docs,
    views_finals,
    views_gates,
    views_log,
    views_notices,
    views_submissions,
    views_teams,
)


def _part(address: str, view: type[APIView], name: str) -> URLPattern:
    """Return the address of a part of a competition."""
    return path(f"competitions/<slug:slug>/{address}", view.as_view(), name=f"api-{name}")


urlpatterns: list[URLPattern | URLResolver] = [
    path("", views_docs.index, name="api"),
    path("schema/", views_docs.SchemaView.as_view(), name="api-schema"),
    path("docs/", views_docs.docs_page, name="api-docs"),
    path("problems/", views_docs.problems_page, name="api-problems"),
    path("auth/login/", views_account.LoginView.as_view(), name="api-login"),
    path("auth/logout/", views_account.LogoutView.as_view(), name="api-logout"),
    path("me/", views_account.MeView.as_view(), name="api-me"),
    path("me/notices/", views_notices.NoticesView.as_view(), name="api-notices"),
    path("me/notices/read/", views_notices.ReadView.as_view(), name="api-notices-read"),
    path("me/export/", views_account.ExportView.as_view(), name="api-export"),
    path("competitions/", views_competitions.CompetitionsView.as_view(), name="api-competitions"),
    _part("", views_competitions.CompetitionView, "competition"),
    _part("announcements/", views_announcements.AnnouncementsView, "announcements"),
    _part("files/", views_competitions.FilesView, "files"),
    _part("files/<str:name>/", views_competitions.FileView, "file"),
    _part("leaderboard/", views_competitions.BoardView, "leaderboard"),
    _part("ledger/", views_competitions.LedgerView, "ledger"),
    _part("log/", views_log.LogView, "log"),
    _part("log/entries/", views_log.LogEntriesView, "log-entries"),
    _part("log/inclusion/", views_log.LogInclusionView, "log-inclusion"),
    _part("log/consistency/", views_log.LogConsistencyView, "log-consistency"),
    _part("log/witness/", views_log.LogWitnessView, "log-witness"),
    _part("final/", views_finals.FinalBoardView, "final"),
    _part("final/tests/", views_finals.FinalTestsView, "final-tests"),
    _part("finals/", views_finals.FinalsView, "finals"),
    _part("gates/", views_gates.GatesView, "gates"),
    _part("gates/<str:gate>/", views_gates.GateView, "gate"),
    _part("publications/", views_competitions.PublicationsView, "publications"),
    _part("publications/<int:number>/", views_competitions.PublicationView, "publication"),
    _part("join/", views_competitions.JoinView, "join"),
    _part("team/", views_competitions.TeamView, "team"),
    _part("team/leave/", views_teams.LeaveView, "team-leave"),
    _part("team/members/<str:username>/", views_teams.MemberView, "team-member"),
    _part("team/captain/", views_teams.CaptainView, "team-captain"),
    _part("team/invitations/", views_teams.InvitationsView, "team-invitations"),
    _part("team/mergers/", views_teams.MergersView, "team-mergers"),
    _part("team/mergers/<slug:uid>/", views_teams.MergerView, "team-merger"),
    _part("teams/", views_competitions.TeamsView, "teams"),
    _part("campaigns/", views_campaigns.CampaignsView, "campaigns"),
    _part("campaigns/<slug:campaign>/", views_campaigns.CampaignView, "campaign"),
    _part("submissions/", views_submissions.SubmissionsView, "submissions"),
    _part("submissions/<int:number>/", views_submissions.SubmissionView, "submission"),
    _part(
        "submissions/<int:number>/file/", views_submissions.SubmissionFileView, "submission-file"
    ),
    _part("submissions/compare/", views_submissions.CompareView, "submissions-compare"),
    path("teams/<slug:uid>/", views_teams.TeamPageView.as_view(), name="api-team-page"),
    path("people/<str:username>/", views_teams.PersonView.as_view(), name="api-person"),
    path("organize/", include("leaderboard.api.organize.urls")),
    re_path("", views_docs.NoSuchPage.as_view()),
]
