"""What a worker does where Redis hangs; what it drops is in `tests/servers/test_crashes.py`."""

from collections.abc import Callable
from typing import Any

import pytest
from kombu.transport import virtual
from redis.exceptions import TimeoutError as NoAnswer

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
