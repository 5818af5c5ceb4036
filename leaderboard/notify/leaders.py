"""The first places of a board, as events: what its feed is made of.

They are made of released values, and recorded with the release that changed them. Of a board that
is hidden until the end nothing is recorded, for nobody.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from leaderboard.models import EventKind, Round, Standing
from leaderboard.notify.events import record

PLACES: Final = 3
# A loss, and when it was reached.
Spot = tuple[float | None, datetime]


@dataclass(frozen=True)
class Move:
    """A row of a board that was saved: where it stood before, and where now; None if unranked."""

    standing: Standing
    before: Spot | None
    after: Spot | None


def record_changes(round: Round, move: Move | None) -> None:
    """Record which teams are first now, if they are others than before, or in another order.

    Call it in the transaction in which a row of the board that ranks has moved.
    """
    if round.is_hidden or move is None or move.before == move.after:
        return
    moved = move.standing
    rows = Standing.objects.filter(
        board=moved.board, is_ranked=True, loss__isnull=False, team__is_baseline=False
    )
    found = rows.order_by("loss", "reached_at", "pk")
    first = found.values_list("loss", "reached_at", "pk", "team__uid")[: PLACES + 1]
    others = [row for row in first if row[2] != moved.pk]

    def first_with(spot: Spot | None) -> list[tuple[str, float]]:
        rows = list(others)
        if spot is not None and spot[0] is not None:
            rows.append((spot[0], spot[1], moved.pk, moved.team.uid))
        return [(uid, loss) for loss, _, _, uid in sorted(rows)[:PLACES] if loss is not None]

    before, after = first_with(move.before), first_with(move.after)
    if [uid for uid, _ in after] == [uid for uid, _ in before]:
        return
    record(
        round.competition,
        EventKind.LEADERS_CHANGED,
        subjects={"round": round.number, "board": moved.board.uid},
        places=[{"team": uid, "loss": loss} for uid, loss in after],
        is_lead=[uid for uid, _ in before[:1]] != [uid for uid, _ in after[:1]],
    )
