"""How long a file still waits for a worker."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.contrib.auth.models import AnonymousUser
from django.db.models import Count, Q, QuerySet

from leaderboard import access
from leaderboard.models import Round, Status, Submission, User
from leaderboard.pipeline import turns
from leaderboard.platform.statements import prepared

LATEST: Final = 20  # files by whose time the wait is estimated
PATIENCE: Final = 3  # how often a file is asked for while it waits
LONGEST_PAUSE: Final = 15


@dataclass(frozen=True)
class Wait:
    """The place of a file in its queue, from 1 on, and about how many seconds it still waits.

    `seconds` is None where no file of the round has been through that queue yet.
    """

    place: int
    seconds: int | None

    @property
    def pause(self) -> int:
        """Return after how many seconds to ask again: the longer it waits, the longer it has."""
        return min(max(1, (self.seconds or 0) // PATIENCE), LONGEST_PAUSE)


def wait_of(user: User | AnonymousUser, submission: Submission) -> Wait | None:
    """Return how long a file waits; None where it doesn't, or others' files may not be known of.

    Files of boards that are hidden until the end are counted for nobody.
    """
    if submission.status != Status.QUEUED:
        return None
    is_long, round = submission.is_long, submission.round_id
    in_turn = turns.rounds_in_turn(is_long)
    if round not in in_turn or not access.may_see_others(user, submission.team.competition):
        return None
    files = dict(_waiting(is_long)) if len(in_turn) > 1 else {}
    before = submission.turn, submission.created_at, submission.pk
    ahead = sum(_ahead(is_long, round, *before))
    # Before its turn each other round has as many as this one, one more where it is next before it.
    mine = in_turn.index(round)
    of_others = sum(
        min(files.get(other, 0), ahead + (place < mine))
        for place, other in enumerate(in_turn)
        if other != round
    )
    place = 1 + ahead + of_others
    busy = sum(count for other, count in _being_scored(is_long) if other in in_turn)
    return Wait(place, _seconds(place, busy, _latest(is_long, round)))


def _seconds(place: int, busy: int, times: Sequence[tuple[datetime, datetime]]) -> int | None:
    if not times:
        return None
    each = sum((end - start).total_seconds() for start, end in times) / len(times)
    return math.ceil(place * max(each, 0.0) / max(1, busy))


@prepared
def _latest(is_long: bool, round: int) -> QuerySet[Submission, tuple[datetime, datetime]]:
    done = turns.served(round, is_long=is_long).filter(finished_at__isnull=False)
    return done.values_list("claimed_at", "finished_at")[:LATEST]  # type: ignore[return-value]


@prepared
def _ahead(
    is_long: bool, round: int, turn: int, created_at: datetime, key: int
) -> QuerySet[Submission, int]:
    here = Q(turn=turn, created_at=created_at, pk__lt=key)
    earlier = Q(turn=turn, created_at__lt=created_at)
    waiting = turns.queued(is_long=is_long).filter(Q(turn__lt=turn) | earlier | here, round=round)
    return waiting.values("round").annotate(files=Count("pk")).values_list("files", flat=True)


@prepared
def _waiting(is_long: bool) -> QuerySet[Submission, tuple[int, int]]:
    return _counted(turns.queued(is_long=is_long))


@prepared
def _being_scored(is_long: bool) -> QuerySet[Submission, tuple[int, int]]:
    return _counted(Submission.objects.filter(status=Status.SCORING, is_long=is_long).order_by())


def _counted(files: QuerySet[Submission]) -> QuerySet[Submission, tuple[int, int]]:
    """Return how many files each round has, without those that may not be known of."""
    known = Round.objects.exclude(is_hidden=True, revealed_at=None)
    counted = files.filter(round__in=known).values("round").annotate(files=Count("pk"))
    return counted.values_list("round", "files")
