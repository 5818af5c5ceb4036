"""What Celery runs. Only this module knows the order of the stages.

Messages carry an id and nothing comes back. A worker may die at any point: the row says how far the
submission was, the sweeper puts it back, and releasing twice is impossible. While the database or
the disk is away, submissions wait: that is no attempt of theirs.
"""

import logging
from datetime import datetime, timedelta
from typing import Any

from celery import Task, shared_task
from celery.signals import worker_ready
from django.conf import settings
from django.db import InterfaceError, OperationalError, transaction
from django.db.models import F, Q, QuerySet
from django.utils import timezone

from leaderboard.ledger import copies
from leaderboard.ledger.entries import LostRace
from leaderboard.ledger.lock import write_watermarks
from leaderboard.ledger.pauses import look_for_rewinds, pause
from leaderboard.ledger.watermark import Rewound, WatermarkAway
from leaderboard.log import heads, leaves
from leaderboard.models import Board, Channel, EventKind, Holdout, Pause, Round, Status, Submission
from leaderboard.notify import digests, events, invitations, outbox
from leaderboard.organize import baselines, recast, trials
from leaderboard.pipeline import duels, finalize, gates, handover, heartbeat, publish, turns
from leaderboard.pipeline.asking import ask, ask_again
from leaderboard.pipeline.measure import RowsMoved, check_fits, measure
from leaderboard.pipeline.parse import parse
from leaderboard.pipeline.queue import (
    enqueue,
    enqueue_deliveries,
    enqueue_duels,
    enqueue_fan_out,
    enqueue_handover,
    enqueue_invitations,
    enqueue_next,
    enqueue_publication,
    enqueue_rewrite,
    enqueue_trial,
    is_empty,
    queue_of,
    startable,
)
from leaderboard.pipeline.release import release
from leaderboard.pipeline.remeasure import compare, remeasure
from leaderboard.pipeline.sketches import keep_sketch
from leaderboard.platform import health, logs, outages
from leaderboard.platform.broker import LONG
from leaderboard.platform.files import FileDamaged
from leaderboard.platform.statements import fill, prepared, prepared_update
from scoring.errors import PredictionError

logger = logging.getLogger(__name__)

DATABASE_AWAY = (OperationalError, InterfaceError)
DELIVERING_SECONDS = 20
_MESSAGE_LENGTH = 40  # the id of a message is a UUID


@shared_task(bind=True)
@logs.discreet
def score_submission(self: Task[Any, None], *, submission_id: int) -> None:
    """Take one submission through parse, measure and release.

    A message says that there is one more to do on its queue: whose turn it is, is done. Without a
    queue it is the one that is named.
    """
    delivery = self.request.delivery_info or {}
    queue = delivery.get("routing_key")
    try:
        if queue is None:
            submission = _claim(submission_id)
            if submission is not None:
                _work(submission)
            return
        again = bool(delivery.get("redelivered"))
        submission = _claim_next(queue, self.request.id or "", again=again)
        if submission is not None:
            logs.bind(submission_id=submission.pk)
            with heartbeat.beating(_held(submission)):
                _work(submission)
    except DATABASE_AWAY as error:
        # Nothing could be written down: the row says how far it was, and the sweeper finds it.
        logger.warning(
            "Submission %s waits for the sweeper: %s.", submission_id, type(error).__name__
        )


def _work(submission: Submission) -> None:
    try:
        _score(submission)
    except PredictionError as error:
        _reject(submission, error)
    except (Rewound, RowsMoved, WatermarkAway) as why:
        _let_wait(submission, why)
    except Exception as error:
        if outages.is_outage(error) or isinstance(error, LostRace):
            _put_back(submission, error)
        else:
            failure = _failure(error)
            logger.error("Submission %s failed: %s", submission.pk, failure)
            _fail(submission, _held(submission), failure)
    if submission.release_id is not None:
        enqueue_next(submission)


def _score(submission: Submission) -> None:
    predictions = parse(submission)
    keep_sketch(submission, predictions)
    if submission.gate_id is not None:
        if gates.answer(submission.pk, ask(submission, predictions)):
            logger.info("Submission %s has the answer of its gate.", submission.pk)
        return
    holdout, measured = measure(submission, predictions)
    if release(submission.pk, holdout, predictions.digest, measured):
        logger.info("Submission %s is released.", submission.pk)


