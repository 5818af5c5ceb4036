"""Which teams' scores surely beat which: the duels that ended with a yes."""

from dataclasses import dataclass

from django.db.models import Q

from leaderboard.models import Board, LedgerNote, NoteKind, Standing
from leaderboard.queries.baselines import baselines
from scoring import mechanisms


@dataclass(frozen=True)
class Win:
    """A duel whose files both still stand on the board, by the keys of their rows."""

    better: int
    worse: int
    worse_team: str
    by_baseline: bool


def wins(board: Board) -> list[Win]:
    """Return the duels that ended with a yes, as long as both files stand.

    A duel is of two files: once a team has a better one, nothing is known of that. Neither is it
    after a revision of the solution.
    """
    if not mechanisms.get(board.mechanism).duels:
        return []
    held = LedgerNote.objects.filter(
        kind=NoteKind.DUEL,
        holdout__ledger=board.round.ledger_id,
        holdout__retired_at__isnull=True,
        document__board=board.uid,
        document__yes=True,
    )
    pairs = list(held.order_by("number").values_list("document__entry", "document__against"))
    standings = Standing.objects.filter(
        Q(is_ranked=True) | Q(pk__in=baselines(board).order_by().values("pk")),
        board=board,
        best__holdout__retired_at__isnull=True,
        best__number__in={number for pair in pairs for number in pair},
    )
    named = standings.order_by().values_list("best__number", "pk", "team__name", "is_ranked")
    now = {number: (key, team, ranked) for number, key, team, ranked in named}
    return [
        Win(now[better][0], now[worse][0], now[worse][1], by_baseline=not now[better][2])
        for better, worse in pairs
        if {better, worse} <= now.keys()
    ]


def surely_better(found: list[Win]) -> dict[int, tuple[str, ...]]:
    """Return by a row's key the teams whose scores it surely beats."""
    beaten = dict[int, tuple[str, ...]]()
    for win in found:
        beaten[win.better] = (*beaten.get(win.better, ()), win.worse_team)
    return beaten


def board_confidence(board: Board) -> str:
    """Return the confidence of all that a board promises together, as people write it."""
    parameters = mechanisms.get(board.mechanism).parse(board.mechanism_parameters)
    return f"{100 * float(parameters.confidence):.4g} %"
