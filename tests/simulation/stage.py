"""The stage that every schedule begins on: a competition with a small budget, and two teams."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from unittest.mock import patch

from django.apps import apps
from django.conf import settings
from django.core.cache import cache
from django.core.management import call_command
from django.db import connections

from leaderboard.models import Competition, Ledger
from leaderboard.participate import membership
from leaderboard.vault import keys
from tests.cast import CHECKED_ROWS, make_checked, make_user, predictions, set_round
from tests.simulation.database import Database, in_thread
from tests.simulation.scheduler import START
from tests.simulation.surroundings import Disk, disk
from tests.snapshots import chance

SLUG = "checked"
CLOSES = START + timedelta(minutes=3)
DAILY_LIMIT = 2
TEAMS = ("alice", "bob")
LATE = ("carol", "dave")
# What a worker is given up for; few attempts, so that schedules get there.
RULES = {"MAX_ATTEMPTS": 3, "LEASE_SECONDS": 240.0, "REQUEUE_SECONDS": 60.0}
BAD = b"id,label\nr0,9\n"


def file(wrong: int) -> bytes:
    """Return a file with so many rows wrong, the last ones; -1 is one that is rejected."""
    return BAD if wrong < 0 else predictions(range(CHECKED_ROWS - wrong, CHECKED_ROWS), 100)


@dataclass
class Stage:
    """Database, files and watermarks, as they are again at the beginning of each schedule."""

    directory: Path
    database: Database
    disk: Disk
    files: dict[str, bytes]

    def set_up(self) -> None:
        """Begin anew."""
        self.disk.files = dict(self.files)
        here = self.directory / "watermark"
        shutil.rmtree(here, ignore_errors=True)
        kept = self.directory / "watermark-kept"
        if kept.exists():
            shutil.copytree(kept, here)

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
        stored = stack.enter_context(disk(directory))
        database = Database(directory)
        in_thread(partial(_build, database))
        made = Stage(directory, database, stored, dict(stored.files))
        if (directory / "watermark").exists():
            shutil.copytree(directory / "watermark", directory / "watermark-kept")
        yield made


def _build(database: Database) -> None:
    database.connect()
    cache.clear()
    chance.seed(0)
    _make_keys()
    without = {each.label: None for each in apps.get_app_configs()}
    with patch.object(settings, "MIGRATION_MODULES", without):
        call_command("migrate", run_syncdb=True, verbosity=0)
    with patch("secrets.token_bytes", chance.randbytes):
        organizer = make_user("organizer", is_organizer=True)
        competition = make_checked(SLUG, organizer)
        set_round(competition, closes_at=CLOSES, daily_limit=DAILY_LIMIT)
        for name in (*TEAMS, *LATE):
            user = make_user(name)
            if name in TEAMS:
                membership.join(
                    competition=competition, user=user, accept_rules=True, team_name=name
                )
    connections["default"].close()
    database.keep_as_template()


def _make_keys() -> None:
    private = settings.VAR_DIR / "vault" / "private.key"
    if not private.exists():
        keys.generate(settings.VAULT_PUBLIC_KEY_FILE, private)
    settings.VAULT_PRIVATE_KEY_FILE = str(private)
