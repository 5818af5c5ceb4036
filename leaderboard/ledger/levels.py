"""How many ranked teams stand on each level of a board, kept with every change of its rows.

Scores lie on a grid, so a place is the number of teams on better levels, and then who was first.
A level that many teams share is counted in parts of `PART` to twice as many, in the order of time:
to find a place or a page costs what one part costs, however many teams there are.

What the counts were when a day began is kept for that day, so that no view ranks the past anew.
"""

from datetime import UTC, datetime
from itertools import groupby
from operator import itemgetter
from typing import Final

from django.utils import timezone

from leaderboard.models import DayStart, LevelCount, Standing
from leaderboard.notify.leaders import Spot
from leaderboard.platform.statements import insert_row, update_row

PART: Final = 2000
_WRITTEN: Final = (
    *("loss", "best_id", "last_id", "reached_at", "entries", "variants", "is_ranked"),
    *("low", "curve", "moved_on", "place_before"),
)
CURVE: Final = 60  # points of a team's curve: its first one, and the last ones


def spot(standing: Standing) -> Spot | None:
    """Return where a row of the board stands; None for one that is not ranked, or not written."""
    if standing._state.adding or not standing.is_ranked:
        return None
    return _where(standing)


def _where(standing: Standing) -> Spot:
    return standing.loss, standing.reached_at


def save(standing: Standing, before: Spot | None, at: datetime | None = None) -> None:
    """Save a row of the board that was at the spot `before`, and count it where it is now.

    at: the moment of the change; now if left out. Call it like `move`.
    """
    if before != (_where(standing) if standing.is_ranked else None):
        at = at or timezone.now()
        start = begin_day(standing.board_id, at)
        if standing.moved_on is None or standing.moved_on < start.day:
            standing.moved_on = start.day
            standing.place_before = None if before is None else place_in(start, before[0])
    # A best answer that wasn't loaded is that of before.
    if standing.best_id is None or Standing.best.is_cached(standing):
        standing.low = None if standing.best is None else standing.best.low
    if standing._state.adding:
        insert_row(standing)
    else:
        update_row(standing, *_WRITTEN)
    move(standing.board_id, before, spot(standing))


def begin_day(board: int, at: datetime) -> DayStart:
    """Return the counts with which the day of this moment began; keep those of now for a new day.

    Call it before the first change of the day is counted. Days only go on: what is written again
    after a restore belongs to the day that has begun.
    """
    day = at.astimezone(UTC).date()
    start = DayStart.objects.filter(board=board).first()
    if start is not None and start.day >= day:
        return start
    levels = LevelCount.objects.filter(board=board).values_list("loss", "teams")
    counts = [
        [loss, sum(teams for _, teams in level)]
        for loss, level in groupby(levels, key=itemgetter(0))
    ]
    new = {"day": day, "counts": counts}
    return DayStart.objects.update_or_create(board_id=board, defaults=new)[0]


def place_in(start: DayStart, loss: float | None) -> int:
    """Return the place of a loss when the day began."""
    counts: list[tuple[float | None, int]] = start.counts
    scored = ((other, teams) for other, teams in counts if other is not None)
    return 1 + sum(teams for other, teams in scored if loss is None or other < loss)


def draw_curve(standing: Standing) -> None:
    """Add the row's score to its curve, which begins anew where there is none."""
    if standing.loss is None:
        standing.curve = []
        return
    point = [int(standing.reached_at.timestamp()), standing.loss]
    if not standing.curve or standing.curve[-1] != point:
        standing.curve = [*standing.curve[:1], *standing.curve[1:][2 - CURVE :], point]


def move(board: int, before: Spot | None, after: Spot | None) -> None:
    """Count a row of the board that was at one spot, and was saved at another.

    Call it in the transaction that holds the ledger's lock.
    """
    if before == after:
        return
    if before is not None and not _count(board, before, -1):
        recount(board)
    elif after is not None:
        _count(board, after, 1)


def recount(board: int) -> None:
    """Count all ranked rows of a board anew."""
    LevelCount.objects.filter(board=board).delete()
    counts = list[LevelCount]()
    latest = None
    ranked = Standing.objects.filter(board=board, is_ranked=True)
    rows = ranked.values_list("loss", "reached_at")
    for loss, at in rows.iterator():
        is_full = bool(counts) and counts[-1].teams >= PART and at != latest
        if not counts or counts[-1].loss != loss or is_full:
            counts.append(LevelCount(board_id=board, loss=loss, since=at, teams=0))
        counts[-1].teams += 1
        latest = at
    LevelCount.objects.bulk_create(counts, batch_size=500)


def _count(board: int, spot: Spot, by: int) -> bool:
    """Count one row more at a spot, or one fewer; return False for one that was not counted."""
    loss, at = spot
    level = LevelCount.objects.filter(board=board, loss=loss).order_by("since")
    part = level.filter(since__lte=at).last()
    if part is None and by < 0:
        return False
    part = part or level.first() or LevelCount(board_id=board, loss=loss, since=at, teams=0)
    part.since, part.teams = min(part.since, at), part.teams + by
    if not part.teams:
        part.delete()
        return True
    if part.teams > 2 * PART:
        # Halved between two moments; a part whose rows all share a moment stays whole.
        rows = Standing.objects.filter(
            board=board, is_ranked=True, loss=loss, reached_at__gte=part.since
        )
        middle = rows.order_by("reached_at", "pk").values_list("reached_at", flat=True)[PART]
        earlier = rows.filter(reached_at__lt=middle).count()
        if earlier:
            later = {"since": middle, "teams": part.teams - earlier}
            LevelCount.objects.create(board_id=board, loss=loss, **later)
            part.teams = earlier
    part.save()
    return True
