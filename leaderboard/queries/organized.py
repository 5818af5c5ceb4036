"""What organizers see in lists: their competitions, and the submissions and teams of one."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from django.db.models import Count, Min, QuerySet
from django.utils import timezone

from leaderboard.access import Person, organized_competitions
from leaderboard.models import (
    Competition,
    Loss,
    Membership,
    Phase,
    Round,
    Status,
    Submission,
    Team,
)
from leaderboard.queries.paging import ListPage, list_page
from leaderboard.queries.running import is_stuck, queue
from leaderboard.queries.scales import scale
from leaderboard.queries.submissions import RELATED, SubmissionRow, submission_row


@dataclass(frozen=True)
class OrganizedCompetition:
    """A competition in an organizer's list. `closes_at` is None where it has no end.

    attention: what somebody should look at, as words with the name of the page.
    """

    slug: str
    title: str
    phase: Phase
    opens_at: datetime
    closes_at: datetime | None
    teams: int
    submissions: int
    failed: int
    attention: tuple[tuple[str, str], ...]


def organized(user: Person) -> list[OrganizedCompetition]:
    """Return the competitions that this person runs, the newest first."""
    rows = organized_competitions(user).prefetch_related("rounds__ledger", "rounds__boards")
    competitions = list(rows.order_by("-created_at", "-pk"))
    teams = _counts(Team.objects.filter(merged_into=None, is_baseline=False), "competition")
    sent = _counts(Submission.objects.all(), "team__competition")
    failed = _counts(Submission.objects.filter(status=Status.FAILED), "team__competition")
    waiting = Submission.objects.filter(status=Status.QUEUED).order_by()
    since = dict(waiting.values_list("team__competition").annotate(since=Min("created_at")))
    lost = _counts(Loss.objects.filter(accepted_at=None), "competition")
    return [
        OrganizedCompetition(
            slug=each.slug,
            title=each.title,
            phase=each.phase(timezone.now()),
            opens_at=each.current_round.opens_at,
            closes_at=each.current_round.closes_at,
            teams=teams.get(each.pk, 0),
            submissions=sent.get(each.pk, 0),
            failed=failed.get(each.pk, 0),
            attention=tuple(
                _attention(
                    each.current_round,
                    failed.get(each.pk, 0),
                    since.get(each.pk),
                    lost=each.pk in lost,
                )
            ),
        )
        for each in competitions
    ]


def _attention(
    round: Round, failed: int, since: datetime | None, *, lost: bool
) -> Iterator[tuple[str, str]]:
    """Yield what somebody should look at, the most urgent first, with the name of its page."""
    phase, now = round.phase(timezone.now()), timezone.now()
    if round.ledger and round.ledger.paused_at:
        yield "The ledger is paused: nothing is scored", "run"
    if lost:
        yield "A restored backup lacks something: see what has to be done again", "finals"
    if failed:
        yield f"{failed:,} failed on our side", "submissions"
    if is_stuck(since):
        yield "Files wait longer than 10 minutes", "run"
    if phase is Phase.OPEN and round.closes_at and round.closes_at - now < timedelta(days=1):
        yield "It closes within a day", "run"
    if round.revealed_at is None and round.finals_scored_at is not None:
        yield "The final scores wait to be revealed", "finals"
    elif phase is Phase.CLOSED and round.finals_started_at is None:
        yield "The finals wait to be started", "finals"


def _counts(rows: QuerySet[Any], key: str) -> dict[int, int]:
    """Return how many of the rows there are for each value of the key."""
    grouped = rows.order_by().values_list(key)
    return dict(grouped.annotate(count=Count("pk")))


@dataclass(frozen=True)
class OrganizedSubmission:
    """A submission with what its team sees, `row`, and what its organizers do besides."""

    pk: int
    team: Team
    row: SubmissionRow
    failure: str
    attempts: int


def organized_submissions(
    competition: Competition, *, status: str = "", search: str = "", page: int = 1
) -> ListPage[OrganizedSubmission]:
    """Return submissions of all teams, newest first: with a status, of teams whose name fits."""
    rows = Submission.objects.filter(team__competition=competition, team__name__icontains=search)
    if status:
        rows = rows.filter(status=status)
    return _with_rows(competition, rows, page)


def submissions_of_team(team: Team, page: int = 1) -> ListPage[OrganizedSubmission]:
    """Return a team's submissions, newest first, as its organizers see them."""
    return _with_rows(team.competition, Submission.objects.filter(team=team), page)


def organized_part(
    competition: Competition, part: slice, *, status: str = "", team: str = ""
) -> tuple[list[OrganizedSubmission], int]:
    """Return some submissions, newest first, and how many there are: for the API.

    team: only those of the team with this permanent id.
    """
    wanted = {"status": status, "team__uid": team}
    rows = Submission.objects.filter(
        team__competition=competition, **{name: value for name, value in wanted.items() if value}
    )
    return _read(competition, _joined(rows)[part]), rows.count()


def _with_rows(
    competition: Competition, rows: QuerySet[Submission], page: int
) -> ListPage[OrganizedSubmission]:
    found = list_page(_joined(rows), page)
    return replace(found, rows=tuple(_read(competition, found.rows)))


def _joined(rows: QuerySet[Submission]) -> QuerySet[Submission]:
    return rows.select_related("team", *RELATED).order_by("-created_at", "-pk")


def _read(competition: Competition, rows: Iterable[Submission]) -> list[OrganizedSubmission]:
    scale_once, found = cache(scale), []
    for each in rows:
        each.team.competition = competition  # with its rounds, read once
        row = submission_row(each, scale_once)
        found.append(OrganizedSubmission(each.pk, each.team, row, each.failure, each.attempts))
    return found


@dataclass(frozen=True)
class OrganizedTeam:
    """A team in its organizers' list."""

    team: Team
    members: int
    submissions: int
    rejected: int


def organized_teams(
    competition: Competition, *, search: str = "", page: int = 1
) -> ListPage[OrganizedTeam]:
    """Return teams by name; not those that were merged into another."""
    rows = competition.teams.filter(merged_into=None, name__icontains=search)
    found = list_page(rows.order_by("name", "pk"), page)
    keys = [team.pk for team in found.rows]
    members = _of_teams(Membership.objects.active(), keys)
    sent = _of_teams(Submission.objects.all(), keys)
    rejected = _of_teams(Submission.objects.filter(status=Status.REJECTED), keys)
    return replace(
        found,
        rows=tuple(
            OrganizedTeam(
                team,
                members=members.get(team.pk, 0),
                submissions=sent.get(team.pk, 0),
                rejected=rejected.get(team.pk, 0),
            )
            for team in found.rows
        ),
    )


def _of_teams(rows: QuerySet[Any], teams: Collection[int]) -> dict[int, int]:
    return _counts(rows.filter(team__in=teams), "team")


@dataclass(frozen=True)
class Work:
    """How much a competition has to do: its teams and submissions, and what waits since when."""

    teams: int
    submissions: int
    queued: int
    scoring: int
    failed: int
    waiting_since: datetime | None


def work(competition: Competition) -> Work:
    """Return what there is to do, and to see to."""
    waiting = queue(competition)
    rows = Submission.objects.filter(team__competition=competition)
    return Work(
        teams=competition.teams.filter(merged_into=None, is_baseline=False).count(),
        submissions=rows.count(),
        queued=waiting.queued,
        scoring=waiting.scoring,
        failed=rows.filter(status=Status.FAILED).count(),
        waiting_since=waiting.since,
    )