@shared_task
@logs.discreet
def hold_duels(*, ledger_id: int) -> None:
    """Hold the duels of a ledger that are due. Done twice, it changes nothing."""
    try:
        while duels.hold_next(ledger_id, compare):
            logger.info("Ledger %s has a duel more.", ledger_id)
    except Exception as error:
        # A ledger that was rewound is paused by who scores; whatever it is, the sweeper asks again.
        logger.warning("The duels of ledger %s wait: %s.", ledger_id, logs.place(error))


@shared_task
@logs.discreet
def score_final(*, submission_id: int) -> None:
    """Measure one entered submission exactly, after the end. Done twice, it changes nothing."""
    try:
        submission = _load(submission_id)
    except Submission.DoesNotExist:
        logger.warning("Submission %s is gone: the database was restored.", submission_id)
        return
    if not finalize.is_wanted(submission):
        return
    try:
        finalize.measure_final(submission, parse(submission))
    except Exception as error:
        if outages.is_outage(error) or isinstance(error, WatermarkAway):
            logger.warning("The final score of submission %s waits for the sweeper.", submission_id)
            return
        failure = _failure(error)
        logger.error("The final score of submission %s failed: %s", submission_id, failure)
        finalize.note_failure(submission, failure)
    else:
        logger.info("Submission %s has its final score.", submission_id)


@shared_task
@logs.discreet
def place_finals(*, round_id: int) -> None:
    """Compare the entries of a round, and store places. Done twice, it changes nothing."""
    try:
        done = finalize.place_finals(round_id, parse)
    except Exception as error:
        if outages.is_outage(error):
            logger.warning("The places of round %s wait for the sweeper.", round_id)
            return
        logger.error("The places of round %s failed: %s", round_id, _failure(error))
    else:
        if done:
            logger.info("Round %s has its final places.", round_id)


@shared_task
@logs.discreet
def publish_holdout(*, holdout_id: int) -> None:
    """Go on with the publication of a holdout after the finals, until it is there."""
    try:
        done = publish.publish_holdout(holdout_id, remeasure, compare, ask_again)
    except Exception as error:
        logger.error("The publication of holdout %s failed: %s", holdout_id, logs.place(error))
    else:
        if not done:
            enqueue_publication(holdout_id)


@shared_task
@logs.discreet
def send_invitations(*, competition_id: int) -> None:
    """Mail people the links by which they join, a batch: other mails wait behind it."""
    sent, more = invitations.send(competition_id)
    logger.info("%s invitations are mailed.", sent)
    if more:
        enqueue_invitations(competition_id)


@shared_task
@logs.discreet
def carry_out_handover(*, handover_id: int) -> None:
    """Seal secrets to another installation's vault, or open those that came with an archive."""
    try:
        handover.carry_out(handover_id)
    except Exception as error:
        logger.error("Handover %s waits: %s.", handover_id, logs.place(error))


@shared_task
@logs.discreet
def rewrite_solution(*, round_id: int) -> None:
    """Seal a draft's solution in the split that is wanted. Done twice, it changes nothing."""
    try:
        recast.rewrite(round_id)
    except Exception as error:
        logger.warning("The solution of round %s waits: %s.", round_id, logs.place(error))


@shared_task
@logs.discreet
def score_trial(*, trial_id: int) -> None:
    """Try a file in a draft. Done twice, it changes nothing."""
    try:
        trials.score_trial(trial_id)
    except Exception as error:
        if outages.is_outage(error):
            logger.warning("Trial %s waits for the sweeper.", trial_id)
            return
        failure = _failure(error)
        logger.error("Trial %s failed: %s", trial_id, failure)
        trials.note_failure(trial_id, failure)


@shared_task
@logs.discreet
def run_baselines(*, round_id: int) -> None:
    """Try the baselines of a draft; submit those of an open round."""
    round = Round.objects.select_related("competition", "ledger").get(pk=round_id)
    if round.competition.opened_by_organizer_at is not None:
        baselines.send_baselines()
        return
    for trial in trials.try_baselines(round):
        enqueue_trial(trial.pk)


@shared_task
@logs.discreet
def sweep() -> None:
    """Queue again what has waited too long: lost messages, and work of workers that died."""
    health.note_sweep_run()
    try:
        _take_back_abandoned()
        _send_waiting()
        _sweep_finals()
        for holdout in publish.unclaimed(publish.to_publish()):
            enqueue_publication(holdout.pk)
        for order in handover.waiting():
            enqueue_handover(order.pk)
        for ledger_id in duels.waiting():
            enqueue_duels(ledger_id)
        for round_id in recast.waiting():
            enqueue_rewrite(round_id)
        for trial_id in trials.waiting():
            enqueue_trial(trial_id)
        baselines.send_baselines()
        _check_revisions()
        _sweep_outbox()
        for competition_id in invitations.waiting():
            enqueue_invitations(competition_id)
        events.begin_logs()
        # A restored database must not answer anew what a signed head tells.
        heads.sign_all(write_watermarks)
        copies.keep_all()
    except DATABASE_AWAY as error:
        logger.warning("The sweeper waits for the database: %s.", type(error).__name__)


