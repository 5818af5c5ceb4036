"""Which teams could be first on a board that is still running, where a valid test tells."""

from dataclasses import dataclass
from typing import Final

from django.db.models import Min, Q, Sum

from leaderboard.access import Person, may_see_others
from leaderboard.models import Board
from leaderboard.platform.lately import lately
from leaderboard.queries.duels import board_confidence, wins

_LEADERS: Final = 50  # whose intervals the others are compared with
_NAMED: Final = 5
_MANY_TEAMS: Final = 10_000
_MANY_SECONDS: Final = 60


@dataclass(frozen=True)
class Contenders:
    """The teams that no other is surely better than: how many, and the names of the first."""

    could_be_first: int
    contenders: tuple[str, ...]
    teams: int
    confidence: str

    @property
    def how(self) -> str:
        """Return what this follows from."""
        return (
            f"With {self.confidence} confidence, together with everything else on this board, the "
            "expected scores of the other teams are worse than that of a team ahead of them: their "
            "guaranteed intervals do not overlap, or a comparison on the hidden rows told."
        )


def contenders(board: Board, user: Person) -> Contenders | None:
    """Return the teams whose expected score could be the best; None where no test rules any out.

    All intervals of the board hold at once, and so do its duels with them: a team whose interval
    lies beyond that of a leader is surely worse, and so is one that lost a duel. After a revision
    scores stand on different labels, and are not compared. Of very many teams it is told as it was
    within the last minute.
    """
    holdout = board.round.active_holdout
    if holdout is None or holdout.version > 1 or not may_see_others(user, board.round.competition):
        return None
    counts = board.level_counts.filter(loss__isnull=False).aggregate(teams=Sum("teams"))
    seconds = _MANY_SECONDS if (counts["teams"] or 0) > _MANY_TEAMS else 0
    return lately(("contenders", board.pk), lambda: _find(board), seconds)


def _find(board: Board) -> Contenders | None:
    scored = board.standings.filter(is_ranked=True, loss__isnull=False).order_by()
    leading = scored.order_by("loss", "reached_at", "pk").values("pk")[:_LEADERS]
    bar = scored.filter(pk__in=list(leading.values_list("pk", flat=True)))
    worst = bar.aggregate(worst=Min("best__high"))["worst"]
    found = scored if worst is None else scored.filter(Q(low__isnull=True) | Q(low__lte=worst))
    found = found.exclude(pk__in=[win.worse for win in wins(board) if not win.by_baseline])
    teams, left = scored.count(), found.count()
    if left == teams:
        return None
    first = found.order_by("loss", "reached_at", "pk").values_list("team__name", flat=True)
    return Contenders(left, tuple(first[:_NAMED]), teams, board_confidence(board))
