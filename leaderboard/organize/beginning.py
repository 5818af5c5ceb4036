"""The beginning of a round's ledger, with what its boards announce."""

from leaderboard.ledger.heads import start_ledger
from leaderboard.models import Board, Round
from leaderboard.organize.plan import good_loss
from leaderboard.queries.guarantees import guarantee


def begin_ledger(round: Round) -> None:
    """Start the ledger of an opened round, and keep what each board guarantees then.

    What is left of that can be compared with it later: `queries.wear`.
    """
    start_ledger(round)
    for board in Board.objects.select_related("round__ledger", "round__competition").filter(
        round=round
    ):
        if board.announced is None or not board.releases.exists():
            found = guarantee(board, usual=good_loss(board))
            board.announced = None if found is None else found.now
            board.save(update_fields=["announced"])
