"""One baton for all simulated processes: who has it runs, and a seeded die says who is next.

Each process is a thread, but only one of them runs at a time, from one pause to the next. Pauses
are where anything may happen between two steps of a real process: before a statement, around a
commit, while a file is written, when a message is sent. So what a seed does is done again exactly.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from random import Random

START = datetime(2030, 6, 1, 9, 0, tzinfo=UTC)
# By then nothing goes wrong any more: what had been promised has to come, and soon.
STORMY_STEPS, MOST_STEPS = 600, 20_000


class Killed(BaseException):
    """The process is dead: nothing that it meant to do happens any more."""


@dataclass(frozen=True)
class Odds:
    """How likely each thing is at a pause."""

    switch: float = 0.1
    kill: float = 0.0
    stall: float = 0.0
    outage: float = 0.0


class Process:
    """A thread that runs when it has the baton.

    `may_die`: people and operators don't. `is_frail`: now is a moment at which it may stall.
    """

    def __init__(
        self,
        scheduler: Scheduler,
        name: str,
        run: Callable[[], None],
        *,
        may_die: bool,
        died: Callable[[], None],
    ) -> None:
        self.name, self.may_die, self.died = name, may_die, died
        self.condemned = self.dead = self.ended = False
        self.ready: Callable[[], bool] | None = None
        self.wakes_at: datetime | None = None
        self.stalled_until: datetime | None = None
        self.task = ""
        self.go = threading.Lock()
        self.go.acquire()
        self._scheduler, self._run = scheduler, run
        self.thread = threading.Thread(target=self._live, name=name, daemon=True)
        self.thread.start()

    def _live(self) -> None:
        self.go.acquire()
        try:
            if self.condemned:  # before its first step: whoever it was comes again
                self.dead = True
            else:
                self._scheduler.enter(self)
                self._run()
        except Killed:
            pass
        except Exception as error:
            self._scheduler.broken(self, error)
        self._scheduler.leave(self)

    def can_run(self, now: datetime) -> bool:
        if self.ended:
            return False
        if self.condemned or (self.wakes_at is not None and self.wakes_at <= now):
            return True
        if self.wakes_at is not None and self.ready is None:
            return False
        return self.ready is None or self.ready()


class Scheduler:
    """The baton, the clock, the die and the trace of one schedule."""

    def __init__(
        self, seed: int, odds: Odds, *, starts: datetime = START, tracing: bool = False
    ) -> None:
        self.random, self.odds, self.now = Random(seed), odds, starts
        self.processes: list[Process] = []
        self.current: Process | None = None
        self.steps = 0
        self.trace: list[str] | None = [] if tracing else None
        self.violations: list[str] = []
        self.enter: Callable[[Process], None] = lambda process: None
        self.left: Callable[[Process], None] = lambda process: None
        self.rolled_back: Callable[[Process], None] = lambda process: None
        self.in_transaction: Callable[[], bool] = lambda: False
        self._digest = hashlib.sha256()
        self._over = threading.Lock()
        self._over.acquire()

    def start(
        self,
        name: str,
        run: Callable[[], None],
        *,
        may_die: bool = False,
        died: Callable[[], None] = lambda: None,
    ) -> Process:
        process = Process(self, name, run, may_die=may_die, died=died)
        self.processes.append(process)
        return process

    def play(self) -> None:
        """Let all processes run until the last one has ended."""
        self.current = self._choose(None)
        if self.current is not None:
            self.current.go.release()
            self._over.acquire()
        for process in self.processes:
            process.thread.join()

    @property
    def is_calm(self) -> bool:
        """Return whether the storm is over."""
        return self.steps >= STORMY_STEPS

    @property
    def fingerprint(self) -> str:
        """What happened, in order: two runs of a seed have the same."""
        return self._digest.hexdigest()[:16]

    @property
    def seconds(self) -> float:
        return (self.now - START).total_seconds()

    def note(self, label: str) -> None:
        """Write to the trace."""
        name = self.current.name if self.current else "-"
        line = f"{self.seconds:11.3f} {name:10} {label}"
        self._digest.update(line.encode())
        if self.trace is not None:
            self.trace.append(line)

    def find(self, violation: str) -> None:
        """Note a broken promise; nobody goes on after the first."""
        self.note(f"VIOLATION {violation}")
        self.violations.append(violation)
        for process in self.processes:
            process.condemned = True

    def pause(self, label: str) -> bool:
        """Let others run, or not; return whether the database or storage fails this step."""
        me = self.current
        if me is None or threading.current_thread() is not me.thread:
            return False  # the stage is built, or looked at, before and after the play
        self.steps += 1
        if self.steps == STORMY_STEPS:
            self.odds = Odds(switch=self.odds.switch)
        if self.steps > MOST_STEPS:
            self.find("The schedule never ends.")
        self._die_if_condemned(me)
        self.note(label)
        self.now += timedelta(microseconds=1 + int(self.random.expovariate(1 / 4000)))
        chance, odds = self.random.random(), self.odds
        if me.may_die and chance < odds.kill:
            self.note("killed")
            me.condemned = True
            self._die_if_condemned(me)
        chance -= odds.kill
        if me.may_die and 0 <= chance < odds.outage:
            self.note("outage")
            return True
        chance -= odds.outage
        if me.may_die and 0 <= chance < odds.stall and not self.in_transaction():
            seconds = self.random.choice((5.0, 40.0, 200.0, 700.0))
            me.stalled_until = self.now + timedelta(seconds=seconds)
            self.sleep(seconds, "stalls")
        elif self.random.random() < odds.switch:
            self._hand_over(me)
        return False

    def sleep(self, seconds: float, label: str = "sleeps") -> None:
        """Run on after so many seconds."""
        self.note(f"{label} {seconds:g} s")
        me = self._me()
        me.wakes_at = self.now + timedelta(seconds=seconds)
        self._hand_over(me)
        me.wakes_at = None

    def wait(self, ready: Callable[[], bool], seconds: float | None = None) -> None:
        """Run on when this is so, or so many seconds have passed."""
        me = self._me()
        while not ready():
            me.ready = ready
            if seconds is not None:
                me.wakes_at = self.now + timedelta(seconds=seconds)
            self._hand_over(me)
            me.ready, me.wakes_at = None, None
            if seconds is not None:
                return

    def _me(self) -> Process:
        assert self.current is not None
        return self.current

    def _hand_over(self, me: Process) -> None:
        chosen = self._choose(me)
        if chosen is not None and chosen is not me:
            self.current = chosen
            chosen.go.release()
            me.go.acquire()
        self._die_if_condemned(me)

    def _choose(self, me: Process | None) -> Process | None:
        """Return who runs next; the clock jumps where everybody waits."""
        able = [each for each in self.processes if each.can_run(self.now)]
        if not able:
            moments = [p.wakes_at for p in self.processes if p.wakes_at and not p.ended]
            if not moments:
                if any(not each.ended for each in self.processes):
                    self.find("All processes wait for each other.")
                    able = [each for each in self.processes if not each.ended]
                else:
                    return None
            else:
                self.now = max(self.now, min(moments))
                able = [each for each in self.processes if each.can_run(self.now)]
        return able[self.random.randrange(len(able))] if len(able) > 1 else able[0]

    def _die_if_condemned(self, me: Process) -> None:
        if me.condemned:
            if not me.dead:
                me.dead = True
                self.rolled_back(me)
            raise Killed

    def broken(self, process: Process, error: Exception) -> None:
        """A process ended with an error that nobody expects."""
        self.find(f"{process.name} ended: {type(error).__name__}: {error}")

    def leave(self, process: Process) -> None:
        """End a process, and hand the baton on."""
        process.ended = True
        self.left(process)
        if process.dead:
            process.died()
        chosen = self._choose(None)
        self.current = chosen
        if chosen is None:
            self._over.release()
        else:
            chosen.go.release()
