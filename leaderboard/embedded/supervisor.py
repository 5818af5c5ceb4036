"""Starts processes, prefixes what they print, and stops all of them when one ends."""

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import Any

from honcho.manager import Manager
from honcho.printer import Printer
from honcho.process import Process

PROJECT = Path(__file__).parents[2]

# Together less than the 5 seconds within which everything is gone after Ctrl-C.
GRACE_SECONDS = 2.5
STORE_GRACE_SECONDS = 1.0


class Supervisor(Manager):  # type: ignore[misc]  # honcho ships no types
    """Honcho's manager, with an order of stopping and no orphans.

    What others depend on (`store=True`) is stopped after them. A child that ends by itself stops
    the rest. If this process is killed, the system stops the children (Linux).
    """

    def __init__(self, *, when_started: Callable[[], None]) -> None:
        super().__init__(HeededPrinter(sys.stdout))
        self._process_ctor = BoundProcess
        self._terminating = False
        self._stores: set[str] = set()
        self._when_started = when_started

    def add(
        self,
        name: str,
        command: Sequence[str],
        environment: Mapping[str, str],
        *,
        store: bool = False,
    ) -> None:
        """Adds a process; `command` is a list of arguments, no shell reads it."""
        self.add_process(name, list(command), env=dict(environment), cwd=str(PROJECT))
        if store:
            self._stores.add(name)

    def say(self, text: str) -> None:
        """Prints a line of the supervisor's own."""
        self._system_print(text + "\n")

    def run(self) -> int:
        """Runs until told to stop (0) or until a process ended by itself (1)."""
        signal.signal(signal.SIGHUP, lambda *_: signal.raise_signal(signal.SIGTERM))
        self.loop()
        self._kill_groups()
        return 0 if self.returncode in _ASKED_TO_STOP else 1

    def terminate(self) -> None:
        """Stops everything in order; honcho calls it on a signal and when a process has ended."""
        if self._terminating:
            return
        self._terminating = True
        if self.returncode not in _ASKED_TO_STOP:
            ended = " and ".join(name for name in self._processes if not self._runs(name))
            self.say(f"{ended} ended by itself, so everything is being stopped. Its log is above.")
        Thread(target=self._stop_in_order, daemon=True).start()

    def _start(self) -> None:
        super()._start()
        Thread(target=self._when_started, daemon=True).start()

    def _stop_in_order(self) -> None:
        others = set(self._processes) - self._stores
        self._stop(others, GRACE_SECONDS)
        self._stop(self._stores, STORE_GRACE_SECONDS)
        self._kill_groups()

    def _stop(self, names: set[str], seconds: float) -> None:
        """Asks the processes to end and waits until they have, `seconds` at most."""
        asked: set[str] = set()
        give_up = time.monotonic() + seconds
        while time.monotonic() < give_up:
            running = set(filter(self._runs, names))
            if not running:
                return
            # One that is only just being started gets its signal in a later round.
            asked |= {n for n in running - asked if self._signal(n, signal.SIGTERM, os.kill)}
            time.sleep(0.05)

    def _kill_groups(self) -> None:
        """Ends what is left, the processes' own children included."""
        for name in self._processes:
            self._signal(name, signal.SIGKILL, os.killpg)

    def _signal(self, name: str, number: int, send: Callable[[int, int], None]) -> bool:
        pid = self._processes[name].get("pid")
        if pid is None:
            return False
        with suppress(ProcessLookupError):
            send(pid, number)
        return True

    def _runs(self, name: str) -> bool:
        return "returncode" not in self._processes[name]


_ASKED_TO_STOP = {130, 143}


class HeededPrinter(Printer):  # type: ignore[misc]  # honcho ships no types
    """Prints the log. Once its reader has gone, everything is stopped rather than run unseen."""

    def write(self, message: Any) -> None:
        try:
            super().write(message)
        except BrokenPipeError:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, sys.stdout.fileno())
            signal.raise_signal(signal.SIGTERM)


class BoundProcess(Process):  # type: ignore[misc]  # honcho ships no types
    """A child, and honcho's helper that reads its output; neither outlives the supervisor."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._child_ctor = start_child

    def run(self, *args: Any, **kwargs: Any) -> None:
        _die_with_parent(signal.SIGKILL)
        super().run(*args, **kwargs)


def start_child(
    command: Sequence[str], *, env: Mapping[str, str], cwd: str = str(PROJECT)
) -> subprocess.Popen[bytes]:
    """Starts a command whose output can be read, and which ends when the calling thread does."""
    return subprocess.Popen(
        command,
        env=env,
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        preexec_fn=_end_with_parent,  # noqa: PLW1509  (it only calls prctl)
    )


_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None) if sys.platform == "linux" else None


def _die_with_parent(number: int) -> None:
    """Asks Linux for this signal when the parent process ends; elsewhere does nothing."""
    if _libc is not None:
        _libc.prctl(_PR_SET_PDEATHSIG, number)


def _end_with_parent() -> None:
    _die_with_parent(signal.SIGTERM)
