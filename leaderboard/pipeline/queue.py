"""Put ids of submissions on the queue. The queue may lose them: the sweeper puts them back."""

import logging
from collections.abc import Iterable
from contextlib import suppress
from functools import partial

from celery import current_app
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone
from kombu.exceptions import OperationalError
from redis.exceptions import RedisError

from leaderboard.access import Right, check_right
from leaderboard.errors import Refused
from leaderboard.models import (
    Channel,
    Competition,
    EventKind,
    Holdout,
    Round,
    Status,
    Submission,
    User,
)
from leaderboard.notify.events import record_submission
from leaderboard.platform.broker import LONG, QUEUE
from leaderboard.platform.health import redis_client
from leaderboard.platform.statements import prepared, update_rows

logger = logging.getLogger(__name__)


def enqueue(submission_id: int) -> bool:
    """Ask a worker to score a submission; return False, and no harm, where the broker is away.

    Whoever takes the message takes the submission whose turn it is on that queue: there are as many
    messages as submissions that wait.
    """
    is_long = any(_waits_long(submission_id))
    if not _send("score_submission", queue_of(is_long=is_long), submission_id=submission_id):
        return False
    waiting = {"pk": submission_id, "status": Status.QUEUED}
    update_rows(Submission, waiting, enqueued_at=timezone.now())
    return True


def enqueue_accepted(submission: Submission) -> None:
    """Ask for the score of a submission whose row was inserted as one that is asked for.

    So the row is written once more only where the broker is away, for the sweeper.
    """
    queue = queue_of(is_long=submission.is_long)
    if not _send("score_submission", queue, submission_id=submission.pk):
        waiting = {"pk": submission.pk, "status": Status.QUEUED}
        update_rows(Submission, waiting, enqueued_at=None)


@prepared
def _waits_long(submission: int) -> QuerySet[Submission, bool]:
    waiting = Submission.objects.filter(pk=submission, status=Status.QUEUED)
    return waiting.order_by().values_list("is_long", flat=True)


def queue_of(*, is_long: bool) -> str:
    """Return the queue of a submission."""
    return LONG if is_long else QUEUE


def enqueue_finals(round_id: int, submissions: Iterable[Submission]) -> None:
    """Ask workers for the final scores of these submissions of a round."""
    sent = all(
        _send("score_final", queue_of(is_long=each.is_long), submission_id=each.pk)
        for each in submissions
    )
    Round.objects.filter(pk=round_id, finals_scored_at__isnull=True).update(
        finals_enqueued_at=timezone.now() if sent else None
    )


def enqueue_places(round_id: int) -> None:
    """Ask a worker for the places of a round whose final scores are all there."""
    sent = _send("place_finals", round_id=round_id)
    Round.objects.filter(pk=round_id, finals_scored_at__isnull=True).update(
        finals_enqueued_at=timezone.now() if sent else None
    )


def enqueue_duels(ledger_id: int) -> None:
    """Ask a worker for the duels that are due; the sweeper asks again where this is lost."""
    _send("hold_duels", ledger_id=ledger_id)


def enqueue_invitations(competition_id: int) -> None:
    """Ask a worker to mail the links that wait; the sweeper asks again where this is lost."""
    _send("send_invitations", competition_id=competition_id)


def enqueue_rewrite(round_id: int) -> None:
    """Ask a worker to seal a draft's solution as it is wanted; the sweeper asks again."""
    _send("rewrite_solution", round_id=round_id)


def enqueue_trial(trial_id: int) -> None:
    """Ask a worker to try a file in a draft; the sweeper asks again."""
    _send("score_trial", trial_id=trial_id)


def enqueue_baselines(round_id: int) -> None:
    """Ask a worker to try the baselines of a draft, or to submit those of an open round."""
    _send("run_baselines", round_id=round_id)


def wake_sweeper() -> None:
    """Let the sweeper look now; it looks by itself a little later where the broker is away."""
    _send("sweep")


def enqueue_fan_out(competition_id: int) -> None:
    """Ask a worker for the deliveries of a competition's events; the sweeper asks as well."""
    _send("fan_out", competition_id=competition_id)


def enqueue_deliveries(channel: Channel) -> None:
    """Ask a worker to send what is due; the sweeper asks as well."""
    _send(f"deliver_{channel}")


