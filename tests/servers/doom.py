"""Boundaries of the pipeline, and what happens to a process that reaches one.

Product code has no hooks for this: `arm_worker` and `arm_intake` wrap its functions, in processes
that are started by tests only. What is to happen where is said by a file, `order` in VAR_DIR; the
first process that reaches the boundary takes the order, renames it to `obeyed`, and does it.
"""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import wraps
from itertools import count
from pathlib import Path
from typing import Any, ParamSpec, TypeVar
from unittest.mock import patch

P = ParamSpec("P")
T = TypeVar("T")

# Release, ledger, state of the team, standing, submission, the log's entry, event and its number.
# The first team on a board also changes its state, begins its day, counts its level, and is the
# change that is told.
RELEASE_WRITES = 8
INTAKE = (
    "intake: before the file is stored",
    "intake: while the file is stored",
    "intake: file stored, before the transaction",
    "intake: row inserted, before the commit",
    "intake: committed, before the message",
    "intake: message sent",
)
WORKER = (
    "claim: before",
    "claim: after",
    "parse: before",
    "parse: inside",
    "parse: after",
    "measure: before",
    "measure: inside",
    "measure: after",
    "release: before the transaction",
    *(f"release: after write {number}" for number in range(1, RELEASE_WRITES + 1)),
    "release: before the commit",
    "release: after the commit",
    "watermark: before its line",
    "watermark: after its line",
    "task: done, before it is acknowledged",
)
FINALS = (
    "final: before it is measured",
    "final: measured, before the transaction",
    "final: row inserted, before the commit",
    "final: all there, not yet noted",
    "final: done, before it is acknowledged",
)
SWEEP = ("sweep: before a message", "sweep: after a message")


class Orders:
    """The orders given to processes that share a directory."""

    def __init__(self, directory: Path) -> None:
        self._order = directory / "order"
        self._obeyed = directory / "obeyed"
        self._go_on = directory / "go-on"

    def give(self, boundary: str, deed: str) -> None:
        """The first process at the boundary does the deed: `die`, `die with group` or `wait`."""
        self._go_on.unlink(missing_ok=True)
        self._write(boundary, deed)

    def _write(self, boundary: str, deed: str) -> None:
        self._obeyed.unlink(missing_ok=True)
        draft = self._order.with_suffix(".draft")
        draft.write_text(json.dumps({"boundary": boundary, "deed": deed}))
        draft.rename(self._order)

    def withdraw(self) -> bool:
        """Take an order back; return False where it has been taken already."""
        try:
            self._order.unlink()
        except FileNotFoundError:
            return False
        return True

    def is_obeyed(self) -> bool:
        return self._obeyed.exists()

    def go_on(self, *, to_die_at: str = "") -> None:
        """Let the process that waits at its boundary continue, if you like to another boundary."""
        if to_die_at:
            self._write(to_die_at, "die")
        self._go_on.touch()

    def reached(self, boundary: str) -> None:
        """Obey an order for this boundary, if there is one."""
        try:
            order = json.loads(self._order.read_text())
            if order["boundary"] == boundary:
                self._order.rename(self._obeyed)
                self._obey(order["deed"])
        except FileNotFoundError:
            return  # no order, or another process took it

    def _obey(self, deed: str) -> None:
        if deed == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        elif deed == "die with group":
            os.killpg(0, signal.SIGKILL)
        while not self._go_on.exists():
            time.sleep(0.01)


def _orders() -> Orders:
    return Orders(Path(os.environ["VAR_DIR"]))


def reached(boundary: str) -> None:
    """Reach a boundary: this process may end here."""
    _orders().reached(boundary)


def around(function: Callable[P, T], before: str = "", after: str = "") -> Callable[P, T]:
    """Put a boundary before and after a function."""

    @wraps(function)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> T:
        if before:
            reached(before)
        result = function(*args, **kwargs)
        if after:
            reached(after)
        return result

    return wrapped


