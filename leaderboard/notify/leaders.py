"""The first places of a board, as events: what its feed is made of.

They are made of released values, and recorded with the release that changed them. Of a board that
is hidden until the end nothing is recorded, for nobody.
"""

from typing import Final

from leaderboard.models import EventKind, Round, Standing
from leaderboard.notify.events import record

PLACES: Final = 3
First = list[tuple[str, float]]


def first_places(round: Round) -> First:
    """Return the first teams of the board that ranks, with their losses; baselines are no teams."""
    if round.is_hidden:
        return []
    rows = Standing.objects.filter(
        board=round.board, is_ranked=True, loss__isnull=False, team__is_baseline=False
    )
    found = rows.order_by("loss", "reached_at", "pk").values_list("team__uid", "loss")
    return [(uid, loss) for uid, loss in found[:PLACES] if loss is not None]


def record_changes(round: Round, before: First) -> None:
    """Record which teams are first now, if they are others than before, or in another order.

    Call it in the transaction that changed the board.
    """
    after = first_places(round)
    if [uid for uid, _ in after] == [uid for uid, _ in before]:
        return
    record(
        round.competition,
        EventKind.LEADERS_CHANGED,
        subjects={"round": round.number, "board": round.board.uid},
        places=[{"team": uid, "loss": loss} for uid, loss in after],
        is_lead=[uid for uid, _ in before[:1]] != [uid for uid, _ in after[:1]],
    )
