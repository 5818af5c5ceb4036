"""Kombu's Redis transport, for workers that outlive what they can't read and what nobody answers.

Kombu lets the first item that is no message of its own (a failed migration, a stray LPUSH) end the
worker. Here such items are dropped and said: what they stood for is in the database.

Kombu also lets a worker wait for ever where Redis hangs while a message is acknowledged: the place
of that message is never free again, and a worker has few. Here the place is given back; Redis hands
the message out once more, and whoever gets it finds the work done.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from json import JSONDecodeError
from typing import Any

from kombu.transport import TRANSPORT_ALIASES, redis, virtual

logger = logging.getLogger(__name__)


class QoS(redis.QoS):
    """Gives a message's place back also where Redis does not answer."""

    def ack(self, delivery_tag: str) -> None:
        with self._place_given_back(delivery_tag):
            super().ack(delivery_tag)

    def reject(self, delivery_tag: str, requeue: bool = False) -> None:
        with self._place_given_back(delivery_tag):
            super().reject(delivery_tag, requeue=requeue)

    @contextmanager
    def _place_given_back(self, delivery_tag: str) -> Iterator[None]:
        try:
            yield
        except Exception:
            virtual.QoS.ack(self, delivery_tag)
            raise


class Channel(redis.Channel):
    """Drops what is no JSON."""

    QoS = QoS

    def _brpop_read(self, **options: Any) -> bool | None:
        try:
            delivered: bool | None = super()._brpop_read(**options)  # type: ignore[misc]  # untyped
        except (JSONDecodeError, UnicodeDecodeError):
            _say_dropped()
            return None
        return delivered


class Transport(redis.Transport):
    """Drops what is JSON but no message."""

    Channel = Channel

    def _deliver(self, message: Any, queue: str | None) -> None:
        if self.channels and _is_message(message, self.channels[0]):
            super()._deliver(message, queue)
        else:
            _say_dropped()


def _is_message(message: Any, channel: Any) -> bool:
    """Whether kombu can build a message of it and knows where to put it back."""
    try:
        delivery = channel.Message(message, channel=channel).delivery_info
        return {"exchange", "routing_key"} <= set(delivery)
    except (KeyError, TypeError, ValueError, AttributeError):
        return False


def _say_dropped() -> None:
    logger.error("An item on the queue was no message and was dropped; the sweeper sends others.")


def install() -> None:
    """Makes this the transport of `redis://` and `rediss://` addresses."""
    for scheme in ("redis", "rediss"):
        TRANSPORT_ALIASES[scheme] = f"{__name__}:{Transport.__name__}"
