"""Which teams' scores surely beat which: the duels that ended with a yes."""

from leaderboard.models import Board, LedgerNote, NoteKind, Standing
from scoring import mechanisms


def surely_better(board: Board) -> dict[int, tuple[str, ...]]:
    """Return by a standing's key the teams whose scores it surely beats, as long as both stand.

    A duel is of two files: once a team has a better one, nothing is known of that. Neither is it
    after a revision of the solution.
    """
    if not mechanisms.get(board.mechanism).duels:
        return {}
    held = LedgerNote.objects.filter(
        kind=NoteKind.DUEL,
        holdout__ledger=board.round.ledger_id,
        holdout__retired_at__isnull=True,
        document__board=board.uid,
        document__yes=True,
    )
    pairs = list(held.order_by("number").values_list("document__entry", "document__against"))
    standings = Standing.objects.filter(
        board=board,
        is_ranked=True,
        best__holdout__retired_at__isnull=True,
        best__number__in={number for pair in pairs for number in pair},
    )
    now = {
        number: (key, team)
        for number, key, team in standings.order_by().values_list(
            "best__number", "pk", "team__name"
        )
    }
    beaten = dict[int, tuple[str, ...]]()
    for better, worse in pairs:
        if better in now and worse in now:
            key = now[better][0]
            beaten[key] = (*beaten.get(key, ()), now[worse][1])
    return beaten


def board_confidence(board: Board) -> str:
    """Return the confidence of all that a board promises together, as people write it."""
    parameters = mechanisms.get(board.mechanism).parse(board.mechanism_parameters)
    return f"{100 * float(parameters.confidence):.4g} %"
