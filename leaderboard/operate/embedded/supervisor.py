"""Starts processes, prefixes what they print, and starts again what ends by itself."""

import ctypes
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from queue import Empty
from threading import Thread
from typing import Any

from honcho.manager import Manager
from honcho.printer import Printer
from honcho.process import Process

PROJECT = Path(__file__).parents[3]

# Together less than the 5 seconds within which everything is gone after Ctrl-C.
GRACE_SECONDS = 2.5
STORE_GRACE_SECONDS = 1.0
POLL_SECONDS = 0.1

# The waits double: 0.5, 1, 2 and 4 seconds. What ran for a minute begins anew.
FIRST_WAIT_SECONDS = 0.5
STEADY_SECONDS = 60.0
TRIES = 5


class Lives:
    """When a process is started again: later each time, and not at all where that never helps."""

    def __init__(self, before_restart: Callable[[], object]) -> None:
        self.before_restart = before_restart
        self._began = 0.0
        self._due: float | None = None
        self._short = 0

    def begin(self, now: float) -> None:
        """The process is started."""
        self._began, self._due = now, None

    def end(self, now: float) -> float | None:
        """The process has ended. Returns the seconds until its next start, None for no more."""
        self._short = 1 if now - self._began >= STEADY_SECONDS else self._short + 1
        if self._short >= TRIES:
            return None
        wait: float = FIRST_WAIT_SECONDS * 2 ** (self._short - 1)
        self._due = now + wait
        return wait

    def is_due(self, now: float) -> bool:
        """Whether it is to be started now."""
        return self._due is not None and now >= self._due


class Supervisor(Manager):  # type: ignore[misc]  # honcho ships no types
    """Honcho's manager, which starts again what ends by itself, stops in order, leaves no orphans.

    What others depend on (`store=True`) is stopped after them. A process that keeps ending soon
    after its start stops the rest. If this process is killed, Linux stops the children.
    """

    def __init__(self, *, when_started: Callable[[], None]) -> None:
        super().__init__(HeededPrinter(sys.stdout))
        self._process_ctor = BoundProcess
        self._terminating = False
        self.returncode: int | None = None
        self._stores: set[str] = set()
        self._lives: dict[str, Lives] = {}
        self._when_started = when_started

    def add(
        self,
        name: str,
        command: Sequence[str],
        environment: Mapping[str, str],
        *,
        store: bool = False,
        before_restart: Callable[[], object] = lambda: None,
    ) -> None:
        """Adds a process; `command` is a list of arguments, no shell reads it. `before_restart` is
        called when the process and its children are gone and it is about to be started again."""
        self.add_process(name, list(command), env=dict(environment), cwd=str(PROJECT))
        self._lives[name] = Lives(before_restart)
        if store:
            self._stores.add(name)

    def say(self, text: str) -> None:
        """Prints a line of the supervisor's own."""
        self._system_print(text + "\n")

    def run(self) -> int:
        """Runs until told to stop (0) or until a process can't be kept running (1)."""
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._asked_to_stop)
        self._start()
        while not self._is_over():
            self._take_message()
            self._start_again()
        self._kill_groups()
        return 0 if self.returncode in _ASKED_TO_STOP else 1

    def terminate(self) -> None:
        """Stops everything in order."""
        if not self._terminating:
            self._terminating = True
            Thread(target=self._stop_in_order, daemon=True).start()

    def _asked_to_stop(self, number: int, frame: object) -> None:
        self.say(f"{signal.Signals(number).name} received")
        self.returncode = self.returncode or 128 + number
        self.terminate()

    def _start(self) -> None:
        super()._start()
        for lives in self._lives.values():
            lives.begin(time.monotonic())
        Thread(target=self._when_started, daemon=True).start()

    def _is_over(self) -> bool:
        return self._terminating and not any(map(self._runs, self._processes))

    def _take_message(self) -> None:
        """Prints a line, or notes that a process has started or ended."""
        try:
            message = self.events.get(timeout=POLL_SECONDS)
        except Empty:
            return
        if message.type == "line":
            self._printer.write(message)
        elif message.type == "start":
            self._processes[message.name]["pid"] = message.data["pid"]
            self.say(f"{message.name} started (pid={message.data['pid']})")
        elif message.type == "stop":
            self.say(f"{message.name} stopped (rc={message.data['returncode']})")
            self._ended(message.name, message.data["returncode"])

    def _ended(self, name: str, code: int) -> None:
        self._processes[name]["returncode"] = code
        if self._terminating:
            return
        wait = self._lives[name].end(time.monotonic())
        if wait is None:
            self.returncode = code or 1
            self.say(
                f"{name} ended by itself {TRIES} times in a row, so everything is being stopped. "
                "Its log is above."
            )
            self.terminate()
        else:
            self.say(f"{name} ended by itself and is started again in {wait:g} s.")

    def _start_again(self) -> None:
        now = time.monotonic()
        for name, lives in self._lives.items():
            if self._terminating or not lives.is_due(now):
                continue
            self._signal(name, signal.SIGKILL, os.killpg)
            lives.before_restart()
            process = self._processes[name]
            del process["returncode"], process["pid"]
            process["process"] = multiprocessing.Process(
                name=name, target=process["obj"].run, args=(self.events, True)
            )
            process["process"].start()
            lives.begin(now)

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


_ASKED_TO_STOP = {128 + number for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}


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
