"""Lists for organizers as CSV, read from the database as they are sent."""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from functools import cache
from typing import Any, Final

from django.db.models import Count, Q

from leaderboard.access import Right, check_right
from leaderboard.models import Competition, Membership, Release, Sanction, Submission, User
from leaderboard.queries.board_csv import PART_ROWS, plain_text, write_csv
from leaderboard.queries.scales import scale
from scoring.mechanisms import answer_kind

_Columns = Mapping[str, Callable[[Any], object]]


def teams_csv(competition: Competition) -> Iterator[bytes]:
    """Return all teams, with what holds against them."""
    held = {
        each.team_id: each
        for each in Sanction.objects.at().of_teams().filter(team__competition=competition)
    }
    rows = competition.teams.select_related("captain", "merged_into").annotate(
        people=Count("memberships", filter=Q(memberships__left_at=None), distinct=True),
        files=Count("submissions", distinct=True),
    )
    columns: _Columns = {
        **_TEAMS,
        "sanction": lambda team: held[team.pk].kind if team.pk in held else None,
        "reason": lambda team: plain_text(held[team.pk].reason) if team.pk in held else None,
    }
    return write_csv(columns, rows.order_by("name", "pk").iterator(chunk_size=PART_ROWS))


def members_csv(competition: Competition, by: User) -> Iterator[bytes]:
    """Return everybody in a team with name and address. Raises Refused unless `by` judges here."""
    check_right(by, competition, Right.JUDGE)
    listed = {
        user: (name, email)
        for user, name, email in competition.invitees.filter(user__isnull=False).values_list(
            "user", "name", "email"
        )
    }
    rows = Membership.objects.filter(competition=competition).select_related("team", "user")
    columns: _Columns = {
        "team": lambda row: plain_text(row.team.name),
        "team_id": lambda row: row.team.uid,
        "username": lambda row: plain_text(row.user.username),
        "name": lambda row: plain_text(listed.get(row.user_id, ("", ""))[0]),
        "mail": lambda row: plain_text(listed.get(row.user_id, ("", ""))[1] or row.user.email),
        "captain": lambda row: _flag(row.team.captain_id == row.user_id),
        "joined_at": lambda row: _moment(row.accepted_at),
        "left_at": lambda row: _moment(row.left_at),
    }
    ordered = rows.order_by("team__name", "accepted_at", "pk")
    return write_csv(columns, ordered.iterator(chunk_size=PART_ROWS))


def submissions_csv(competition: Competition) -> Iterator[bytes]:
    """Return all submissions, with what the first board released of each."""
    held = {
        each.submission_id: each.reason
        for each in Sanction.objects.at().of_submissions().filter(team__competition=competition)
    }
    text = cache(lambda board: scale(board).text)

    def score(row: Submission) -> str | None:
        entry: Release | None = row.release
        if entry is None or entry.level is None:
            return None
        return str(text(entry.board)(entry.level / entry.steps))

    columns: _Columns = {
        **_SUBMISSIONS,
        "released_score": score,
        "left_out": lambda row: plain_text(held[row.pk]) if row.pk in held else None,
    }
    rows = Submission.objects.filter(round__competition=competition).select_related(
        "team", "user", "round", "release__board__round"
    )
    ordered = rows.order_by("created_at", "pk")
    return write_csv(columns, ordered.iterator(chunk_size=PART_ROWS))


def _flag(value: bool) -> str:
    return str(value).lower()


def _moment(at: datetime | None) -> str | None:
    return None if at is None else at.isoformat(timespec="seconds")


_TEAMS: Final[_Columns] = {
    "team": lambda team: plain_text(team.name),
    "team_id": lambda team: team.uid,
    "captain": lambda team: plain_text(team.captain.username),
    "members": lambda team: team.people,
    "submissions": lambda team: team.files,
    "created_at": lambda team: _moment(team.created_at),
    "baseline": lambda team: _flag(team.is_baseline),
    "verified": lambda team: _flag(team.is_verified),
    "merged_into": lambda team: team.merged_into and team.merged_into.uid,
    "extra_daily": lambda team: team.extra_daily,
    "extra_total": lambda team: team.extra_total,
}
_SUBMISSIONS: Final[_Columns] = {
    "round": lambda row: row.round.number,
    "team": lambda row: plain_text(row.team.name),
    "team_id": lambda row: row.team.uid,
    "submission": lambda row: row.number,
    "username": lambda row: plain_text(row.user.username),
    "created_at": lambda row: _moment(row.created_at),
    "status": lambda row: row.status,
    "file_name": lambda row: plain_text(row.file_name),
    "bytes": lambda row: row.size,
    "sha256": lambda row: row.sha256,
    "message": lambda row: plain_text(row.message),
    "answer": lambda row: row.release and answer_kind(row.release.kind).code,
}
