"""Where schedules begin: competitions that have just opened, or have answers already."""

from __future__ import annotations

import gc
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

from django.apps import apps
from django.conf import settings
from django.core.cache import cache
from django.core.management import call_command
from django.db import connections

from leaderboard.log import keys as log_keys
from leaderboard.models import Competition, Ledger, Team, User
from leaderboard.organize.gates import NewGate, make_gate
from leaderboard.participate import membership
from leaderboard.pipeline import intake
from leaderboard.tasks import score_submission, sweep
from leaderboard.vault import keys
from tests.cast import (
    CLASSES,
    THRESHOLDOUT,
    make_competition,
    make_user,
    predictions,
    set_round,
    truth,
    upload,
)
from tests.simulation.database import Database, in_thread
from tests.simulation.scheduler import START
from tests.simulation.surroundings import Disk, disk
from tests.snapshots import chance

SLUG = "checked"
CLOSES = START + timedelta(minutes=3)
# Early enough that nothing from then takes a unit of the day that schedules are played on.
BUILT = START - timedelta(hours=12)
DAILY_LIMIT = 2
TEAMS = ("alice", "bob")
LATE = ("carol", "dave")
GATE = "ci"
# What a worker is given up for; few attempts, so that schedules get there.
RULES = {"MAX_ATTEMPTS": 3, "LEASE_SECONDS": 240.0, "REQUEUE_SECONDS": 60.0}
GUARD = {"steps": "25", "budget": "20", "team_share": "5", "confidence": "0.95"}
PUBLIC_ROWS, PRIVATE_ROWS = 20, 83  # a prime: no score that is shown looks like a raw one
ROWS = PUBLIC_ROWS + PRIVATE_ROWS
WRONG = (17, 33, 54)  # so many Private rows
RELABELLED = ROWS - 40
BAD = b"id,label\nr0,9\n"


def file(wrong: int) -> bytes:
    """Return a file with so many Private rows wrong, and as large a part of the Public ones.

    -1 is one that is rejected.
    """
    if wrong < 0:
        return BAD
    public = wrong * PUBLIC_ROWS // PRIVATE_ROWS
    rows = [*range(public), *range(ROWS - wrong, ROWS)]
    return predictions(rows, ROWS)


def solution(*, moved: bool = False) -> bytes:
    """Return a revised solution, with one row relabelled; `moved`: and a Public row held back."""
    public = PUBLIC_ROWS - moved
    labels = [CLASSES[(row + 1) % 4] if row == RELABELLED else truth(row) for row in range(ROWS)]
    lines = [
        f"r{row},{label},{'Public' if row < public else 'Private'}"
        for row, label in enumerate(labels)
    ]
    return ("id,label,Usage\n" + "\n".join(lines) + "\n").encode()


def raw_scores() -> Iterator[str]:
    """Yield the exact scores of all files, on both solutions, as they would be written."""
    for wrong in WRONG:
        for rows in (wrong, wrong + (-1 if wrong > ROWS - RELABELLED else 1)):
            yield from (str(rows / PRIVATE_ROWS), str(1 - rows / PRIVATE_ROWS))


@dataclass(frozen=True)
class Beginning:
    """Database and files of a competition. `answered`: each team has an answer."""

    mechanism: str
    answered: bool
    database: Path
    watermarks: Path
    files: dict[str, bytes]


@dataclass
class Stage:
    """The beginnings, and the place where schedules are played."""

    directory: Path
    database: Database
    disk: Disk
    beginnings: list[Beginning] = field(default_factory=list)

    def set_up(self, beginning: Beginning) -> None:
        """Begin anew."""
        self.disk.files.clear()
        self.disk.files.update(beginning.files)
        self.database.template = beginning.database
        here = self.directory / "watermark"
        shutil.rmtree(here, ignore_errors=True)
        shutil.copytree(beginning.watermarks, here)

    def keep(self, mechanism: str, *, answered: bool) -> None:
        """Let schedules begin with what is there now."""
        connections["default"].close()
        name = f"{mechanism}-{answered}"
        path, watermarks = self.directory / f"{name}.sqlite3", self.directory / name
        self.database.save(path)
        (self.directory / "watermark").mkdir(exist_ok=True)
        shutil.copytree(self.directory / "watermark", watermarks)
        files = dict(self.disk.files)
        self.beginnings.append(Beginning(mechanism, answered, path, watermarks, files))

    @property
    def competition(self) -> Competition:
        return Competition.objects.get(slug=SLUG)

    @property
    def ledger(self) -> Ledger:
        return Ledger.objects.get(competition__slug=SLUG)


