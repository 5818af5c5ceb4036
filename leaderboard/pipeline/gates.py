"""Answer a submission that was sent to a gate: by one bit, in one transaction."""

from django.db import transaction
from django.utils import timezone

from leaderboard.errors import Refused
from leaderboard.ledger import gates, lock, watermark
from leaderboard.ledger.entries import LostRace
from leaderboard.log import leaves
from leaderboard.models import EventKind, Holdout, Status, Submission
from leaderboard.notify import events
from leaderboard.participate import quotas
from leaderboard.pipeline.asking import Asked
from scoring.errors import PredictionError, Problem


def answer(submission_id: int, asked: Asked) -> bool:
    """Write the bit down, charge it and release the submission; False if that was done before.

    Everything happens in one durable transaction, or not at all. The same predictions get the
    stored answer, and nothing is charged. Raises PredictionError where the gate takes no new
    question any more, else as `release` does.
    """
    holdout, noise = asked.holdout, asked.noise
    with transaction.atomic(durable=True):
        # In the order of `release`: what is read behind the ledger's lock stays true.
        ledger = lock.lock_row(holdout.ledger)
        submission = (
            Submission.objects.select_for_update(of=("self",), no_key=True)
            .select_related("team", "gate__board__round", "round__competition")
            .get(pk=submission_id)
        )
        gate = submission.gate
        if gate is None or submission.status != Status.SCORING:
            return False
        if ledger.paused_at or not Holdout.objects.active().filter(pk=holdout.pk).exists():
            raise LostRace
        lock.check(ledger)
        waited = events.long_wait(submission)
        note = gates.find_answer(gate, holdout, submission.team, noise, asked.digest)
        if note is None:
            try:
                gates.check_may_ask(gate, ledger, holdout)
            except Refused as refused:
                problem = Problem(refused.code, message=refused.detail)
                raise PredictionError([problem]) from None
        quotas.settle(submission, repeats=note is not None)
        if note is None:
            tag = gates.tag_of(gate, submission.team, noise, asked.digest)
            against = gates.tag_of(gate, None, noise, asked.in_use) if asked.in_use else ""
            note = gates.answer(ledger, holdout, submission, (tag, against), asked.evidence)
            events.log(ledger.competition, leaves.noted(note))
        submission.status, submission.gate_answer = Status.RELEASED, note
        submission.finished_at = timezone.now()
        submission.save(update_fields=["status", "gate_answer", "finished_at", "takes_quota"])
        events.record_submission(submission, EventKind.SUBMISSION_RELEASED, **waited)
    watermark.append(ledger.uid, watermark.Head(ledger.entries, ledger.head_hash))
    return True
