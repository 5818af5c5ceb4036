"""Puts a submission's id on the queue. The queue may lose it: the sweeper puts it back."""

from __future__ import annotations

import logging

from celery import current_app
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from kombu.exceptions import OperationalError

from leaderboard.models import Status, Submission

logger = logging.getLogger(__name__)


def enqueue(submission_id: int) -> bool:
    """Asks a worker to score a submission; False, and no harm, where the broker is away."""
    try:
        current_app.send_task(
            "leaderboard.tasks.score_submission",
            kwargs={"submission_id": submission_id},
            retry=False,
        )
    except (OperationalError, OSError):
        logger.warning(
            "Broker away: submission %s waits for the sweeper.",
            submission_id,
            extra={"submission_id": submission_id},
        )
        return False
    Submission.objects.filter(pk=submission_id, status=Status.QUEUED).update(
        enqueued_at=timezone.now()
    )
    return True


def take_back() -> int:
    """Queues what workers held when they ended; how many. Only right where no worker runs."""
    held = Submission.objects.filter(status=Status.SCORING)
    return held.update(status=Status.QUEUED, enqueued_at=None)


def requeue_failed(submissions: QuerySet[Submission]) -> int:
    """Puts failed submissions back on the queue; how many there were. Others are left alone."""
    with transaction.atomic():
        failed = submissions.filter(status=Status.FAILED).values_list("pk", flat=True)
        again = [pk for pk in list(failed) if _requeue(pk)]
    return len(again)


def _requeue(submission_id: int) -> bool:
    """Failed becomes queued, once, whoever else asks for it at the same time."""
    changed = Submission.objects.filter(pk=submission_id, status=Status.FAILED).update(
        status=Status.QUEUED, failure="", finished_at=None, enqueued_at=None, attempts=0
    )
    if changed:
        transaction.on_commit(lambda: enqueue(submission_id), robust=True)
    return changed == 1
