"""Processes made by forking this one, with connections of their own to database and broker."""

import multiprocessing
import os
import sys
import traceback
from collections.abc import Callable
from inspect import signature
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Barrier
from threading import BrokenBarrierError
from typing import Any

from celery import current_app
from django.db import connections
from kombu import pools

PATIENCE_SECONDS = 60


def alone(do: Callable[[], object]) -> int:
    """Do something in one process. Return its wait status."""
    _let_go()
    pid = os.fork()
    if pid == 0:
        _end_after(do)
    _, status = os.waitpid(pid, 0)
    return status


def crowd(size: int, do: Callable[..., str]) -> list[str]:
    """Have `size` processes begin at the same moment. Return what each of them said, by number.

    `do(number)` may take a second argument: a function that waits until all have called it.
    """
    _let_go()
    context = multiprocessing.get_context("fork")
    barrier, answers = context.Barrier(size), context.Queue()
    for number in range(size):
        if os.fork() == 0:
            _end_after(lambda: _take_part(number, do, barrier, answers))  # noqa: B023  (it runs now)
    said = dict(answers.get(timeout=PATIENCE_SECONDS) for _ in range(size))
    for _ in range(size):
        os.wait()
    return [said[number] for number in range(size)]


def _take_part(
    number: int, do: Callable[..., str], barrier: Barrier, answers: "Queue[Any]"
) -> None:
    def wait_for_all() -> None:
        barrier.wait(PATIENCE_SECONDS)

    arguments: list[Any] = [number]
    if len(signature(do).parameters) > 1:
        arguments.append(wait_for_all)
    connections["default"].ensure_connection()
    wait_for_all()
    try:
        said = do(*arguments)
    except BrokenBarrierError:
        said = "waited in vain"
    except Exception as error:
        said = f"{type(error).__name__}: {error}"
    answers.put((number, said))
    answers.close()
    answers.join_thread()


def _end_after(do: Callable[[], object]) -> None:
    """Do it in a process that was just forked, and end it without the parent's cleaning."""
    code = 1
    try:
        do()
        code = 0
    except BaseException:
        traceback.print_exc(file=sys.stderr)
    finally:
        sys.stderr.flush()
        os._exit(code)


def _let_go() -> None:
    """Close what two processes must not share."""
    connections.close_all()
    pools.reset()
    current_app._after_fork()  # type: ignore[attr-defined]  # forgets its pools
