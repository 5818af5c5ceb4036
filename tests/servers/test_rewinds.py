"""Real databases restored from real backups, and solutions revised while workers answer."""

import json
import shutil
import signal
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import psycopg
import pytest

from scoring.verification.run import verify
from tests.cast import predictions
from tests.servers.conftest import Deploy
from tests.servers.deployment import Deployment

DATABASES = ["sqlite", "postgres"]


@dataclass
class Site:
    """An installation whose database can be saved while it runs, and restored when it does not."""

    deployment: Deployment
    save: Callable[[], None]
    load: Callable[[], None]

    def begin(self) -> None:
        self.deployment.start_worker()
        self.deployment.start_beat()

    def end(self) -> None:
        """Kill workers and beat once the watermark has its line, which follows the commit."""
        (file,) = (self.deployment.directory / "watermark").iterdir()
        entries = self.head()["entries"]
        self.deployment.eventually(file.read_text, lambda text: f"\n{entries} " in text)
        for name in ("worker", "beat"):
            self.deployment.stop(name, signal.SIGKILL)
        self.deployment.leave_stage()

    def head(self) -> dict[str, Any]:
        head: dict[str, Any] = self.deployment.ask("head", competition="digits")
        return head

    def submit(self, *wrong: int) -> int:
        content = predictions({8, 9, 10, 11, *wrong}).decode()
        key: int = self.deployment.ask("submit", content=content)
        return key

    def release(self, *wrong: int) -> None:
        self.deployment.wait_for(self.submit(*wrong), "released")

    def lose(self) -> list[bytes]:
        """Releases two answers and restores the database from before. Returns the ledger."""
        self.save()
        for wrong in ((21,), (21, 22)):
            self.release(*wrong)
        ledger = self.ledger()
        self.end()
        self.load()
        return ledger

    def ledger(self) -> list[bytes]:
        text: str = self.deployment.ask("ledger", competition="digits")
        return [line.encode() for line in text.splitlines(keepends=True)]

    def wait_until_paused(self) -> None:
        self.deployment.eventually(self.head, lambda head: bool(head["paused_for"] == "rewound"))


@pytest.fixture(scope="module", params=DATABASES)
def site(request: pytest.FixtureRequest, deploy: Deploy) -> Site:
    """An installation with Redis, beat, a worker, a competition, and alice in it, who has an
    answer."""
    if request.param == "postgres":
        url = request.getfixturevalue("new_database")()
        deployment = deploy(url)
        site = Site(deployment, *_postgres(url, deployment.directory / "backup.sql"))
    else:
        deployment = deploy()
        site = Site(deployment, *_sqlite(deployment.directory))
    deployment.start_redis()
    site.begin()
    deployment.ask("set_up")
    site.release(20)
    return site


SaveAndLoad = tuple[Callable[[], None], Callable[[], None]]


def _sqlite(directory: Path) -> SaveAndLoad:
    live, backup = directory / "db.sqlite3", directory / "backup.sqlite3"

    def save() -> None:
        backup.unlink(missing_ok=True)
        with closing(sqlite3.connect(live)) as connection:
            connection.execute("VACUUM INTO ?", [str(backup)])

    def load() -> None:
        for suffix in ("", "-wal", "-shm"):
            Path(f"{live}{suffix}").unlink(missing_ok=True)
        shutil.copy(backup, live)

    return save, load


def _postgres(url: str, backup: Path) -> SaveAndLoad:
    from pgserver._commands import POSTGRES_BIN_PATH

    parts = urlsplit(url)
    host, name = unquote(parts.netloc.rpartition("@")[2]), parts.path.strip("/")

    def run(program: str, *arguments: str) -> None:
        command = [str(POSTGRES_BIN_PATH / program), "--host", host, "--username", "postgres"]
        subprocess.run([*command, *arguments], check=True, capture_output=True)

    def save() -> None:
        run("pg_dump", "--file", str(backup), name)

    def load() -> None:
        with psycopg.connect(host=host, user="postgres", autocommit=True) as connection:
            connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)')
            connection.execute(f'CREATE DATABASE "{name}"')
        run("psql", "--quiet", "--dbname", name, "--file", str(backup))

    return save, load


def test_a_restored_database_answers_nobody_until_the_ledger_is_replayed(
    site: Site, tmp_path: Path
) -> None:
    ledger = site.lose()
    waiting = site.submit(23)
    site.begin()
    site.wait_until_paused()
    assert site.deployment.ask("seen", submission=waiting)["releases"] == 0
    kept = tmp_path / "ledger.jsonl"
    kept.write_bytes(b"".join(ledger))
    said = site.deployment.manage("rewind", "digits", "--replay", str(kept))
    assert "Replayed 2 entries." in said
    assert site.deployment.wait_for(waiting, "released")["attempts"] == 1
    assert site.ledger()[1 : len(ledger)] == ledger[1:]
    assert verify(site.ledger()).difference is None


def test_what_is_given_up_is_spent_and_the_ledger_goes_on(site: Site) -> None:
    before = site.head()
    site.lose()
    waiting = site.submit(24)
    site.begin()
    site.wait_until_paused()
    assert "Wrote 2 answers off" in site.deployment.manage("rewind", "digits", "--give-up")
    site.deployment.wait_for(waiting, "released")
    after = site.head()
    # Two lost answers, the one that waited, and in the ledger the note of the write-off.
    assert after["asked"] == before["asked"] + 3
    assert after["entries"] == before["entries"] + 4
    assert verify(site.ledger()).difference is None


def test_a_revision_in_the_middle_of_releases_loses_and_doubles_none(site: Site) -> None:
    site.end()
    submissions = [site.submit(21, 25 + number) for number in range(4)]
    said = site.deployment.ask("race_a_revision", submissions=submissions, competition="digits")
    assert said[-1] == "version 2"
    assert set(said[:-1]) <= {"released", "queued"}
    site.begin()
    site.deployment.eventually(lambda: site.deployment.ask("unfinished"), lambda left: left == 0)
    assert verify(site.ledger()).difference is None
    entries = [json.loads(line) for line in site.ledger()]
    second = next(place for place, entry in enumerate(entries) if entry.get("version") == 2)
    numbers = [entry["submission"] for entry in entries[second + 2 :]]
    every = range(1, site.deployment.ask("sent", team="Alice") + 1)
    # The files of 2 and 3 are lost where this installation was restored before, and replayed.
    assert numbers in ([*every], [each for each in every if each not in {2, 3}])