def _wrap(owner: object, name: str, before: str = "", after: str = "") -> None:
    setattr(owner, name, around(getattr(owner, name), before, after))


def arm_worker() -> None:
    """Make this process, and those that it forks, obey orders at the worker's boundaries."""
    from celery.signals import task_postrun

    import leaderboard.pipeline.parse as parse_stage
    from leaderboard import tasks, vault
    from leaderboard.ledger import watermark
    from leaderboard.models import FinalScore
    from leaderboard.pipeline import finalize

    _wrap(tasks, "_claim", "claim: before", "claim: after")
    _wrap(tasks, "parse", "parse: before", "parse: after")
    _wrap(parse_stage, "read_predictions", "parse: inside")
    _wrap(tasks, "measure", "measure: before", "measure: after")
    _wrap(vault, "measure", after="measure: inside")
    _wrap(vault, "measure_final", FINALS[0], FINALS[1])
    _wrap(FinalScore.objects, "get_or_create", after=FINALS[2])
    _wrap(finalize, "_note_all_scored", FINALS[3])
    _wrap(finalize, "measure_final", after=FINALS[4])
    _wrap(tasks, "enqueue", "sweep: before a message", "sweep: after a message")
    _wrap(watermark, "append", "watermark: before its line", "watermark: after its line")
    setattr(tasks, "release", _armed_release(getattr(tasks, "release")))  # noqa: B009, B010
    task_postrun.connect(_task_done, weak=False)


def arm_intake() -> list[AbstractContextManager[Any]]:
    """Return what to enter so that an upload here obeys orders at intake's boundaries."""
    from celery.app import app_or_default
    from django.core.files.base import File

    from leaderboard.pipeline import intake
    from leaderboard.platform.statements import insert_row

    def half(file: File[bytes], chunk_size: int | None = None) -> Any:
        content = file.read()
        yield content[: len(content) // 2]
        reached(INTAKE[1])
        yield content[len(content) // 2 :]

    app = app_or_default()
    return [
        patch.object(intake, "_store", around(_storing(half), INTAKE[0], INTAKE[2])),
        patch.object(intake, "insert_row", around(insert_row, after=INTAKE[3])),
        patch.object(intake, "enqueue_quietly", around(intake.enqueue_quietly, INTAKE[4])),
        patch.object(app, "send_task", around(app.send_task, after=INTAKE[5])),
    ]


def _storing(chunks: Callable[..., Any]) -> Callable[..., str]:
    """Return the function that stores an upload, which is read by `chunks`."""
    from django.core.files.base import ContentFile

    from leaderboard.pipeline import intake

    store = intake._store

    def stored(*args: Any) -> str:
        with patch.object(ContentFile, "chunks", chunks):
            return store(*args)

    return stored


def _armed_release(release: Callable[P, T]) -> Callable[P, T]:
    """Put a boundary after each write of `release`, and on both sides of the commit."""
    from django.db import connections

    @wraps(release)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> T:
        reached("release: before the transaction")
        connection = connections["default"]
        commit = around(
            connection.commit, "release: before the commit", "release: after the commit"
        )
        with (
            connection.execute_wrapper(_count_writes()),
            patch.object(connection, "commit", commit),
        ):
            return release(*args, **kwargs)

    return wrapped


def _count_writes() -> Callable[..., Any]:
    numbers = count(1)

    def counting(execute: Callable[..., Any], sql: str, *rest: Any) -> Any:
        result = execute(sql, *rest)
        if sql.startswith(("INSERT", "UPDATE", "DELETE")):
            number = next(numbers)
            _note_writes(number)
            reached(f"release: after write {number}")
        return result

    return counting


def _note_writes(number: int) -> None:
    """Keep the names of all boundaries of this kind that were ever met."""
    (Path(os.environ["VAR_DIR"]) / f"write-{number}").touch()


def _task_done(sender: Any = None, **_: Any) -> None:
    if sender is not None and sender.name.endswith("score_submission"):
        reached("task: done, before it is acknowledged")
