"""Addresses of the pages."""

from django.urls import path

from leaderboard.web.views import (
    account,
    announcements,
    board,
    competitions,
    entrance,
    finals,
    health,
    metrics,
    submissions,
    teams,
)

urlpatterns = [
    path("", competitions.home, name="home"),
    path("healthz", health.healthz, name="healthz"),
    path("readyz", health.readyz, name="readyz"),
    path("metrics", metrics.metrics, name="metrics"),
    path("how-it-works/", competitions.how_it_works, name="how-it-works"),
    path("account/", account.account, name="account"),
    path("account/email/", account.AddressesView.as_view(), name="account_email"),
    path("account/tokens/", account.create_token, name="account-tokens"),
    path("account/tokens/<slug:key>/revoke/", account.revoke_token, name="token-revoke"),
    path("account/mails/", announcements.change_mails, name="account-mails"),
    path("unsubscribe/<str:signed>/", announcements.unsubscribe, name="unsubscribe"),
    path("c/<slug:slug>/", competitions.overview, name="competition"),
    path("c/<slug:slug>/announcements/", announcements.announcements, name="announcements"),
    path("c/<slug:slug>/announcements.atom", announcements.feed, name="announcements-feed"),
    path("c/<slug:slug>/data/", competitions.data, name="data"),
    path("c/<slug:slug>/data/<str:name>", competitions.data_file, name="data-file"),
    path("c/<slug:slug>/rules/", competitions.rules, name="rules"),
    path("c/<slug:slug>/rules/accept/", competitions.accept_rules, name="accept-rules"),
    path("c/<slug:slug>/join/", entrance.join, name="join"),
    path("c/<slug:slug>/invited/<slug:token>/", entrance.invited, name="invited"),
    path("c/<slug:slug>/join/<slug:token>/", competitions.invitation, name="invitation"),
    path("c/<slug:slug>/leaderboard/", board.leaderboard, name="leaderboard"),
    path(
        "c/<slug:slug>/leaderboard/released/",
        board.released_leaderboard,
        name="leaderboard-released",
    ),
    path("c/<slug:slug>/leaderboard.csv", board.leaderboard_csv, name="leaderboard-csv"),
    path("c/<slug:slug>/final.csv", board.final_csv_file, name="final-csv"),
    path("c/<slug:slug>/submit/", submissions.submit, name="submit"),
    path("c/<slug:slug>/submissions/", submissions.submissions, name="submissions"),
    path("c/<slug:slug>/submissions/<int:number>/", submissions.submission, name="submission"),
    path(
        "c/<slug:slug>/submissions/<int:number>/status/",
        submissions.submission_status,
        name="submission-status",
    ),
    path("c/<slug:slug>/finals/", finals.choose, name="finals"),
    path(
        "c/<slug:slug>/submissions/<int:number>/final/", finals.enter_one, name="submission-final"
    ),
    path("c/<slug:slug>/team/", teams.team, name="team"),
    path("c/<slug:slug>/team/name/", teams.rename_team, name="team-rename"),
    path("c/<slug:slug>/team/invite/", teams.invite, name="team-invite"),
    path("c/<slug:slug>/team/withdraw/", teams.withdraw_invitations, name="team-withdraw"),
    path("c/<slug:slug>/ledger/", board.ledger, name="ledger"),
    path("c/<slug:slug>/ledger.jsonl", board.ledger_lines, name="ledger-lines"),
    path("c/<slug:slug>/publications/<int:version>.zip", board.publication, name="publication"),
]
