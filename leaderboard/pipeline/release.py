"""Give a measured submission the answers of all boards, in one transaction."""

from collections.abc import Mapping
from functools import partial

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from leaderboard.ledger import lock, watermark
from leaderboard.ledger.answers import Asked, answer
from leaderboard.ledger.duels import led_by
from leaderboard.ledger.entries import LostRace
from leaderboard.models import Board, EventKind, Holdout, Status, Submission
from leaderboard.notify import events, leaders
from leaderboard.participate import quotas
from leaderboard.pipeline.queue import enqueue_duels
from leaderboard.platform.statements import prepared, update_row
from leaderboard.vault import Measured


def release(
    submission_id: int, holdout: Holdout, digest: str, measured: Mapping[Board, Measured]
) -> bool:
    """Ask the boards and write down what they answer; return False if that was done before.

    Everything happens in one durable transaction, or not at all: a killed worker leaves no part of
    it, and no board answers a file that another has not answered. Raises LostRace where the ledger
    is paused or the holdout not active any more, Rewound or WatermarkAway where the watermark
    forbids it, PredictionError where the team's quota does.
    """
    asked = [Asked.of(holdout, board, digest, each) for board, each in measured.items()]
    with transaction.atomic(durable=True):
        # The ledger's row is locked first, as everywhere, and held to the end: entries are numbered
        # and chained one after the other, and a revision needs the same lock, so holdout and
        # submission, read after it, stay true until the commit.
        ledger = lock.lock_row(holdout.ledger)
        (submission,) = _lock_submission(submission_id)
        for board in measured:  # read with its round and competition, which stay as they are
            if board.round_id == submission.round_id:
                submission.round = board.round
        if submission.status != Status.SCORING:
            return False
        if ledger.paused_at:
            raise LostRace
        lock.check(ledger)
        now = timezone.now()
        waited = events.long_wait(submission)
        answers = [answer(ledger, submission, each, now) for each in asked]
        entries = [entry for entry, _ in answers]
        if submission.release_id is None:  # organizers, not teams, have files scored again
            quotas.settle(submission, repeats=all(each.repeat_of_id for each in entries))
        submission.status, submission.release = Status.RELEASED, entries[0]
        submission.finished_at = now
        update_row(submission, "status", "release_id", "finished_at", "takes_quota")
        events.record_submission(
            submission,
            EventKind.SUBMISSION_RELEASED,
            answers=entries,
            entries=len(entries),
            **waited,
        )
        leaders.record_changes(submission.round, answers[0][1])
        if any(led_by(entry, move) for entry, move in answers):
            transaction.on_commit(partial(enqueue_duels, ledger.pk), robust=True)
    watermark.append(ledger.uid, watermark.Head(ledger.entries, ledger.head_hash))
    return True


@prepared
def _lock_submission(submission: int) -> QuerySet[Submission]:
    rows = Submission.objects.select_for_update(of=("self",), no_key=True)
    needed = ("number", "status", "created_at", "release", "takes_quota", "is_practice")
    of_others = ("round", "campaign", "token_grant", "team__uid", "team__is_baseline")
    return rows.select_related("team").only(*needed, *of_others).filter(pk=submission)
