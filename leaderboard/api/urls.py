"""API v1's addresses. Whatever is none of them is a problem document too."""

from django.urls import path, re_path

from leaderboard.api import (
    views_account,
    views_competitions,
    views_docs,
    views_finals,
    views_submissions,
)

urlpatterns = [
    path("", views_docs.index, name="api"),
    path("schema/", views_docs.SchemaView.as_view(), name="api-schema"),
    path("docs/", views_docs.docs_page, name="api-docs"),
    path("problems/", views_docs.problems_page, name="api-problems"),
    path("auth/login/", views_account.LoginView.as_view(), name="api-login"),
    path("auth/logout/", views_account.LogoutView.as_view(), name="api-logout"),
    path("me/", views_account.MeView.as_view(), name="api-me"),
    path("competitions/", views_competitions.CompetitionsView.as_view(), name="api-competitions"),
    path(
        "competitions/<slug:slug>/",
        views_competitions.CompetitionView.as_view(),
        name="api-competition",
    ),
    path(
        "competitions/<slug:slug>/files/",
        views_competitions.FilesView.as_view(),
        name="api-files",
    ),
    path(
        "competitions/<slug:slug>/files/<str:name>/",
        views_competitions.FileView.as_view(),
        name="api-file",
    ),
    path(
        "competitions/<slug:slug>/leaderboard/",
        views_competitions.BoardView.as_view(),
        name="api-leaderboard",
    ),
    path(
        "competitions/<slug:slug>/ledger/",
        views_competitions.LedgerView.as_view(),
        name="api-ledger",
    ),
    path(
        "competitions/<slug:slug>/final/", views_finals.FinalBoardView.as_view(), name="api-final"
    ),
    path("competitions/<slug:slug>/finals/", views_finals.FinalsView.as_view(), name="api-finals"),
    path(
        "competitions/<slug:slug>/publications/",
        views_competitions.PublicationsView.as_view(),
        name="api-publications",
    ),
    path(
        "competitions/<slug:slug>/publications/<int:number>/",
        views_competitions.PublicationView.as_view(),
        name="api-publication",
    ),
    path("competitions/<slug:slug>/join/", views_competitions.JoinView.as_view(), name="api-join"),
    path("competitions/<slug:slug>/team/", views_competitions.TeamView.as_view(), name="api-team"),
    path(
        "competitions/<slug:slug>/teams/",
        views_competitions.TeamsView.as_view(),
        name="api-teams",
    ),
    path(
        "competitions/<slug:slug>/submissions/",
        views_submissions.SubmissionsView.as_view(),
        name="api-submissions",
    ),
    path(
        "competitions/<slug:slug>/submissions/<int:number>/",
        views_submissions.SubmissionView.as_view(),
        name="api-submission",
    ),
    re_path("", views_docs.NoSuchPage.as_view()),
]
