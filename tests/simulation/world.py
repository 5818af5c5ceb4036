"""One schedule: people upload, workers score, things break, and the organizer ends it."""

from __future__ import annotations

import gc
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
from leaderboard.ledger import recovery, rewinds
from leaderboard.ledger.watermark import WatermarkAway
from leaderboard.log import journal
from leaderboard.models import Rescore, Round, Submission, Team, User
from leaderboard.organize.revisions import revise_solution
from leaderboard.organize.sanctions import sanction_team
from leaderboard.participate import membership, selection
from leaderboard.pipeline import finalize, intake, publish, queue
from leaderboard.platform.logs import Broken
from tests.simulation.database import in_thread
from tests.simulation.invariants import Promise, Seen, Watch, at_the_end, journaled
from tests.simulation.scheduler import Odds, Process, Scheduler
from tests.simulation.stage import (
    CLOSES,
    GATE,
    LATE,
    SLUG,
    TEAMS,
    WRONG,
    Beginning,
    Stage,
    file,
    raw_scores,
    solution,
)
from tests.simulation.surroundings import Broker, Losses, Message, surrounded

# What the organizer does: given how often it was tried, return whether it is done.
Act = Callable[[int], bool]
AWAY = (OperationalError, InterfaceError, WatermarkAway, journal.JournalAway)
SWEEP = "leaderboard.tasks.sweep"
SWEEP_SECONDS = 60
LONGEST_BEAT = 480
MOST_SWEEPS = 100


@dataclass(frozen=True)
class Weather:
    """Which things go wrong in a schedule: all of them, some, or none."""

    odds: Odds
    losses: Losses
    whole_workers: bool
    sweeps_anywhere: bool
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

        if random.random() < 0.15:  # children die, and nothing else goes wrong
            odds = Odds(switch=random.choice((0.1, 0.4)), kill=0.01)
            return cls(odds, Losses(), whole_workers=False, sweeps_anywhere=False, restore=False)
        return cls(
            Odds(
                switch=random.choice((0.02, 0.1, 0.4)),
                kill=perhaps(0.002, 0.01),
                stall=perhaps(0.003),
                outage=perhaps(0.003),
            ),
            Losses(perhaps(0.3), perhaps(0.3), perhaps(0.3), perhaps(0.1)),
            whole_workers=random.random() < 0.5,
            sweeps_anywhere=random.random() < 0.2,
            restore=random.random() < 0.2,
        )


@dataclass(frozen=True)
class Plot:
    """What a schedule begins with, and who does what in it."""

    beginning: Beginning
    starts: datetime
    uploads: dict[str, list[tuple[datetime, int, str]]]
    joining: tuple[str, ...]
    selecting: bool
    merges: bool
    revisions: tuple[bool, ...]
    disqualifies: bool
    ends: bool
    publishes: bool

    @classmethod
    def of(cls, seed: int, beginnings: list[Beginning]) -> Plot:
        random = Random(f"plot {seed}")
        beginning = random.choice(beginnings)
        ends = random.random() < 0.5
        starts = CLOSES - timedelta(seconds=random.choice((1, 1, 20)) if ends else 60)
        gates = ("", GATE) if beginning.mechanism == "guard" else ("",)

        def upload() -> tuple[datetime, int, str]:
            at = starts + timedelta(seconds=random.choice((0, 0, 0, 1)))
            if ends and random.random() < 0.6:
                at = CLOSES - timedelta(seconds=random.uniform(-0.1, 0.5))
            return at, random.choice((*WRONG, WRONG[0], -1)), random.choice(gates)

        names = [*TEAMS, f"{TEAMS[0]} again"][: random.choice((1, 2, 3))]
        uploads = {name: [upload() for _ in range(random.choice((1, 1, 1, 2)))] for name in names}
        joining = random.choice(((), (), (), LATE[:1], LATE))
        uploads |= {name: [upload()] for name in joining[:1]}
        selecting = ends or random.random() < 0.2
        merges = random.random() < 0.15
        revisions = random.choice(((), (), (), (), (False,), (True, False)))
        return cls(
            beginning,
            starts,
            uploads,
            joining,
            selecting=selecting,
            merges=merges and not revisions,
            revisions=revisions,
            disqualifies=random.random() < 0.15,
            ends=ends,
            publishes=ends and random.random() < 0.5,
        )


@dataclass
class Outcome:
    """What came of a seed."""

    seed: int
    violations: list[str]
    fingerprint: str
    steps: int
    broken: str
    trace: list[str] = field(default_factory=list)