@contextmanager
def stage() -> Iterator[Stage]:
    """Build it once for many schedules, in memory where the system has such a folder."""
    memory = Path("/dev/shm")  # noqa: S108  (a place, no file: that has a name of its own)
    with ExitStack() as stack:
        place = tempfile.TemporaryDirectory(
            prefix="holdfast-simulation-", dir=memory if memory.is_dir() else None
        )
        directory = Path(stack.enter_context(place))
        for name, value in RULES.items():
            stack.enter_context(patch.object(settings, name, value))
        made = Stage(directory, Database(directory), stack.enter_context(disk(directory, BUILT)))
        in_thread(partial(_build, made))
        stack.enter_context(_rarely_collecting())
        yield made


@contextmanager
def _rarely_collecting() -> Iterator[None]:
    """Collect garbage after each schedule, not in the middle: a tenth of the time went there."""
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.unfreeze()


def _build(stage: Stage) -> None:
    stage.database.connect()
    _make_keys()
    without = {each.label: None for each in apps.get_app_configs()}
    with patch.object(settings, "MIGRATION_MODULES", without):
        call_command("migrate", run_syncdb=True, verbosity=0)
    connections["default"].close()
    empty = stage.directory / "empty.sqlite3"
    stage.database.save(empty)
    for mechanism in ("thresholdout", "guard"):
        stage.disk.files.clear()
        shutil.rmtree(stage.directory / "watermark", ignore_errors=True)
        stage.database.load(empty)
        cache.clear()
        chance.seed(0)
        with (
            patch("secrets.token_bytes", chance.randbytes),
            patch("os.urandom", chance.randbytes),
            patch("leaderboard.tasks._sweep_outbox"),
            patch("celery.Celery.send_task"),
        ):
            _open(mechanism)
            stage.keep(mechanism, answered=False)
            for name, wrong in zip(TEAMS, (54, 33), strict=True):
                _answer(name, wrong)
            sweep()
            stage.keep(mechanism, answered=True)


def _open(mechanism: str) -> None:
    organizer = make_user("organizer", is_organizer=True)
    sizes: dict[str, Any] = {"rows": ROWS, "public": PUBLIC_ROWS}
    if mechanism == "guard":
        given: dict[str, Any] = {"mechanism_parameters": GUARD, "gate_limit": 6}
        competition = make_competition(SLUG, organizer, mechanism="guard", **sizes, **given)
        new = NewGate(GATE, "mark", mark=0.7)
        make_gate(competition.current_round.board, new, by=organizer)
    else:
        given = {"mechanism_parameters": THRESHOLDOUT}
        competition = make_competition(SLUG, organizer, mechanism="thresholdout", **sizes, **given)
    set_round(competition, closes_at=CLOSES, daily_limit=DAILY_LIMIT)
    for name in (*TEAMS, *LATE):
        user = make_user(name)
        if name in TEAMS:
            membership.join(competition=competition, user=user, accept_rules=True, team_name=name)


def _answer(name: str, wrong: int) -> None:
    team, user = Team.objects.get(name=name), User.objects.get(username=name)
    made = intake.submit(team=team, user=user, upload=upload(file(wrong)))
    score_submission(submission_id=made.pk)


def _make_keys() -> None:
    private = settings.VAR_DIR / "vault" / "private.key"
    if not private.exists():
        keys.generate(settings.VAULT_PUBLIC_KEY_FILE, private)
    settings.VAULT_PRIVATE_KEY_FILE = str(private)
    log_key = private.with_name("log.key")
    if not log_key.exists():
        log_keys.generate(log_key)
    settings.LOG_KEY_FILE = str(log_key)
