"""How many teams stand on each level of a board, kept with every change of its rows.

Scores lie on a grid, so a place is the number of teams on better levels, and then who was first.
A level that many teams share is counted in parts of `PART` to twice as many, in the order of time:
to find a place or a page costs what one part costs, however many teams there are.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

from django.db.models import QuerySet

from leaderboard.models import LevelCount, Standing

PART: Final = 2000
Spot = tuple[float | None, datetime]


def spot(standing: Standing) -> Spot | None:
    """Return where a row of the board stands; None for one that is not written yet."""
    return None if standing._state.adding else (standing.loss, standing.reached_at)


def move(board: int, before: Spot | None, after: Spot | None) -> None:
    """Count a row of the board that was at one spot, and was saved at another.

    Call it in the transaction that holds the ledger's lock.
    """
    if before == after:
        return
    if before is not None and not _leave(board, before):
        recount(board)
    elif after is not None:
        _enter(board, after)


def recount(board: int) -> None:
    """Count all rows of a board anew."""
    LevelCount.objects.filter(board=board).delete()
    counts = list[LevelCount]()
    latest = None
    rows = Standing.objects.filter(board=board).values_list("loss", "reached_at")
    for loss, at in rows.iterator():
        is_full = bool(counts) and counts[-1].teams >= PART and at != latest
        if not counts or counts[-1].loss != loss or is_full:
            counts.append(LevelCount(board_id=board, loss=loss, since=at, teams=0))
        counts[-1].teams += 1
        latest = at
    LevelCount.objects.bulk_create(counts, batch_size=500)


def _parts(board: int, loss: float | None) -> QuerySet[LevelCount]:
    level = {"loss__isnull": True} if loss is None else {"loss": loss}
    return LevelCount.objects.filter(board=board, **level).order_by("since")


def _leave(board: int, spot: Spot) -> bool:
    """Return whether the row was counted."""
    loss, at = spot
    part = _parts(board, loss).filter(since__lte=at).last()
    if part is None:
        return False
    if part.teams == 1:
        part.delete()
    else:
        part.teams -= 1
        part.save(update_fields=["teams"])
    return True


def _enter(board: int, spot: Spot) -> None:
    loss, at = spot
    level = _parts(board, loss)
    part = level.filter(since__lte=at).last() or level.first()
    if part is None:
        LevelCount.objects.create(board_id=board, loss=loss, since=at, teams=1)
        return
    part.since = min(part.since, at)
    part.teams += 1
    part.save(update_fields=["since", "teams"])
    if part.teams > 2 * PART:
        _split(part)


def _split(part: LevelCount) -> None:
    """Halve a part between two moments; one whose rows all share a moment stays whole."""
    level = {"loss__isnull": True} if part.loss is None else {"loss": part.loss}
    rows = Standing.objects.filter(board=part.board_id, reached_at__gte=part.since, **level)
    rows = rows.order_by("reached_at", "pk")
    middle = rows.values_list("reached_at", flat=True)[PART]
    earlier = rows.filter(reached_at__lt=middle).count()
    if earlier:
        LevelCount.objects.create(
            board_id=part.board_id, loss=part.loss, since=middle, teams=part.teams - earlier
        )
        part.teams = earlier
        part.save(update_fields=["teams"])
