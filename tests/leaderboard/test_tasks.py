"""Tasks: every submission ends, whatever happens to queue and workers."""

import errno
import gzip
import logging
from datetime import timedelta
from typing import Any

import pytest
from celery.fixups.django import DjangoFixup
from django.conf import settings
from django.db import InterfaceError, OperationalError
from django.utils import timezone

from leaderboard import queries, tasks
from leaderboard.celery import app
from leaderboard.models import Ledger, Status, Submission
from leaderboard.pipeline import queue
from leaderboard.platform.broker import QUEUE
from leaderboard.words import summary
from tests.cast import World, predictions, set_round


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The ids that were put on the queue."""
    ids = list[int]()

    def take(submission_id: int) -> bool:
        ids.append(submission_id)
        Submission.objects.filter(pk=submission_id).update(enqueued_at=timezone.now())
        return True

    monkeypatch.setattr(tasks, "enqueue", take)
    return ids


def _age(**fields: object) -> None:
    Submission.objects.update(**fields)


def test_a_rejected_file_says_line_column_and_what_was_expected(world: World) -> None:
    text = predictions().replace(b"r17,1", b"r17,cat ")
    submission = world.score(world.join(world.alice), text)
    assert submission.status == Status.REJECTED
    problem = submission.problems[0]
    assert (problem["line"], problem["column"], problem["value"]) == (19, "label", "cat ")
    assert "Nothing was counted" in summary(queries.submission_row(submission))


def test_a_small_gzip_file_is_not_expanded_far_beyond_the_largest_file(world: World) -> None:
    set_round(world.digits, max_file_bytes=10_000)
    submission = world.score(world.join(world.alice), gzip.compress(predictions() + b"\n" * 50_000))
    assert submission.problems[0]["code"] == "too_many_bytes"


def test_a_rejected_file_asks_the_holdout_nothing(world: World) -> None:
    world.score(world.join(world.alice), b"id,label\nr0,0\n")
    assert Ledger.objects.get().asked == 0


def test_the_sweeper_sends_what_the_broker_never_took(world: World, sent: list[int]) -> None:
    submission = world.submit(world.join(world.alice))
    _age(enqueued_at=None)
    tasks.sweep()
    tasks.sweep()
    assert sent == [submission.pk]


def test_the_sweeper_sends_again_what_the_broker_lost(world: World, sent: list[int]) -> None:
    submission = world.submit(world.join(world.alice))
    _age(enqueued_at=timezone.now() - timedelta(seconds=settings.REQUEUE_SECONDS + 1))
    tasks.sweep()
    assert sent == [submission.pk]


@pytest.mark.parametrize("is_empty", [True, False])
def test_a_message_is_missed_as_soon_as_all_others_are_taken(
    world: World, sent: list[int], is_empty: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tasks, "is_empty", lambda name: is_empty and name == QUEUE)
    submission = world.submit(world.join(world.alice))
    tasks.sweep()
    assert sent == []
    _age(enqueued_at=timezone.now() - timedelta(seconds=settings.SWEEP_SECONDS + 1))
    tasks.sweep()
    assert sent == [submission.pk] * is_empty


def test_work_of_a_dead_worker_is_taken_up_after_its_lease(world: World, sent: list[int]) -> None:
    submission = world.submit(world.join(world.alice))
    lease = timedelta(seconds=settings.LEASE_SECONDS + 1)
    _age(status=Status.SCORING, claimed_at=timezone.now() - lease, attempts=1)
    tasks.sweep()
    assert sent == [submission.pk]
    tasks.score_submission(submission_id=submission.pk)
    submission.refresh_from_db()
    assert submission.status == Status.RELEASED


def test_work_in_progress_is_left_to_its_worker(world: World, sent: list[int]) -> None:
    world.submit(world.join(world.alice))
    _age(status=Status.SCORING, claimed_at=timezone.now())
    tasks.sweep()
    assert sent == []


def test_what_was_held_at_a_stop_is_taken_back_at_the_next_start(
    world: World, sent: list[int]
) -> None:
    submission = world.submit(world.join(world.alice))
    _age(status=Status.SCORING, claimed_at=timezone.now())
    assert queue.take_back() == 1
    tasks.sweep()
    assert sent == [submission.pk]


def test_what_kills_every_worker_fails_in_the_end(world: World, sent: list[int]) -> None:
    submission = world.submit(world.join(world.alice))
    lease = timedelta(seconds=settings.LEASE_SECONDS + 1)
    _age(
        status=Status.SCORING,
        claimed_at=timezone.now() - lease,
        attempts=settings.MAX_ATTEMPTS,
    )
    tasks.sweep()
    submission.refresh_from_db()
    assert submission.status == Status.FAILED
    assert sent == []


def test_a_busy_database_puts_the_submission_back(
    world: World, sent: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    def busy(submission: Submission) -> None:
        raise OperationalError("database is locked")

    submission = world.submit(world.join(world.alice))
    monkeypatch.setattr(tasks, "_score", busy)
    tasks.score_submission(submission_id=submission.pk)
    submission.refresh_from_db()
    assert submission.status == Status.QUEUED
    tasks.sweep()
    assert sent == [submission.pk]


@pytest.mark.parametrize(
    "outage", [OperationalError("gone"), InterfaceError("closed"), OSError(errno.ENOSPC, "full")]
)
def test_an_outage_is_no_attempt(
    world: World, sent: list[int], monkeypatch: pytest.MonkeyPatch, outage: Exception
) -> None:
    submission = world.submit(world.join(world.alice))

    def fail(submission: Submission) -> None:
        raise outage

    with monkeypatch.context() as patch:
        patch.setattr(tasks, "_score", fail)
        for _ in range(settings.MAX_ATTEMPTS + 1):
            tasks.score_submission(submission_id=submission.pk)
    tasks.score_submission(submission_id=submission.pk)
    submission.refresh_from_db()
    assert (submission.status, submission.attempts) == (Status.RELEASED, 1)


def test_a_worker_without_database_leaves_its_submission_to_the_sweeper(
    world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def away(*_: object, **__: object) -> None:
        raise OperationalError("no route to host")

    monkeypatch.setattr(tasks, "_claim", away)
    tasks.score_submission(submission_id=1)
    assert "waits for the sweeper: OperationalError" in caplog.text


def deliver_again(submission: Submission) -> None:
    """Deliver the message as the broker does after the death of a worker that took it."""
    task = tasks.score_submission
    again = {"redelivered": True, "routing_key": QUEUE}
    task.push_request(delivery_info=again, id="message")  # type: ignore[call-arg]
    try:
        task.run(submission_id=submission.pk)
    finally:
        task.pop_request()
    submission.refresh_from_db()


def test_what_kills_every_child_is_left_to_its_lease(world: World) -> None:
    submission = world.submit(world.join(world.alice))
    _age(claimed_by="message", claimed_at=timezone.now())
    _age(status=Status.SCORING, attempts=settings.MAX_ATTEMPTS)
    deliver_again(submission)
    assert submission.status == Status.SCORING


def test_a_second_delivery_leaves_work_in_progress_alone(world: World) -> None:
    submission = world.submit(world.join(world.alice))
    _age(status=Status.SCORING, claimed_at=timezone.now(), attempts=1)
    tasks.score_submission(submission_id=submission.pk)
    submission.refresh_from_db()
    assert (submission.status, submission.attempts) == (Status.SCORING, 1)


def test_a_failure_names_place_and_type_but_no_value(
    world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(submission: Submission, predicted: object) -> None:
        raise ValueError("the holdout mean is 0.123456")

    submission = world.submit(world.join(world.alice))
    monkeypatch.setattr(tasks, "measure", broken)
    with caplog.at_level(logging.DEBUG):
        tasks.score_submission(submission_id=submission.pk)
    submission.refresh_from_db()
    assert submission.status == Status.FAILED
    assert submission.failure.startswith("ValueError at test_tasks.py:")
    assert "0.123456" not in submission.failure + caplog.text


def test_a_worker_past_its_lease_does_not_end_its_successor_s_attempt(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def overtaken(submission: Submission) -> None:
        _age(claimed_at=timezone.now())
        raise ValueError

    submission = world.submit(world.join(world.alice))
    monkeypatch.setattr(tasks, "_score", overtaken)
    tasks.score_submission(submission_id=submission.pk)
    submission.refresh_from_db()
    assert submission.status == Status.SCORING


def test_a_worker_keeps_its_connections_between_tasks() -> None:
    fixup: Any = DjangoFixup(app)
    assert fixup.worker_fixup.db_reuse_max == settings.CELERY_DB_REUSE_MAX
