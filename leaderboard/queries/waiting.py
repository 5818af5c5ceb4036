"""How long a file still waits for a worker."""

import math
from dataclasses import dataclass
from typing import Final

from django.contrib.auth.models import AnonymousUser
from django.db.models import Count, Q, QuerySet

from leaderboard import access
from leaderboard.models import Round, Status, Submission, User
from leaderboard.pipeline import turns

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
    is_long, round = submission.is_long, submission.round
    in_turn = turns.rounds_in_turn(is_long)
    if round.pk not in in_turn or not access.may_see_others(user, submission.team.competition):
        return None
    known = Round.objects.filter(pk__in=in_turn).exclude(is_hidden=True, revealed_at=None)
    waiting = turns.queued(is_long=is_long)
    counted = waiting.filter(round__in=known).values_list("round").annotate(files=Count("pk"))
    files = dict(counted)
    here = Q(turn=submission.turn, created_at=submission.created_at, pk__lt=submission.pk)
    earlier = Q(turn=submission.turn, created_at__lt=submission.created_at)
    ahead = waiting.filter(Q(turn__lt=submission.turn) | earlier | here, round=round).count()
    # Before its turn each other round has as many as this one, one more where it is next before it.
    mine = in_turn.index(round.pk)
    of_others = sum(
        min(files.get(other, 0), ahead + (place < mine))
        for place, other in enumerate(in_turn)
        if other != round.pk
    )
    place = 1 + ahead + of_others
    return Wait(place, _seconds(place, round, known, is_long=is_long))


def _seconds(place: int, round: Round, known: QuerySet[Round], *, is_long: bool) -> int | None:
    done = turns.served(round.pk, is_long=is_long).filter(finished_at__isnull=False)
    times = list(done.values_list("claimed_at", "finished_at")[:LATEST])
    if not times:
        return None
    taken = [(end - start).total_seconds() for start, end in times if start and end]
    each = sum(taken) / len(times)
    busy = Submission.objects.filter(status=Status.SCORING, is_long=is_long, round__in=known)
    return math.ceil(place * max(each, 0.0) / max(1, busy.count()))
