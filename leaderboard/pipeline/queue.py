"""Puts ids of submissions on the queue. The queue may lose them: the sweeper puts them back."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from celery import current_app
from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone
from kombu.exceptions import OperationalError

from leaderboard.errors import Refused
from leaderboard.models import Competition, Holdout, Status, Submission

logger = logging.getLogger(__name__)


def enqueue(submission_id: int) -> bool:
    """Asks a worker to score a submission; False, and no harm, where the broker is away."""
    if not _send("score_submission", submission_id):
        return False
    Submission.objects.filter(pk=submission_id, status=Status.QUEUED).update(
        enqueued_at=timezone.now()
    )
    return True


def enqueue_finals(competition_id: int, submission_ids: Iterable[int]) -> None:
    """Asks workers for the final scores of these submissions of a competition."""
    sent = all(_send("score_final", pk) for pk in submission_ids)
    Competition.objects.filter(pk=competition_id, finals_scored_at__isnull=True).update(
        finals_enqueued_at=timezone.now() if sent else None
    )


def wake_sweeper() -> None:
    """Lets the sweeper look now; it looks by itself a little later where the broker is away."""
    try:
        current_app.send_task("leaderboard.tasks.sweep", retry=False)
    except (OperationalError, OSError):
        logger.warning("Broker away: the sweeper looks when its time comes.")


def _send(task: str, submission_id: int) -> bool:
    try:
        current_app.send_task(
            f"leaderboard.tasks.{task}", kwargs={"submission_id": submission_id}, retry=False
        )
    except (OperationalError, OSError):
        logger.warning(
            "Broker away: submission %s waits for the sweeper.",
            submission_id,
            extra={"submission_id": submission_id},
        )
        return False
    return True


def startable() -> QuerySet[Submission]:
    """Queued submissions that a worker may begin.

    Those of a halted holdout wait, and so does one as long as an older one of its team is to be
    scored again: a team's files are answered in the order in which they came in. Without joins, so
    that `update` on it claims a row by its own status.
    """
    halted = Holdout.objects.filter(
        competition__teams=OuterRef("team_id"),
        retired_at__isnull=True,
        state__halted_at__isnull=False,
    )
    older = Submission.objects.filter(
        team_id=OuterRef("team_id"),
        number__lt=OuterRef("number"),
        status__in=(Status.QUEUED, Status.SCORING),
        release__isnull=False,
    )
    return Submission.objects.filter(~Exists(halted), ~Exists(older), status=Status.QUEUED)


def enqueue_next(done: Submission) -> None:
    """Asks for the team's oldest submission that waited for this one."""
    waiting = startable().filter(team_id=done.team_id).exclude(pk=done.pk)
    following = waiting.order_by("number").first()
    if following is not None:
        enqueue(following.pk)


def enqueue_opening(holdout_id: int) -> None:
    """Asks a worker to go on opening a holdout; the sweeper asks again where this is lost."""
    try:
        current_app.send_task(
            "leaderboard.tasks.open_holdout", kwargs={"holdout_id": holdout_id}, retry=False
        )
    except (OperationalError, OSError):
        logger.warning("Broker away: the opening of holdout %s waits for the sweeper.", holdout_id)


def take_back() -> int:
    """Queues what workers held when they ended; how many. Only right where no worker runs."""
    Competition.objects.filter(finals_enqueued_at__isnull=False).update(finals_enqueued_at=None)
    Holdout.objects.filter(opened_at__isnull=True).update(opening_claimed_at=None)
    held = Submission.objects.filter(status=Status.SCORING)
    return held.update(status=Status.QUEUED, enqueued_at=None)


def requeue_failed(submissions: QuerySet[Submission]) -> int:
    """Puts failed submissions back on the queue; how many there were. Others are left alone.

    Raises Refused, having changed nothing, where the finals of one's competition have started.
    """
    with transaction.atomic():
        failed = submissions.filter(status=Status.FAILED)
        _check_finals_ahead(failed)
        again = [pk for pk in list(failed.values_list("pk", flat=True)) if _requeue(pk)]
    return len(again)


def _check_finals_ahead(submissions: QuerySet[Submission]) -> None:
    """Under the lock that starting the finals takes, so that neither overtakes the other."""
    ids = submissions.order_by().values("team__competition")
    locked = Competition.objects.select_for_update().filter(pk__in=ids).order_by("pk")
    if any(competition.finals_started_at for competition in locked):
        raise Refused.finals_started()


def _requeue(submission_id: int) -> bool:
    """Failed becomes queued, once, whoever else asks for it at the same time."""
    changed = Submission.objects.filter(pk=submission_id, status=Status.FAILED).update(
        status=Status.QUEUED, failure="", finished_at=None, enqueued_at=None, attempts=0
    )
    if changed:
        transaction.on_commit(lambda: enqueue(submission_id), robust=True)
    return changed == 1
