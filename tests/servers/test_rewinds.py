"""Real databases restored from real backups, and solutions revised while workers answer."""

import json
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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

    def save(self) -> None:
        self.deployment.ask("back_up")

    def load(self) -> None:
        self.deployment.ask("restore")

    def begin(self) -> None:
        self.deployment.start_worker()
        self.deployment.start_beat()

    def end(self) -> None:
        """Kill workers and beat once watermark and journal have what follows the commits."""
        kept, head = self.deployment.directory / "watermark", self.head()
        (watermark,) = (each for each in kept.iterdir() if not each.suffix)
        self.deployment.eventually(
            watermark.read_text, lambda text: f"\n{head['entries']} " in text
        )
        last = f'"index":{head["log_size"] - 1},"opening"'
        self.deployment.eventually(
            lambda: "".join(each.read_text() for each in kept.glob("*.log")),
            lambda text: last in text,
        )
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

    def lose(self, first: int = 21) -> list[bytes]:
        """Releases answers to two files and restores the database before. Returns the ledger."""
        self.save()
        for wrong in ((first,), (first, 22)):
            self.release(*wrong)
        ledger = self.ledger()
        self.end()
        self.load()
        return ledger

    def ledger(self) -> list[bytes]:
        text: str = self.deployment.ask("ledger", competition="digits")
        return [line.encode() for line in text.splitlines(keepends=True)]


@pytest.fixture(scope="module", params=DATABASES)
def site(request: pytest.FixtureRequest, deploy: Deploy) -> Site:
    """An installation with Redis, beat, a worker, a competition, and alice in it, who has an
    answer."""
    if request.param == "postgres":
        site = Site(deploy(request.getfixturevalue("new_database")()))
    else:
        site = Site(deploy())
    site.deployment.start_redis()
    site.begin()
    site.deployment.ask("set_up")
    site.release(20)
    return site


def test_a_restored_database_answers_nobody_until_the_ledger_is_replayed(
    site: Site, tmp_path: Path
) -> None:
    ledger = site.lose()
    site.begin()
    assert site.head()["paused_for"] == "rewound"
    wrong = predictions({8, 9, 10, 11, 23}).decode()
    assert site.deployment.ask("refusal", content=wrong, team="Alice") == "paused"
    kept = tmp_path / "ledger.jsonl"
    kept.write_bytes(b"".join(ledger))
    said = site.deployment.manage("rewind", "digits", "--replay", str(kept))
    assert "Replayed 2 entries." in said
    assert site.deployment.wait_for(site.submit(23), "released")["attempts"] == 1
    assert site.ledger()[1 : len(ledger)] == ledger[1:]
    assert verify(site.ledger()).difference is None


def test_a_backup_and_a_restore_under_load_tear_nothing(site: Site, tmp_path: Path) -> None:
    before = [site.submit(26, 27 + number) for number in range(3)]
    site.save()
    after = [site.submit(27, 28 + number) for number in range(3)]
    for each in (*before, *after):
        site.deployment.wait_for(each, "released")
    ledger = tmp_path / "ledger.jsonl"
    ledger.write_bytes(b"".join(site.ledger()))
    site.load()
    site.deployment.manage("rewind", "digits", "--replay", str(ledger))
    site.release(28, 29)
    assert verify(site.ledger()).difference is None
    assert site.deployment.ask("violations") == []


def test_what_is_given_up_is_spent_and_the_ledger_goes_on(site: Site) -> None:
    before = site.head()
    site.lose(30)
    site.begin()
    assert "Wrote 2 answers off" in site.deployment.manage("rewind", "digits", "--give-up")
    site.release(24)
    site.deployment.eventually(lambda: site.deployment.ask("unfinished"), lambda left: left == 0)
    after = site.head()
    # Two lost answers, two more to the same files, which lay in the storage still, and the one that
    # followed; in the ledger the note of the write-off besides.
    assert after["asked"] == before["asked"] + 5
    assert after["entries"] == before["entries"] + 6
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
    lost = site.deployment.ask("lost", team="Alice")
    every = range(1, site.deployment.ask("sent", team="Alice") + 1)
    assert numbers == [each for each in every if each not in lost]