class World:
    """The actors of one schedule."""

    def __init__(self, stage: Stage, seed: int, *, tracing: bool = False) -> None:
        self.stage, self.seed, self.weather = stage, seed, Weather.of(seed)
        self.plot = Plot.of(seed, stage.beginnings)
        self.scheduler = Scheduler(
            seed, self.weather.odds, starts=self.plot.starts, tracing=tracing
        )
        self.random = Random(f"plan {seed}")
        self.broker = Broker(self.scheduler, self.weather.losses, sent=self._sent)
        self.promised: set[Promise] = set()
        self.messages: list[str] = []
        self.logged = _Logged(self.scheduler)
        self.is_over = self.is_down = self.was_restored = False
        # Who has something left to do; what the database was when a sweep found nothing to do.
        self.busy: set[str] = set()
        self.swept = False
        self.quiet_at = -1
        self.serial = 0
        # What the organizer is to do; what is done is done again where a restore has undone it.
        self.acts, self.done = deque[Act](), list[Act]()

    def play(self) -> Outcome:
        stage, scheduler = self.stage, self.scheduler
        stage.set_up(self.plot.beginning)
        stage.database.begin(scheduler)
        self.watch = Watch(scheduler, stage.database, stage.disk.files)
        self.watch.comes_again = self._comes_again
        self.watch.may_score_again = bool(self.plot.revisions)
        self.watch.restored()
        self.quiet_at = self.watch.version
        stage.database.observed = self.watch.committed
        self._cast()
        written, swept = self.watch.look_at_ledgers, self._note_swept
        with surrounded(scheduler, self.broker, stage.disk, written, swept):
            with self.logged.listening():
                scheduler.play()
            scheduler.current = None
            if not scheduler.violations:
                self._look_back()
        gc.collect()
        trace, broken = scheduler.trace or [], ""
        if scheduler.violations:
            again = f"python -m tests.simulation --seed {self.seed}"
            broken = f"Seed {self.seed}: {scheduler.violations[0]} Play it again: {again}"
        return Outcome(
            self.seed,
            scheduler.violations,
            scheduler.fingerprint,
            scheduler.steps,
            broken,
            trace,
        )

    def _look_back(self) -> None:
        wrapper = self.stage.database.connect()
        seen = Seen(
            self.promised,
            self.messages,
            self.logged.lines,
            list(raw_scores()),
            self.watch,
            rewritten=self.was_restored or self.plot.merges or bool(self.plot.revisions),
        )
        for violation in at_the_end(seen):
            self.scheduler.find(violation)
        wrapper.close()

    # --- The cast ---------------------------------------------------------------------------------

    def _cast(self) -> None:
        plot = self.plot
        for tab, uploads in plot.uploads.items():
            self._start_browser(tab, deque(sorted(uploads)))
        for name in set(plot.joining) - plot.uploads.keys():
            self._start_browser(name, deque())
        for number in (1, 2):
            self._start_worker(f"worker {number}", self._wanted)
        self._start_worker("sweeper", lambda message: message.task == SWEEP)
        self.scheduler.start("beat", self._beat)
        acts: list[Act] = [partial(self._revise, moved) for moved in plot.revisions]
        acts += [self._merge] * plot.merges + [self._disqualify] * plot.disqualifies
        self.random.shuffle(acts)
        if True in plot.revisions:  # what it pauses has to go on
            acts += [partial(self._revise, False)]
        acts += [self._end] * plot.ends + [self._publish] * plot.publishes
        self.acts.extend(acts)
        if acts:
            self._start_organizer()
        if self.weather.restore:
            self.busy.add("operator")
            self.scheduler.start("operator", self._restore)

    def _wanted(self, message: Message) -> bool:
        """Workers are asked for sweeps as well, where there is more than one that sweeps."""
        return message.task != SWEEP or self.weather.sweeps_anywhere

    def _start_actor(self, name: str, run: Callable[[], None]) -> None:
        """A person, whose web process may die: then they try again."""
        self.busy.add(name)

        def whole() -> None:
            run()
            self.busy.discard(name)

        def again() -> None:
            if not self.scheduler.violations:
                self._start_actor(name, run)

        self.scheduler.start(name, whole, may_die=True, died=again)

    def _start_browser(self, name: str, plan: deque[tuple[datetime, int, str]]) -> None:
        user = name.split(maxsplit=1)[0]

        def run() -> None:
            if user in self.plot.joining:
                self._until_answered(lambda: self._join(user))
            while plan:
                at, wrong, gate = plan[0]
                if at > self.scheduler.now:
                    self.scheduler.sleep((at - self.scheduler.now).total_seconds())
                self._until_answered(partial(self._upload, user, wrong, gate))
                plan.popleft()
            if self.plot.selecting:
                self._until_answered(lambda: self._select(user))

        self._start_actor(name, run)

    def _until_answered(self, act: Callable[[], None]) -> None:
        while True:
            self.scheduler.wait(lambda: not self.is_down)
            try:
                return act()
            except AWAY as error:
                if self.weather.is_fair and True not in self.plot.revisions:
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

    def _team_of(self, user: str) -> Team | None:
        own = Team.objects.filter(memberships__user__username=user)
        return own.select_related("competition").first()

    def _upload(self, user: str, wrong: int, gate: str) -> None:
        team = self._team_of(user)
        if team is None:
            return
        content = ContentFile(file(wrong), name="predictions.csv")
        try:
            made = intake.submit(
                team=team, user=User.objects.get(username=user), upload=content, gate=gate
            )
        except Refused as refused:
            self.scheduler.note(f"refused: {refused.code}")
            if refused.code in ("unavailable", "paused"):
                raise OperationalError from refused
        else:
            self.promised.add(Promise(made.sha256, made.created_at))

    def _select(self, user: str) -> None:
        team = self._team_of(user)
        if team is None:
            return
        answered = Submission.objects.filter(team=team, release__isnull=False).values_list(
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
        before, self.swept = self.watch.version, False
        try:
            task.run(**message.ids)
            if self.swept and before == self.watch.version:
                self.quiet_at = before
        except Broken as broken:
            if not self.weather.odds.outage:
                self.scheduler.find(f"{name} ended: {broken}")
        finally:
            task.pop_request()
            me.task = ""

    def _note_death(self, process: Process, *, at_once: bool) -> None:
        """A child's message comes again: its file must not wait for the sweeper."""
        held = {key for key, each in self.watch.holders.items() if each.process is process}
        odds = self.weather.odds
        # While the database is away, whoever the message comes to again can't claim it either.
        if at_once and self.broker.is_reliable and not (odds.stall or odds.outage):
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
        """Send sweeps as long as one may find something; then everybody goes home."""
        pause = SWEEP_SECONDS
        for _ in range(MOST_SWEEPS):
            self.scheduler.wait(lambda: not self.is_down)
            # Beats may come late: where a sweep changed nothing, the next one takes longer.
            pause = 2 * pause if self._is_quiet() and pause < LONGEST_BEAT else SWEEP_SECONDS
            if not self._is_quiet() or self.watch.is_due():
                with suppress(Exception):
                    tasks.sweep.delay()
            elif not (self.busy or self._are_working()):
                self.is_over = True
                return
            self.scheduler.sleep(pause)
        self.scheduler.find(f"It never ends: {', '.join(sorted(self.busy)) or 'the workers'}.")

    def _are_working(self) -> bool:
        waiting = any(each.task != SWEEP for each in self.broker.messages)
        return waiting or any(each.task and not each.ended for each in self.scheduler.processes)

    def _note_swept(self) -> None:
        self.swept = True

    def _is_quiet(self) -> bool:
        """Return whether the last sweep found nothing to do, and nobody has done anything since."""
        return self.quiet_at == self.watch.version

    # --- Organizer and operator -------------------------------------------------------------------

    def _round(self) -> Round:
        return Round.objects.select_related("competition", "ledger").get(competition__slug=SLUG)

    def _start_organizer(self) -> None:
        """Do one thing after the other, each as often as it takes."""

        def run() -> None:
            while self.acts:
                for tries in range(100):
                    self.scheduler.wait(lambda: not self.is_down)
                    done = False
                    with suppress(*AWAY):
                        done = self.acts[0](tries)
                    if done:
                        break
                    # At first in a hurry, to meet the last uploads.
                    self.scheduler.sleep(0.1 if tries < 2 else 60)
                else:
                    self.scheduler.find("The organizer never gets through.")
                    return
                self.done.append(self.acts.popleft())

        self._start_actor("organizer", run)

    def _revise(self, moved: bool, tries: int) -> bool:
        try:
            revise_solution(
                self._round(),
                ContentFile(solution(moved=moved), name="solution.csv"),
                by=None,
                reason="A row was mislabelled.",
                rescore=self.random.choice((Rescore.BEST, Rescore.ALL, Rescore.NONE)),
            )
        except Refused as refused:
            self.scheduler.note(f"refused: {refused.code}")
            return refused.code in ("finals_started", "nothing_released")
        return True

    def _merge(self, tries: int) -> bool:
        alice, bob = (Team.objects.get(captain__username=each) for each in TEAMS)
        try:
            membership.merge(team=bob, into=alice, by=User.objects.get(username="organizer"))
        except Refused as refused:
            self.scheduler.note(f"refused: {refused.code}")
            return refused.code not in ("paused", "watermark_away")
        return True

    def _disqualify(self, tries: int) -> bool:
        try:
            sanction_team(Team.objects.get(captain__username=TEAMS[1]), "disqualified", "", by=None)
        except Refused as refused:
            self.scheduler.note(f"refused: {refused.code}")
            return refused.code not in ("paused", "watermark_away")
        return True

    def _end(self, tries: int) -> bool:
        """Go on towards the final board; return whether it is shown, or there is none."""
        left = (CLOSES - self.scheduler.now).total_seconds() - 0.2
        if left > 0:
            self.scheduler.sleep(left)
        round = self._round()
        try:
            if round.finals_started_at is None:
                accepted = tries > 20
                finalize.start_finals(round, accept_failed=accepted, accept_lost=accepted)
            elif round.finals_scored_at is not None:
                finalize.reveal(round)
                return True
            elif self.was_restored and not selection.entered(round).exists():
                return True  # the files of all entries were lost with the database
        except Refused as refused:
            self.scheduler.note(f"refused: {refused.code}")
            if refused.code == "nothing_to_score":
                # All files were rejected, or lost with a database, and no other is on its way.
                return self.busy <= {"organizer", "operator"}
            if refused.code == "submissions_failed":
                with suppress(Refused):
                    queue.requeue_failed(Submission.objects.filter(round=round))
        return False

    def _publish(self, tries: int) -> bool:
        try:
            publish.publish(self._round())
        except Refused as refused:
            self.scheduler.note(f"refused: {refused.code}")
            return self._round().revealed_at is None
        return True

    def _restore(self) -> None:
        """Bring back an older database, and repair what it lacks."""
        backup = self.stage.directory / "backup.sqlite3"
        soon = (CLOSES - self.scheduler.now).total_seconds()
        self.scheduler.sleep(self.random.choice((0.1, 0.5, soon, soon + 60)))
        self.stage.database.save(backup)
        self.scheduler.note("backup")
        self.scheduler.sleep(self.random.choice((0.2, 1, soon, 120)))
        self._stop_everything()
        ledger = b"".join(queries.ledger_lines(self.stage.ledger)).splitlines(keepends=True)
        self.stage.database.leave_all()
        self.stage.database.load(backup)
        self.scheduler.note("restored")
        if self.random.random() < 0.5:
            self.broker.forget_everything()
        self._note_restored()
        self.watch.is_repairing = True
        recovery.recover(self.stage.competition)
        self._note_restored()
        self.watch.is_repairing = False
        tasks.look_for_rewinds_at_start.run()
        if self.random.random() < 0.5:
            self.is_down = False
            self.scheduler.sleep(self.random.uniform(1, 200))
        self._repair(ledger)
        self.acts.extendleft(reversed(self.done))
        self.done.clear()
        if self.acts and "organizer" not in self.busy:
            self._start_organizer()
        self.is_down = False
        self.busy.discard("operator")

    def _stop_everything(self) -> None:
        """Kill web and workers; whoever comes again waits."""
        self.is_down = True
        working = [each for each in self.scheduler.processes if each.may_die and not each.ended]
        for each in working:
            each.condemned = True
        self.scheduler.wait(lambda: all(each.ended for each in working))

    def _note_restored(self) -> None:
        """Promised is what the database has, and what the log's copy has."""
        self.was_restored = self.watch.was_restored = True
        self.quiet_at = -1
        self.watch.restored()
        known = {Promise(*row) for row in Submission.objects.values_list("sha256", "created_at")}
        self.promised &= known | set(journaled(self.stage.competition))

    def _repair(self, ledger: list[bytes]) -> None:
        may_replay = self.random.random() < 0.7
        self.watch.is_repairing = True
        for _ in range(5):
            recovery.recover(self.stage.competition)
            situation = rewinds.look(self._round())
            if not situation.problem:
                break
            try:
                if situation.end_undone:
                    rewinds.end_again(self._round())
                elif may_replay:
                    rewinds.replay(self._round(), ledger)
                else:
                    rewinds.give_up(self._round())
            except Refused as refused:
                # A lost revision is written off; what a revealed board rests on is replayed.
                self.scheduler.note(f"refused: {refused.code}")
                may_replay = not may_replay
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
