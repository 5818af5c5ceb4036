"""What a worker does where Redis hangs; what it drops is in `tests/servers/test_crashes.py`."""

import inspect
import re
from collections.abc import Callable
from typing import Any

import pytest
from celery import Celery
from kombu.transport import virtual
from redis.exceptions import TimeoutError as NoAnswer

from leaderboard import settings, tasks  # noqa: F401  (registers them)
from leaderboard.celery import app
from leaderboard.models import Channel as DeliveryChannel
from leaderboard.pipeline import queue
from leaderboard.platform.broker import OUTBOX, QUEUE, SWEEPER, TASKS, Channel, QoS


class Hanging:
    """A channel whose Redis answers nothing."""

    do_restore = False

    def conn_or_acquire(self, client: Any = None) -> Any:
        raise NoAnswer


@pytest.mark.parametrize(
    "settle",
    [
        lambda places: places.ack("tag"),
        lambda places: places.reject("tag"),
        lambda places: places.reject("tag", requeue=True),
    ],
    ids=["ack", "reject", "requeue"],
)
def test_a_message_that_redis_does_not_take_back_keeps_no_place(
    settle: Callable[[QoS], None],
) -> None:
    places = QoS(Hanging(), prefetch_count=1)
    virtual.QoS.append(places, object(), "tag")
    assert not places.can_consume()
    with pytest.raises(NoAnswer):
        settle(places)
    assert places.can_consume()


def test_workers_keep_their_places_so() -> None:
    assert Channel.QoS is QoS


def test_every_task_takes_database_keys_alone() -> None:
    """A worker drops any other message: `leaderboard.platform.broker`."""
    ours = {task for name, task in app.tasks.items() if name.startswith("leaderboard.tasks.")}
    given = [
        parameter
        for task in ours
        for parameter in inspect.signature(task.run).parameters.values()
        if parameter.name != "self"
    ]
    assert given
    assert {parameter.annotation for parameter in given} <= {"int", int}


def test_what_is_queued_is_a_task_and_mails_and_webhooks_keep_none_waiting() -> None:
    named = set(re.findall(r"_send\(\"(\w+)", inspect.getsource(queue)))
    registered = {name.removeprefix(TASKS) for name in app.tasks if name.startswith(TASKS)}
    assert named <= registered
    mails = {"fan_out", "send_invitations", *(f"deliver_{each}" for each in DeliveryChannel)}
    assert {name for name in registered if queue_of(name) == OUTBOX} == mails
    assert queue_of("sweep") == SWEEPER
    assert queue_of("score_submission") == QUEUE != queue_of("publish_holdout")


def queue_of(name: str) -> str:
    return str(app.amqp.router.route({}, f"{TASKS}{name}")["queue"].name)


@pytest.mark.django_db
def test_a_broker_that_is_away_holds_no_upload(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr("kombu.utils.functional.sleep", slept.append)
    with Celery(broker="redis://127.0.0.1:1/0") as away:
        away.conf.broker_transport_options = settings.CELERY_BROKER_TRANSPORT_OPTIONS
        monkeypatch.setattr(queue, "current_app", away)
        assert not queue.enqueue(1)
    assert slept == []
