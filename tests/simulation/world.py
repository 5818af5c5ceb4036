"""One schedule: people upload, workers score, things break, and the organizer ends it."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from random import Random

from celery import current_app
from django.core.files.base import ContentFile
from django.db import InterfaceError, OperationalError

from leaderboard import queries, tasks
from leaderboard.errors import Refused
from leaderboard.ledger import rewinds
from leaderboard.ledger.watermark import WatermarkAway
from leaderboard.models import Round, Status, Submission, Team, User
from leaderboard.participate import membership, selection
from leaderboard.pipeline import finalize, intake, queue
from leaderboard.platform.logs import Broken
from tests.simulation.database import in_thread
from tests.simulation.invariants import Seen, Watch, at_the_end
from tests.simulation.scheduler import START, Odds, Process, Scheduler
from tests.simulation.stage import CLOSES, LATE, SLUG, TEAMS, Stage, file
from tests.simulation.surroundings import Broker, Losses, Message, surrounded

AWAY = (OperationalError, InterfaceError)
# Not on the grid of released scores: a raw one is recognized.
WRONG = (17, 33, 54, -1)
SWEEP = "leaderboard.tasks.sweep"
SWEEP_SECONDS = 60
BEFORE_CLOSING = timedelta(seconds=CLOSES.timestamp() - START.timestamp())


@dataclass(frozen=True)
class Weather:
    """Which things go wrong in a schedule: all of them, some, or none."""

    odds: Odds
    losses: Losses
    whole_workers: bool
    restore: bool

    @property
    def is_fair(self) -> bool:
        """Return whether neither database nor storage is ever away."""
        return not (self.odds.outage or self.restore)

    @classmethod
    def of(cls, seed: int) -> Weather:
        random = Random(f"weather {seed}")

        def perhaps(*values: float) -> float:
            return random.choice((0.0, *values))

        return cls(
            Odds(
                switch=random.choice((0.02, 0.1, 0.4)),
                kill=perhaps(0.002, 0.01),
                stall=perhaps(0.003),
                outage=perhaps(0.003),
            ),
            Losses(perhaps(0.3), perhaps(0.3), perhaps(0.3), perhaps(0.1)),
            whole_workers=random.random() < 0.5,
            restore=random.random() < 0.2,
        )


@dataclass
class Outcome:
    """What came of a seed."""

    seed: int
    violations: list[str]
    fingerprint: str
    steps: int
    trace: list[str] = field(default_factory=list)


class World:
    """The actors of one schedule."""

    def __init__(self, stage: Stage, seed: int, *, tracing: bool = False) -> None:
        self.stage, self.seed, self.weather = stage, seed, Weather.of(seed)
        self.scheduler = Scheduler(seed, self.weather.odds, tracing=tracing)
        self.random = Random(f"plan {seed}")
        self.broker = Broker(self.scheduler, self.weather.losses, sent=self._sent)
        self.promised: set[tuple[str, int, str]] = set()
        self.messages: list[str] = []
        self.logged = _Logged(self.scheduler)
        self.is_over = self.is_down = self.was_restored = False
        self.serial = 0

    def play(self) -> Outcome:
        stage, scheduler = self.stage, self.scheduler
        stage.set_up()
        stage.database.begin(scheduler)
        self.watch = Watch(scheduler, stage.database.look, stage.disk.files)
        self.watch.comes_again = self._comes_again
        self.watch.restored()
        stage.database.observed = self.watch.committed
        self._cast()
        with surrounded(scheduler, self.broker, stage.disk, self.watch.look_at_ledgers):
            with self.logged.listening():
                scheduler.play()
            scheduler.current = None
            if not scheduler.violations:
                self._look_back()
        trace = scheduler.trace or []
        return Outcome(
            self.seed, scheduler.violations, scheduler.fingerprint, scheduler.steps, trace
        )

    def _look_back(self) -> None:
        wrapper = self.stage.database.connect()
        raw = [text for wrong in WRONG for text in (f"{wrong / 80:.4f}", f"{1 - wrong / 80:.4f}")]
        seen = Seen(
            self.promised,
            self.messages,
            self.logged.lines,
            raw,
            self.was_restored,
            self.watch.losses,
        )
        for violation in at_the_end(seen):
            self.scheduler.find(violation)
        wrapper.close()

    # --- The cast ---------------------------------------------------------------------------------

    def _cast(self) -> None:
        for name in TEAMS:
            for tab in "12" if name == TEAMS[0] else "1":
                self._start_browser(f"{name} {tab}", name, self._plan(2))
        for name in LATE:
            self._start_browser(name, name, self._plan(1), joins=True)
        for number in (1, 2):
            self._start_worker(f"worker {number}", lambda message: message.task != SWEEP)
        self._start_worker("sweeper", lambda message: message.task == SWEEP)
        self.scheduler.start("beat", self._beat)
        self._start_organizer()
        if self.weather.restore:
            self.scheduler.start("operator", self._restore)

    def _plan(self, files: int) -> deque[tuple[datetime, int]]:
        """Return what somebody uploads and when: at the start, or at the last moment."""
        moments = []
        for _ in range(files):
            if self.random.random() < 0.5:
                moments.append(START + timedelta(seconds=self.random.choice((1, 1, 70, 100))))
            else:
                moments.append(CLOSES - timedelta(seconds=self.random.uniform(-0.1, 0.4)))
        return deque((moment, self.random.choice(WRONG)) for moment in sorted(moments))

    def _start_browser(
        self, name: str, user: str, plan: deque[tuple[datetime, int]], *, joins: bool = False
    ) -> None:
        """A person, whose web process may die: then they try again."""

        def run() -> None:
            if joins:
                self._until_answered(lambda: self._join(user))
            while plan:
                at, wrong = plan[0]
                if at > self.scheduler.now:
                    self.scheduler.sleep((at - self.scheduler.now).total_seconds())
                self._until_answered(partial(self._upload, user, wrong))
                plan.popleft()
            self._until_answered(lambda: self._select(user))

        def again() -> None:
            if not self.scheduler.violations:
                self._start_browser(name, user, plan, joins=joins)

        self.scheduler.start(name, run, may_die=True, died=again)

    def _until_answered(self, act: Callable[[], None]) -> None:
        while True:
            self.scheduler.wait(lambda: not self.is_down)
            try:
                return act()
            except AWAY as error:
                if self.weather.is_fair:
                    self.scheduler.find(f"Somebody is turned away: {error}")
            self.scheduler.sleep(2, "tries again in")

    def _join(self, user: str) -> None:
        person = User.objects.get(username=user)
        for name in ("the late", f"team {user}"):
            try:
                membership.join(
                    competition=self.stage.competition,
                    user=person,
                    accept_rules=True,
                    team_name=name,
                )
                return
            except Refused as refused:
                self.scheduler.note(f"refused: {refused.code}")

    def _upload(self, user: str, wrong: int) -> None:
        team = Team.objects.filter(captain__username=user).select_related("competition").first()
        if team is None:
            return
        content = ContentFile(file(wrong), name="predictions.csv")
        try:
            made = intake.submit(team=team, user=User.objects.get(username=user), upload=content)
        except Refused as refused:
            self.scheduler.note(f"refused: {refused.code}")
            if refused.code in ("unavailable", "paused"):
                raise OperationalError from refused
        else:
            self.promised.add((team.uid, made.number, made.sha256))

    def _select(self, user: str) -> None:
        team = Team.objects.filter(captain__username=user).first()
        if team is None:
            return
        answered = Submission.objects.filter(team=team, status=Status.RELEASED).values_list(
            "number", flat=True
        )
        with suppress(Refused):
            selection.select(
                team=team, user=User.objects.get(username=user), numbers=list(answered)[:1]
            )

    # --- Workers ----------------------------------------------------------------------------------

    def _start_worker(self, name: str, wanted: Callable[[Message], bool]) -> None:
        held: list[Message] = []

        def run() -> None:
            while True:
                self.scheduler.wait(lambda: self._has_work(wanted))
                message = self.broker.next(wanted)
                if message is None:
                    return
                held[:] = [message]
                self.broker.take(message)
                self._run(message)
                self.broker.acknowledge(message)
                held.clear()

        def died() -> None:
            at_once = not (self.weather.whole_workers or self.is_down)
            for message in held:
                self._note_death(process, at_once=at_once)
                self.broker.give_back(message, at_once=at_once)
            if not self.scheduler.violations and not self.is_over:
                self._start_worker(name, wanted)

        process = self.scheduler.start(name, run, may_die=True, died=died)

    def _has_work(self, wanted: Callable[[Message], bool]) -> bool:
        return not self.is_down and (self.is_over or self.broker.next(wanted) is not None)

    def _run(self, message: Message) -> None:
        self.serial += 1
        me = self.scheduler.current
        assert me is not None
        name = message.task.rpartition(".")[2]
        me.task = f"{name} {message.ids or ''} {self.serial}"
        self.scheduler.note(f"begins {name} {message.ids or ''}")
        task = current_app.tasks[message.task]
        task.push_request(
            id=message.id,
            args=(),
            kwargs=message.ids,
            delivery_info={"redelivered": message.redelivered, "routing_key": message.queue},
        )
        try:
            task.run(**message.ids)
        except Broken as broken:
            if not self.weather.odds.outage:
                self.scheduler.find(f"{name} ended: {broken}")
        finally:
            task.pop_request()
            me.task = ""

    def _note_death(self, process: Process, *, at_once: bool) -> None:
        """A child's message comes again: its file must not wait for the sweeper."""
        held = {key for key, each in self.watch.holders.items() if each.process is process}
        if at_once and self.broker.is_reliable and not self.weather.odds.stall:
            self.watch.to_come_again |= held

    def _comes_again(self) -> bool:
        return any(each.redelivered for each in self.broker.messages)

    def _sent(self, message: Message) -> None:
        self.messages.append(f"{message.task} {message.ids}")
        key = message.ids.get("submission_id")
        found = "SELECT count(*) FROM leaderboard_submission WHERE id = ?"
        if key is not None and self.stage.database.look(found, key) == [(0,)]:
            self.scheduler.find(f"Submission {key} was sent to workers before it was committed.")

    def _beat(self) -> None:
        while not self.is_over:
            self.scheduler.wait(lambda: not self.is_down)
            with suppress(Exception):
                tasks.sweep.delay()
            self.scheduler.sleep(SWEEP_SECONDS)

    # --- Organizer and operator -------------------------------------------------------------------

    def _round(self) -> Round:
        return Round.objects.select_related("competition", "ledger").get(competition__slug=SLUG)

    def _start_organizer(self) -> None:
        def again() -> None:
            if not (self.scheduler.violations or self.is_over):
                self._start_organizer()

        self.scheduler.start("organizer", self._organize, may_die=True, died=again)

    def _organize(self) -> None:
        self.scheduler.sleep(
            max(0.1, BEFORE_CLOSING.total_seconds() - 0.2 - self.scheduler.seconds)
        )
        for tries in range(100):
            self.scheduler.wait(lambda: not self.is_down)
            with suppress(*AWAY, WatermarkAway):
                self.is_over = self._end(accept_failed=tries > 20)
            if self.is_over:
                return
            # At first in a hurry, to meet the last uploads.
            self.scheduler.sleep(0.1 if tries < 4 else 60)
        self.scheduler.find("The finals never come.")

    def _end(self, *, accept_failed: bool) -> bool:
        """Go on towards the final board; return whether it is shown."""
        round = self._round()
        try:
            if round.finals_started_at is None:
                finalize.start_finals(round, accept_failed=accept_failed)
            elif round.finals_scored_at is not None:
                finalize.reveal(round)
                return True
            elif self.was_restored and not selection.entered(round).exists():
                return True  # the files of all entries were lost with the database
        except Refused as refused:
            self.scheduler.note(f"refused: {refused.code}")
            if refused.code == "nothing_to_score":
                return True  # all files were rejected, or lost with a database
            if refused.code == "submissions_failed":
                with suppress(Refused):
                    queue.requeue_failed(Submission.objects.filter(round=round))
        return False

    def _restore(self) -> None:
        """Bring back an older database, and repair what it lacks."""
        backup = self.stage.directory / "backup.sqlite3"
        lasts = self.random.choice((100, 179, 185, 300))
        self.scheduler.sleep(self.random.uniform(0.5, lasts))
        self.stage.database.save(backup)
        self.scheduler.note("backup")
        self.scheduler.sleep(self.random.uniform(1, 300))
        if self.is_over:
            return
        self._stop_everything()
        ledger = b"".join(queries.ledger_lines(self.stage.ledger)).splitlines(keepends=True)
        self.stage.database.leave_all()
        self.stage.database.load(backup)
        self.scheduler.note("restored")
        if self.random.random() < 0.5:
            self.broker.forget_everything()
        self._note_restored()
        tasks.look_for_rewinds_at_start.run()
        if self.random.random() < 0.5:
            self.is_down = False
            self.scheduler.sleep(self.random.uniform(1, 200))
        self._repair(ledger)
        self.is_down = False

    def _stop_everything(self) -> None:
        """Kill web and workers; whoever comes again waits."""
        self.is_down = True
        working = [each for each in self.scheduler.processes if each.may_die and not each.ended]
        for each in working:
            each.condemned = True
        self.scheduler.wait(lambda: all(each.ended for each in working))

    def _note_restored(self) -> None:
        self.was_restored = self.watch.was_restored = True
        self.watch.restored()
        known = set(Submission.objects.values_list("team__uid", "number", "sha256"))
        self.promised &= known

    def _repair(self, ledger: list[bytes]) -> None:
        self.watch.is_repairing = True
        for _ in range(5):
            situation = rewinds.look(self._round())
            if not situation.problem:
                break
            try:
                if situation.end_undone:
                    rewinds.end_again(self._round())
                elif self.random.random() < 0.7:
                    rewinds.replay(self._round(), ledger)
                else:
                    rewinds.give_up(self._round())
            except Refused as refused:
                self.scheduler.note(f"refused: {refused.code}")
        else:
            self.scheduler.find("The ledger can't be repaired.")
        self.scheduler.note("repaired")
        self.watch.is_repairing = False
        self.watch.restored()


class _Logged(logging.Handler):
    """All that the product logs."""

    def __init__(self, scheduler: Scheduler) -> None:
        super().__init__()
        self.scheduler = scheduler
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())
        self.scheduler.note(f'"{self.lines[-1]}"')

    def listening(self) -> _Listening:
        return _Listening(self)


class _Listening:
    def __init__(self, handler: _Logged) -> None:
        self._handler, self._logger = handler, logging.getLogger("leaderboard")

    def __enter__(self) -> None:
        self._before = self._logger.handlers, self._logger.propagate, self._logger.level
        self._logger.handlers, self._logger.propagate = [self._handler], False

    def __exit__(self, *_: object) -> None:
        self._logger.handlers, self._logger.propagate, self._logger.level = self._before


def play(stage: Stage, seed: int, *, tracing: bool = False) -> Outcome:
    """Play one seed."""
    outcomes: list[Outcome] = []
    world = World(stage, seed, tracing=tracing)
    in_thread(lambda: outcomes.append(world.play()))
    return outcomes[0]
