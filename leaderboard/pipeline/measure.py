"""Open the vault for a moment: aligned predictions in, a measurement out."""

from django.db.models import Q, QuerySet
from django.utils import timezone

from leaderboard import vault
from leaderboard.models import Board, Holdout, NoteKind, Submission
from leaderboard.platform.statements import prepared
from leaderboard.vault import Measured, custom_metrics
from scoring.predictions import Predictions


class RowsMoved(Exception):
    """A revision holds back anew what gave answers before: its scores have been shown."""

    def __init__(self, holdout: Holdout, text: str) -> None:
        super().__init__(text)
        self.holdout = holdout


def measure(
    submission: Submission, predictions: Predictions
) -> tuple[Holdout, dict[Board, Measured]]:
    """Measure predictions for every board of the round, on the active holdout.

    What comes back is held in memory for one step of each mechanism, and can't be printed, pickled,
    logged or queued. Where a custom metric failed, the submission's `failure` says where, for the
    organizer. Raises StateError where the holdout was sealed for other rows or columns, RowsMoved
    where a revision must not answer.
    """
    round = submission.round
    (holdout,) = _active(round.ledger_id or 0)
    if holdout.is_unchecked:
        check_fits(holdout)
    boards = list(round.boards.all())
    with custom_metrics.noting() as notes:
        claimed = submission.claimed_score
        measured = {board: vault.measure(holdout, board, predictions, claimed) for board in boards}
    if any(custom_metrics.is_custom(board.metric) for board in boards):
        # Written whether it failed or not: nothing that the worker does may depend on labels.
        failure = notes[0][:200] if notes else ""
        Submission.objects.filter(pk=submission.pk).update(failure=failure)
    return holdout, measured


@prepared
def _active(ledger: int) -> QuerySet[Holdout]:
    return Holdout.objects.active().select_related("ledger").filter(ledger=ledger).order_by()


def check_fits(holdout: Holdout) -> None:
    """Note that a revised solution holds back no row whose scores are known. Raises RowsMoved.

    Public scores are shown exactly and counted by no ledger, so such rows stay out of the holdout
    for good; intervals on Final rows need rows that were never asked. The web process can't see
    which rows are which: a worker looks.
    """
    revisions = Holdout.objects.filter(ledger=holdout.ledger_id).exclude(pk=holdout.pk)
    written_off = Q(notes__kind=NoteKind.WRITE_OFF)
    for earlier in revisions.filter(Q(releases__isnull=False) | written_off).distinct():
        if moved := vault.count_moved(earlier, holdout):
            raise RowsMoved(
                holdout,
                f"{moved} rows that gave answers in version {earlier.version} are held back anew "
                f"in version {holdout.version}: Public ones became Private or Final, or Private "
                "ones Final.",
            )
    Holdout.objects.filter(pk=holdout.pk).update(fits_at=timezone.now())
