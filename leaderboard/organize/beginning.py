"""The beginning of a round's ledger, with what its boards announce."""

from leaderboard.ledger.heads import start_ledger
from leaderboard.models import Board, Round
from leaderboard.queries.guarantees import guarantee


def begin_ledger(round: Round) -> dict[str, float | None]:
    """Start the ledger of an opened round; return what each board guarantees, by its uid.

    That is kept, to be compared with what is left of it later. Half the width, as a score; None
    where nothing is guaranteed.
    """
    start_ledger(round)
    announced = dict[str, float | None]()
    for board in Board.objects.select_related("round__ledger", "round__competition").filter(
        round=round
    ):
        if board.announced is None or not board.releases.exists():
            found = guarantee(board)
            board.announced = None if found is None else found.now
            board.save(update_fields=["announced"])
        announced[board.uid] = board.announced
    return announced
