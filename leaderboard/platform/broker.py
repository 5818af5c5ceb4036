"""Kombu's Redis transport, for workers that outlive whatever is put into Redis.

Redis is not trusted: web processes can put anything on the queue. A worker takes a message only if
it asks for one of our tasks, with numbers as arguments, and for nothing that Celery would do beside
that (call back, wait, decompress). Kombu and Celery let the first item that is something else end
the worker; here it is dropped and logged. What it stood for is in the database.

Kombu also lets a worker wait for ever where Redis hangs while a message is acknowledged: the place
of that message is never free again, and a worker has few. Here the place is given back; Redis hands
the message out once more, and whoever gets it finds the work done.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kombu.exceptions import SerializationError, SerializerNotInstalled
from kombu.transport import TRANSPORT_ALIASES, redis, virtual

logger = logging.getLogger(__name__)

TASKS = "leaderboard.tasks."
QUEUE = "celery"
# Large files, and what compares whole files: whoever sends a small one waits for none of them.
LONG = "long"
# The sweeper, which must come round however many files wait.
SWEEPER = "sweeper"
# Mails and webhooks: a receiver that is slow keeps no submission waiting.
OUTBOX = "outbox"
QUEUES = (QUEUE, LONG, SWEEPER, OUTBOX)
_TASKS_OF = {
    LONG: ("hold_duels", "place_finals", "publish_holdout", "carry_out_handover"),
    SWEEPER: ("sweep", "look_for_rewinds_at_start"),
    OUTBOX: ("fan_out", "deliver_mail", "deliver_webhook", "send_invitations"),
}
ROUTES = {f"{TASKS}{name}": queue for queue, names in _TASKS_OF.items() for name in names}
# What is short or long as the file is.
_EITHER = {f"{TASKS}{name}" for name in ("score_submission", "score_final")}
LONGEST_MESSAGE = 20_000
LONGEST_LIMIT = 24 * 3600
LARGEST_KEY = 2**63
# What decoding, and taking apart, raises on hostile items. A KeyError of kombu's own is among them.
UNREADABLE = (
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
    SerializationError,
    SerializerNotInstalled,
)


class QoS(redis.QoS):
    """Give a message's place back also where Redis does not answer."""

    def ack(self, delivery_tag: str) -> None:
        with self._place_given_back(delivery_tag):
            super().ack(delivery_tag)

    def reject(self, delivery_tag: str, requeue: bool = False) -> None:
        with self._place_given_back(delivery_tag):
            super().reject(delivery_tag, requeue=requeue)

    def restore_by_tag(self, tag: str, client: Any = None, leftmost: bool = False) -> None:
        try:
            super().restore_by_tag(tag, client, leftmost)
        except UNREADABLE:
            self._remove_from_indices(tag).execute()  # type: ignore[attr-defined]  # untyped
            _log_dropped()

    @contextmanager
    def _place_given_back(self, delivery_tag: str) -> Iterator[None]:
        try:
            yield
        except Exception:
            virtual.QoS.ack(self, delivery_tag)
            raise


class Channel(redis.Channel):
    """Drop what is no JSON, and keep no table of where tasks go."""

    QoS = QoS

    def _queue_bind(self, exchange: str, routing_key: str, pattern: str, queue: str) -> None:
        """Write no binding for the queues of tasks, whose messages name them themselves.

        So nobody who sends tasks needs the right to change where those of others go.
        """
        if queue not in QUEUES:
            super()._queue_bind(exchange, routing_key, pattern, queue)  # type: ignore[misc]  # untyped

    def _brpop_read(self, **options: Any) -> bool | None:
        try:
            delivered: bool | None = super()._brpop_read(**options)  # type: ignore[misc]  # untyped
        except UNREADABLE:
            _log_dropped()
            return None
        return delivered


class Transport(redis.Transport):
    """Drop what is JSON but no message."""

    Channel = Channel

    def _deliver(self, message: Any, queue: str | None) -> None:
        if self.channels and _is_message(message, queue, self.channels[0]):
            super()._deliver(message, queue)
        else:
            _log_dropped()


def _is_message(message: Any, queue: str | None, channel: Any) -> bool:
    """Return whether kombu can build a message of it and knows where to put it back.

    On the queues of tasks it also has to ask for one of theirs as `send_task` does.
    """
    try:
        if queue not in QUEUES:
            built = channel.Message(message, channel=channel)
            return {"exchange", "routing_key"} <= set(built.delivery_info)
        if not _has_plain_headers(message, queue):
            return False
        built = channel.Message(message, channel=channel, accept={"application/json"})
        args, kwargs, more = built.decode()
        # The arguments are database keys, and nothing follows on the task.
        are_keys = all(type(key) is int and 0 < key < LARGEST_KEY for key in kwargs.values())
        return are_keys and not args and not any(more.values())
    except UNREADABLE:
        return False


def _has_plain_headers(message: Any, queue: str) -> bool:
    """Return whether nothing is to be decompressed, delayed or given more time.

    All has to be a text or a number where Celery takes it for one.
    """
    headers, properties = dict(message["headers"]), dict(message["properties"])
    delivery = properties.pop("delivery_info")
    limits = headers.pop("timelimit", None) or [None, None]
    nothing = ("compression", "eta", "group", "shadow", "retries", "stamps", "stamped_headers")
    texts = (headers["id"], headers["task"], properties["delivery_tag"], headers["expires"] or "")
    rest = [value for name, value in (headers | properties).items() if name not in nothing]
    return (
        len(str(message)) < LONGEST_MESSAGE
        and (delivery["exchange"], delivery["routing_key"]) == ("", queue)
        and len(limits) == 2
        and all(limit is None or 0 < limit <= LONGEST_LIMIT for limit in limits)
        and not any(headers.get(name) for name in nothing)
        and all(isinstance(text, str) for text in texts)
        and all(isinstance(value, str | bool | int | None) for value in rest)
        and headers["task"].startswith(TASKS)
        and (
            ROUTES.get(headers["task"], QUEUE) == queue
            or (queue == LONG and headers["task"] in _EITHER)
        )
    )


def _log_dropped() -> None:
    logger.error("An item on the queue was no message and was dropped; the sweeper sends others.")


def install() -> None:
    """Make this the transport of `redis://` and `rediss://` addresses."""
    for scheme in ("redis", "rediss"):
        TRANSPORT_ALIASES[scheme] = f"{__name__}:{Transport.__name__}"
