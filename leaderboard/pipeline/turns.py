"""Whose file is next: rounds take turns, and within a round its teams do.

A file's `turn` is one more than that of its team's file before it, and than that to which its
round has come: so teams are served one after the other, however many files one of them sends at
once (start-time fair queueing, of files). Of rounds with files that wait, the one served longest
ago is next. Long files have a queue, and turns, of their own.
"""

from django.conf import settings
from django.db.models import F, OuterRef, Q, QuerySet, Subquery

from leaderboard.models import Holdout, Round, Status, Submission, Team
from leaderboard.pipeline.queue import startable
from leaderboard.platform.statements import prepared


def is_long(round: Round, size: int) -> bool:
    """Return whether a file of so many bytes takes long, by them times the rows of its round."""
    active = [] if round.ledger_id is None else _rows_of_newest(round.ledger_id)
    return size * sum(sum(rows) for rows in active) > settings.LONG_FILE


@prepared
def _rows_of_newest(ledger: int) -> QuerySet[Holdout, tuple[int, int, int]]:
    active = Holdout.objects.active().filter(ledger=ledger).order_by("-version")
    return active.values_list("public_rows", "private_rows", "final_rows")[:1]


def next_turn(team: Team, round: Round, *, is_long: bool) -> int:
    """Return the turn of the team's next file. Call it with the team locked."""
    waiting = _last_turn(is_long, team.pk, round.pk)
    return 1 + max((*waiting, *_turn_served(is_long, round.pk)), default=0)


@prepared
def _last_turn(is_long: bool, team: int, round: int) -> QuerySet[Submission, int]:
    waiting = queued(is_long=is_long).filter(team=team, round=round)
    return waiting.order_by("-turn").values_list("turn", flat=True)[:1]


@prepared
def _turn_served(is_long: bool, round: int) -> QuerySet[Submission, int]:
    return served(round, is_long=is_long).values_list("turn", flat=True)[:1]


def find_next(*, is_long: bool) -> int | None:
    """Return the key of the submission whose turn it is; None where none may begin.

    Others may ask at the same time: who claims it has it.
    """
    in_turn = rounds_in_turn(is_long)
    return next((key for round_id in in_turn for key in _first_startable(is_long, round_id)), None)


@prepared
def _first_startable(is_long: bool, round: int) -> QuerySet[Submission, int]:
    files = startable().filter(round=round, is_long=is_long)
    return files.order_by("turn", "created_at", "pk").values_list("pk", flat=True)[:1]


@prepared
def rounds_in_turn(is_long: bool) -> QuerySet[Round, int]:
    """Return the keys of the rounds that have files waiting, in the order in which they are next.

    Those of a paused ledger are left out.
    """
    last = served(OuterRef("pk"), is_long=is_long).values("claimed_at")[:1]
    rounds = Round.objects.filter(
        Q(ledger=None) | Q(ledger__paused_at=None),
        pk__in=queued(is_long=is_long).values("round"),
    )
    in_turn = rounds.order_by(Subquery(last).asc(nulls_first=True), "pk")
    return in_turn.values_list("pk", flat=True)


def queued(*, is_long: bool) -> QuerySet[Submission]:
    """Return the files of a queue that wait, in no order."""
    return Submission.objects.filter(status=Status.QUEUED, is_long=is_long).order_by()


def served(round: int | OuterRef, *, is_long: bool) -> QuerySet[Submission]:
    """Return the files of a round that workers have taken from a queue, the latest first."""
    taken = Submission.objects.filter(round=round, is_long=is_long, claimed_at__isnull=False)
    return taken.order_by(F("claimed_at").desc())
