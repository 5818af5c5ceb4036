"""Puts a submission's id on the queue. The queue may lose it: the sweeper puts it back."""

import logging

from celery import current_app
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
        logger.warning("Broker away: submission %s waits for the sweeper.", submission_id)
        return False
    Submission.objects.filter(pk=submission_id, status=Status.QUEUED).update(
        enqueued_at=timezone.now()
    )
    return True
