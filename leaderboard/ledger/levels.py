"""How many ranked teams stand on each level of a board, kept with every change of its rows.

Scores lie on a grid, so a place is the number of teams on better levels, and then who was first.
A level that many teams share is counted in parts of `PART` to twice as many, in the order of time:
to find a place or a page costs what one part costs, however many teams there are.
"""

from datetime import datetime
from typing import Final

from leaderboard.models import LevelCount, Standing

PART: Final = 2000
Spot = tuple[float | None, datetime]


def spot(standing: Standing) -> Spot | None:
    """Return where a row of the board stands; None for one that is not ranked, or not written."""
    if standing._state.adding or not standing.is_ranked:
        return None
    return standing.loss, standing.reached_at


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
