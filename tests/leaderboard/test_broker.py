"""What a worker does where Redis hangs; what it drops is in `tests/servers/test_crashes.py`."""

import inspect
from collections.abc import Callable
from typing import Any

import pytest
from kombu.transport import virtual
from redis.exceptions import TimeoutError as NoAnswer

from leaderboard import tasks  # noqa: F401  (registers them)
from leaderboard.celery import app
from leaderboard.platform.broker import Channel, QoS


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
