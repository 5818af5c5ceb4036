"""Faults planted in the product's own code, to see that schedules find them.

Most replace a piece of a function's source; where that piece is gone, planting fails, and says so.
"""

from __future__ import annotations

import inspect
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any
from unittest.mock import patch

from django.conf import settings

from tests.simulation.database import Database


@dataclass(frozen=True)
class Fault:
    """What is planted, and a seed that finds it; where code has changed since, others may."""

    what: str
    plant: Callable[[], AbstractContextManager[Any]]
    seed: int


def _without(where: str, old: str, new: str) -> Callable[[], AbstractContextManager[Any]]:
    """Replace a piece of a function, named as `module:function`."""

    @contextmanager
    def plant() -> Iterator[None]:
        path, name = where.split(":")
        module = import_module(f"leaderboard.{path}")
        source = textwrap.dedent(inspect.getsource(inspect.unwrap(getattr(module, name))))
        if old not in source:
            raise LookupError(f"{where} has no {old!r} any more: plant this fault elsewhere.")
        # Decorators are kept, and names are looked up in the module, as before.
        changed: dict[str, Any] = {}
        code = compile(source.replace(old, new), str(module.__file__), "exec")
        exec(code, module.__dict__, changed)  # noqa: S102  (our own source, but for the fault)
        original = getattr(module, name)
        ours = [each for key, each in sys.modules.items() if key.startswith("leaderboard.")]
        with ExitStack() as stack:
            for each in ours:
                if vars(each).get(name) is original:
                    stack.enter_context(patch.object(each, name, changed[name]))
            yield

    return plant


@contextmanager
def _together(*plants: Callable[[], AbstractContextManager[Any]]) -> Iterator[None]:
    with ExitStack() as stack:
        for plant in plants:
            stack.enter_context(plant())
        yield


def _late_locks() -> AbstractContextManager[Any]:
    options = settings.DATABASES["default"].setdefault("OPTIONS", {})
    return patch.dict(options, transaction_mode="DEFERRED")


_UNGUARDED = _without(
    "notify.events:_lock", "if not transaction.get_connection().in_atomic_block:", "if False:"
)


def _in_autocommit(where: str) -> Callable[[], AbstractContextManager[Any]]:
    plain = _without(where, "with transaction.atomic(durable=True):", "if True:")
    return partial(_together, plain, _UNGUARDED)


FAULTS = {
    "no-lock-at-intake": Fault(
        "intake without its transaction, which holds the lock that quotas are counted under",
        _in_autocommit("pipeline.intake:_accept"),
        5,
    ),
    "no-lock-at-release": Fault(
        "a release without its transaction, which holds the ledger's lock",
        _in_autocommit("pipeline.release:release"),
        3,
    ),
    "locks-taken-late": Fault(
        "transactions of SQLite that take the write lock when they first write, not as they begin",
        _late_locks,
        5,
    ),
    "constraint-dropped": Fault(
        "the unique constraint on names of teams dropped from the schema",
        partial(patch.object, Database, "dropped", ("team_name_unique_ci",)),
        5,
    ),
    "early-acknowledgement": Fault(
        "messages acknowledged when a worker takes them",
        lambda: patch.object(settings, "CELERY_TASK_ACKS_LATE", False),
        14,
    ),
    "sent-before-commit": Fault(
        "the message is sent within the transaction, not on its commit",
        _without(
            "pipeline.intake:_accept",
            "transaction.on_commit(lambda: enqueue_quietly(submission))",
            "enqueue_quietly(submission)",
        ),
        0,
    ),
    "watermark-too-early": Fault(
        "the watermark's line written before the commit",
        _without(
            "pipeline.release:release",
            "        if any(led_by(entry, move)",
            "        watermark.append(ledger.uid, watermark.Head(ledger.entries, "
            "ledger.head_hash))\n        if any(led_by(entry, move)",
        ),
        0,
    ),
    "repeats-counted": Fault(
        "a repeat that keeps its unit of the quota",
        _without(
            "participate.quotas:settle",
            "submission.takes_quota = not repeats",
            "submission.takes_quota = True",
        ),
        5,
    ),
    "claim-unconditional": Fault(
        "a claim that doesn't ask whether the row is still queued",
        _without(
            "tasks:_start",
            "startable()",
            "Submission.objects",
        ),
        14,
    ),
    "finals-overtake": Fault(
        "the finals start while a submission is being scored",
        _without(
            "pipeline.finalize:unfinished",
            "status__in=(Status.QUEUED, Status.SCORING)",
            "status__in=(Status.QUEUED,)",
        ),
        31,
    ),
    "duel-unchecked": Fault(
        "a duel that doesn't look under the lock whether another worker has held it",
        _without("pipeline.duels:hold_next", "if find_due(ledger, holdout) != due:", "if False:"),
        45,
    ),
    "head-before-copy": Fault(
        "a head of the log signed over entries that lie nowhere but in the database",
        _without("log.heads:sign", "        if batch:\n", "        if False:\n"),
        49,
    ),
    "replay-unlogged": Fault(
        "a replay that doesn't tell the log of the answers that it brings back",
        _without("ledger.rewinds:replay", "        _log(ledger, situation.known, made)\n", ""),
        50,
    ),
}


def planted(name: str) -> AbstractContextManager[Any]:
    """Plant a fault."""
    return FAULTS[name].plant()