def _take_back_abandoned() -> None:
    abandoned = heartbeat.abandoned()
    failure = f"No worker finished it in {settings.MAX_ATTEMPTS} attempts."
    given_up = abandoned.filter(attempts__gte=settings.MAX_ATTEMPTS)
    for each in given_up.select_related("team", "round__competition"):
        _fail(each, given_up.filter(pk=each.pk), failure)
    abandoned.update(status=Status.QUEUED, enqueued_at=None)


def _send_waiting() -> None:
    """Send again for what waits without a message, in the order of the turns.

    A message is given its time as long as there are others. If all are taken, its own is lost, as a
    killed worker took it along.
    """
    for is_long in (False, True):
        empty = is_empty(queue_of(is_long=is_long))
        seconds = settings.SWEEP_SECONDS if empty else settings.REQUEUE_SECONDS
        too_long_ago = timezone.now() - timedelta(seconds=seconds)
        waiting = startable().filter(
            Q(enqueued_at__isnull=True) | Q(enqueued_at__lt=too_long_ago), is_long=is_long
        )
        for submission_id in waiting.order_by("turn", "created_at").values_list("pk", flat=True):
            if not enqueue(submission_id):
                return


def _sweep_finals() -> None:
    """Ask for the final scores that are missing, whatever happened to earlier messages."""
    too_long_ago = timezone.now() - timedelta(seconds=settings.REQUEUE_SECONDS)
    waiting = Round.objects.filter(
        Q(finals_enqueued_at__isnull=True) | Q(finals_enqueued_at__lt=too_long_ago),
        finals_started_at__isnull=False,
        finals_scored_at__isnull=True,
    )
    for round in waiting:
        finalize.ask_for_scores(round)


def _check_revisions() -> None:
    """Compare revised solutions with those before, also where nothing is scored again."""
    answering = Holdout.objects.active().filter(ledger__paused_at__isnull=True)
    for holdout in answering.filter(fits_at__isnull=True).exclude(reason=""):
        try:
            check_fits(holdout)
        except RowsMoved as moved:
            pause(holdout.ledger, Pause.MOVED_ROWS, str(moved), holdout=holdout)
        except Exception as error:
            logger.error("Holdout %s is not checked: %s", holdout.pk, logs.place(error))


def _sweep_outbox() -> None:
    """Ask for the mails and webhooks that are due, whatever happened to earlier messages."""
    digests.note_deadlines()
    outbox.take_back()
    outbox.forget_old()
    digests.gather_digests()
    for competition_id in outbox.behind():
        enqueue_fan_out(competition_id)
    for channel in Channel:
        if outbox.due(channel).exists():
            enqueue_deliveries(channel)


@shared_task
@logs.discreet
def fan_out(*, competition_id: int) -> None:
    """Write the deliveries of a competition's events. Done twice, it changes nothing."""
    while outbox.fan_out(competition_id):
        pass
    for channel in Channel:
        if outbox.due(channel).exists():
            enqueue_deliveries(channel)


@shared_task
@logs.discreet
def deliver_mail() -> None:
    """Send mails that are due, for a while: other mails wait behind it."""
    if outbox.deliver(Channel.MAIL, DELIVERING_SECONDS):
        enqueue_deliveries(Channel.MAIL)


@shared_task
@logs.discreet
def deliver_webhook() -> None:
    """Post to webhooks what is due, for a while: others wait behind it."""
    if outbox.deliver(Channel.WEBHOOK, DELIVERING_SECONDS):
        enqueue_deliveries(Channel.WEBHOOK)


@worker_ready.connect
def _begin(**kwargs: object) -> None:
    look_for_rewinds_at_start.delay()
    sweep.delay()


@shared_task
@logs.discreet
def look_for_rewinds_at_start() -> None:
    """Look for rewound ledgers when workers start, as after a restore: not at the next upload."""
    look_for_rewinds()