def _send(task: str, queue: str | None = None, **ids: int) -> bool:
    """Queue a task; return False where the broker is away and the sweeper has to see to it."""
    name = f"leaderboard.tasks.{task}"
    try:
        current_app.send_task(name, kwargs=ids, queue=queue, retry=False)
    except (OperationalError, OSError):
        logger.warning("Broker away: %s %s waits for the sweeper.", task, ids or "", extra=ids)
        return False
    return True


def is_empty(queue: str) -> bool:
    """Return whether workers have taken every message of a queue; not if nobody can tell."""
    with suppress(RedisError), redis_client() as client:
        return not client.llen(queue)
    return False


def startable() -> QuerySet[Submission]:
    """Return queued submissions that a worker may begin.

    Those of a paused ledger wait, and so does one while an older one of its team is to be scored
    again: a team's files are answered in the order in which they came in. The query has no joins,
    so that `update` claims a row by its own status.
    """
    paused = Round.objects.filter(pk=OuterRef("round_id"), ledger__paused_at__isnull=False)
    older = Submission.objects.filter(
        team_id=OuterRef("team_id"),
        number__lt=OuterRef("number"),
        status__in=(Status.QUEUED, Status.SCORING),
        release__isnull=False,
    )
    return Submission.objects.filter(~Exists(paused), ~Exists(older), status=Status.QUEUED)


def enqueue_next(done: Submission) -> None:
    """Ask for the team's oldest submission that waited for this one."""
    waiting = startable().filter(team_id=done.team_id).exclude(pk=done.pk)
    following = waiting.order_by("number").first()
    if following is not None:
        enqueue(following.pk)


def enqueue_publication(holdout_id: int) -> None:
    """Ask a worker to go on publishing a holdout; the sweeper asks again where this is lost."""
    _send("publish_holdout", holdout_id=holdout_id)


def enqueue_handover(handover_id: int) -> None:
    """Ask a worker to seal or open secrets; the sweeper asks again where this is lost."""
    _send("carry_out_handover", handover_id=handover_id)


def take_back(*, is_long: bool | None = None) -> int:
    """Queue what workers held when they ended, and return how many submissions that were.

    is_long: those of this queue; None: of any. A worker that still runs may score a file again.
    """
    Round.objects.filter(finals_started_at__isnull=False, finals_scored_at__isnull=True).update(
        finals_enqueued_at=None
    )
    held = Submission.objects.filter(status=Status.SCORING)
    if is_long is not None:
        held = held.filter(is_long=is_long)
    if is_long is not False:
        Round.objects.filter(finals_scored_at__isnull=True).update(places_claimed_at=None)
        Holdout.objects.filter(published_at__isnull=True).update(publication_claimed_at=None)
    return held.update(status=Status.QUEUED, enqueued_at=None)


def requeue_failed(submissions: QuerySet[Submission], *, by: User | None = None) -> int:
    """Put failed submissions back on the queue, leave others alone; return how many there were.

    Raises Refused, having changed nothing, where the finals of one's competition have started, or
    `by` may not do this in one of them.
    """
    with transaction.atomic():
        failed = submissions.filter(status=Status.FAILED)
        # The lock that starting the finals takes, so that neither overtakes the other.
        ids = failed.order_by().values("team__competition")
        asked = Competition.objects.select_for_update(no_key=True).filter(pk__in=ids)
        for competition in asked.order_by("pk"):
            check_right(by, competition, Right.JUDGE)
        ended = Q(is_practice=False, round__finals_started_at__isnull=False)
        if failed.filter(ended | Q(round__publication_at__isnull=False)).exists():
            raise Refused("finals_started")
        again = 0
        for each in list(failed.select_related("team", "round__competition")):
            # Each once, whoever else asks for it at the same time.
            if Submission.objects.filter(pk=each.pk, status=Status.FAILED).update(
                status=Status.QUEUED, failure="", finished_at=None, enqueued_at=None, attempts=0
            ):
                transaction.on_commit(partial(enqueue, each.pk), robust=True)
                record_submission(each, EventKind.SUBMISSION_REQUEUED, actor=by)
                again += 1
    return again
