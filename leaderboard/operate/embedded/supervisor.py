"""Start processes, prefix what they print, and start again what ends by itself."""

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path
from threading import Lock, Thread

from leaderboard.operate.embedded.users import GROUP

PROJECT = Path(__file__).parents[3]

# Together less than the 5 seconds within which everything is gone after Ctrl-C.
GRACE_SECONDS = 2.5
STORE_GRACE_SECONDS = 1.0
POLL_SECONDS = 0.05
READ_SECONDS = 0.3

# The waits double: 0.5, 1, 2 and so on up to 64 seconds. What ran for half a minute begins anew.
FIRST_WAIT_SECONDS = 0.5
LONGEST_WAIT_SECONDS = 64.0
STEADY_SECONDS = 30.0
TRIES = 5


PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None) if sys.platform == "linux" else None


class Lives:
    """When a process is started again: later each time."""

    def __init__(self) -> None:
        self.short = 0
        self._began = 0.0
        self._due: float | None = None

    def begin(self, now: float) -> None:
        """Note that the process is started."""
        self._began, self._due = now, None

    def end(self, now: float) -> float:
        """Note that the process has ended. Return the seconds until its next start."""
        self.short = 1 if now - self._began >= STEADY_SECONDS else self.short + 1
        wait: float = min(LONGEST_WAIT_SECONDS, FIRST_WAIT_SECONDS * 2 ** (self.short - 1))
        self._due = now + wait
        return wait

    def is_due(self, now: float) -> bool:
        """Return whether it is to be started now."""
        return self._due is not None and now >= self._due


@dataclass
class Child:
    """A process, in whichever life.

    `command` is a list of arguments, no shell reads it. What others depend on (`store`) is stopped
    after them. Where an `essential` process keeps ending soon after its start, the rest is stopped;
    the site goes on without any other. `before_restart` is called when the process and its children
    are gone and it is about to be started again. `user` is the one of the system that it runs as;
    None: ours.
    """

    name: str
    command: Sequence[str]
    environment: Mapping[str, str]
    store: bool = False
    essential: bool = False
    before_restart: Callable[[], object] = lambda: None
    user: int | None = None
    lives: Lives = field(default_factory=Lives)
    process: subprocess.Popen[bytes] | None = None
    reader: Thread | None = None
    pid: int = 0

    def signal(self, number: int, send: Callable[[int, int], None]) -> None:
        """Send a signal to the process or to its group, which has its id, if there is one."""
        if self.pid:
            with suppress(ProcessLookupError):
                send(self.pid, number)

    def finish_reading(self) -> None:
        """Wait until what it has printed is shown; not for long, as a child may have the pipe."""
        if self.reader:
            self.reader.join(READ_SECONDS)


class Supervisor:
    """Start again what ends by itself, now and then, stop in order, leave no orphans.

    If this process is killed, Linux stops the children.
    """

    def __init__(self, *, when_started: Callable[[], None]) -> None:
        self.children: list[Child] = []
        self._when_started = when_started
        self._printing = Lock()
        self._code: int | None = None

    def say(self, text: str, name: str = "system") -> None:
        """Print lines under a name. Once their reader is gone, stop rather than run unseen."""
        heading = f"{datetime.now():%H:%M:%S} {name:<6} | "  # noqa: DTZ005  (for who looks on)
        with self._printing:
            try:
                sys.stdout.write("".join(f"{heading}{line}\n" for line in text.split("\n")))
                sys.stdout.flush()
            except BrokenPipeError:
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
                self._code = self._code or 0

    def run(self) -> int:
        """Run until told to stop (0) or until an essential process can't be kept running (1)."""

        def stop(number: int, frame: object) -> None:
            self._code = 0  # no more: a handler that prints could wait for itself

        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, stop)
        for child in self.children:
            self._start(child)
        Thread(target=self._when_started, daemon=True).start()
        while self._code is None:
            for child in self.children:
                self._look_after(child)
            time.sleep(POLL_SECONDS)
        self._stop([child for child in self.children if not child.store], GRACE_SECONDS)
        self._stop([child for child in self.children if child.store], STORE_GRACE_SECONDS)
        for child in self.children:
            child.signal(signal.SIGKILL, os.killpg)
            child.finish_reading()
        return self._code

    def _start(self, child: Child) -> None:
        child.process = start_child(child.command, env=child.environment, user=child.user)
        child.pid = child.process.pid
        child.lives.begin(time.monotonic())
        self.say(f"{child.name} started (pid={child.pid})")
        child.reader = Thread(
            target=self._print_output, args=(child.name, child.process), daemon=True
        )
        child.reader.start()

    def _print_output(self, name: str, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout is not None  # noqa: S101  (a pipe)
        with process.stdout as lines:
            for line in lines:
                self.say(line.decode(errors="replace").rstrip("\n"), name)

    def _look_after(self, child: Child) -> None:
        """Start it if it is due, and note if it has ended."""
        if child.process is None:
            if child.lives.is_due(time.monotonic()):
                child.signal(signal.SIGKILL, os.killpg)
                child.before_restart()
                self._start(child)
            return
        code = child.process.poll()
        if code is None:
            return
        child.process = None
        child.finish_reading()
        wait = child.lives.end(time.monotonic())
        self.say(f"{child.name} stopped (rc={code})")
        is_hopeless = child.lives.short >= TRIES
        if is_hopeless and child.essential:
            self._code = 1
            self.say(
                f"{child.name} ended by itself {TRIES} times in a row, so everything is being "
                "stopped. Its log is above."
            )
            return
        self.say(f"{child.name} ended by itself and is started again in {wait:g} s.")
        if is_hopeless:
            self.say(f"The site goes on without {child.name} until it stays. Its log is above.")

    def _stop(self, children: Iterable[Child], seconds: float) -> None:
        """Ask the processes to end and wait until they have, `seconds` at most."""
        running = [child for child in children if child.process is not None]
        for child in running:
            child.signal(signal.SIGTERM, os.kill)
        give_up = time.monotonic() + seconds
        for child in running:
            if child.process is not None:
                with suppress(subprocess.TimeoutExpired):
                    code = child.process.wait(max(0.0, give_up - time.monotonic()))
                    self.say(f"{child.name} stopped (rc={code})")


def start_child(
    command: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: str = str(PROJECT),
    user: int | None = None,
) -> subprocess.Popen[bytes]:
    """Start a command whose output can be read, and which ends when the calling thread does."""
    # Linux sends it SIGTERM when its parent ends; elsewhere nothing does.
    end_with_parent = partial(_libc.prctl, PR_SET_PDEATHSIG, signal.SIGTERM) if _libc else None
    return subprocess.Popen(
        command,
        env=env,
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        user=user,
        group=None if user is None else GROUP,
        extra_groups=None if user is None else [],
        preexec_fn=end_with_parent,  # noqa: PLW1509  (it only calls prctl)
    )