def _claim_next(queue: str, message: str, *, again: bool) -> Submission | None:
    """Claim the submission whose turn it is on a queue.

    `again`: the broker delivers the message again because who had it died. Then nobody waits for
    signs of life of what it held, unless that has killed its workers all along.
    """
    if again and message:
        held = Submission.objects.filter(status=Status.SCORING, claimed_by=message)
        for own in held.filter(attempts__lt=settings.MAX_ATTEMPTS).values_list("pk", flat=True):
            if claimed := _claim(own, message, held):
                return claimed
    while (key := turns.find_next(is_long=queue == LONG)) is not None:
        if claimed := _claim(key, message):
            return claimed
    return None


def _claim(
    submission_id: int, message: str = "", rows: QuerySet[Submission] | None = None
) -> Submission | None:
    """Claim a submission for this worker: the others find that it is not queued any more."""
    taken = timezone.now(), message[:_MESSAGE_LENGTH]
    if rows is None:
        claimed = _start(submission_id, *taken)
    else:
        claimed = rows.filter(pk=submission_id).update(**_claimed(*taken))
    return _load(submission_id) if claimed else None


@prepared_update
def _start(
    submission: int, now: datetime, message: str
) -> tuple[QuerySet[Submission], dict[str, Any]]:
    return startable().filter(pk=submission), _claimed(now, message)


def _claimed(now: datetime, message: str) -> dict[str, Any]:
    return {
        "status": Status.SCORING,
        "claimed_at": now,
        "seen_at": now,
        "claimed_by": message,
        "attempts": F("attempts") + 1,
    }


def _load(submission_id: int) -> Submission:
    """Return a submission with its round's boards. Raises DoesNotExist."""
    for found in _submission(submission_id):
        fill(found.round, "boards", _boards(found.round_id))
        return found
    raise Submission.DoesNotExist


@prepared
def _submission(submission: int) -> QuerySet[Submission]:
    rows = Submission.objects.select_related("team", "round__competition", "round__ledger")
    return rows.filter(pk=submission).order_by()


@prepared
def _boards(round: int) -> QuerySet[Board]:
    return Board.objects.filter(round=round).order_by("position")


def _held(submission: Submission) -> QuerySet[Submission]:
    """Return the row while it is this worker's: past its lease another may have taken it."""
    return Submission.objects.filter(
        pk=submission.pk, status=Status.SCORING, claimed_at=submission.claimed_at
    )


def _reject(submission: Submission, error: PredictionError) -> None:
    logger.info("Submission %s is rejected.", submission.pk)
    with transaction.atomic():
        rejected = _held(submission).update(
            status=Status.REJECTED,
            problems=[problem.to_json() for problem in error.problems],
            problem_count=error.total,
            finished_at=timezone.now(),
        )
        if rejected:
            events.record_submission(
                submission,
                EventKind.SUBMISSION_REJECTED,
                problems=error.total,
                **events.long_wait(submission),
            )


def _fail(submission: Submission, rows: QuerySet[Submission], failure: str) -> None:
    """Note that a submission failed, through our fault, if `rows` still has it."""
    with transaction.atomic():
        if rows.update(status=Status.FAILED, failure=failure, finished_at=timezone.now()):
            events.log(submission.round.competition, leaves.became("failed", submission))


def _put_back(submission: Submission, error: Exception) -> None:
    """Put it back for the sweeper. That was no attempt: an outage ends no submission."""
    logger.warning("Submission %s goes back to the queue: %s.", submission.pk, type(error).__name__)
    back = _held(submission).update(
        status=Status.QUEUED, enqueued_at=None, attempts=F("attempts") - 1
    )
    if back and isinstance(error, LostRace):
        enqueue(submission.pk)


def _let_wait(submission: Submission, why: Rewound | RowsMoved | WatermarkAway) -> None:
    """Put it back without counting the attempt; the sweeper asks again later.

    Where the holdout must not answer at all, its ledger is paused until that is repaired.
    """
    logger.critical("Submission %s waits. %s", submission.pk, str(why))
    if isinstance(why, Rewound):
        assert submission.round.ledger is not None  # noqa: S101  (it was measured against)
        pause(submission.round.ledger, Pause.REWOUND, str(why))
    elif isinstance(why, RowsMoved):
        pause(why.holdout.ledger, Pause.MOVED_ROWS, str(why), holdout=why.holdout)
    _held(submission).update(
        status=Status.QUEUED, enqueued_at=timezone.now(), attempts=F("attempts") - 1
    )


def _failure(error: Exception) -> str:
    """Return what failed, by place and type only: a message could carry a value of the holdout."""
    # A stored file that is damaged was found so before the vault was opened.
    return str(error) if isinstance(error, FileDamaged) else logs.place(error)
