"""Kills at random, for as long as you like, and says what was killed where and what broke.

    python -m benchmarks.crashes [--rounds 200] [--seed 1] [--database sqlite|postgres]

A round uploads some files (two teams, two mechanisms, now and then the same file again), kills
somebody meanwhile, waits until everything has ended, and checks the invariants. Ends with 1 if one
was broken. Rounds follow from the seed; what the machine makes of them doesn't.
"""

import argparse
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
import django

django.setup()

# Django has to be set up before the cast can be imported.
from tests.cast import CHECKED_ROWS, ROWS, predictions  # noqa: E402
from tests.servers.deployment import Deployment  # noqa: E402
from tests.servers.doom import INTAKE, SWEEP, WORKER  # noqa: E402
from tests.servers.postgres import PostgresServer, make_database  # noqa: E402

HASTE = {"LEASE_SECONDS": "2", "REQUEUE_SECONDS": "2", "SWEEP_SECONDS": "0.5", "MAX_ATTEMPTS": "99"}


@dataclass
class Campaign:
    """A site, a source of chance, and the tally."""

    site: Deployment
    chance: random.Random
    postgres: PostgresServer | None
    runs: Counter[str] = field(default_factory=Counter)
    broken: Counter[str] = field(default_factory=Counter)
    sent: list[tuple[str, str]] = field(default_factory=list)
    submissions: int = 0

    def round(self) -> None:
        """One deed and its consequences."""
        name, deed = self.chance.choice(self.deeds())
        name = deed() or name
        self.submit(self.chance.randint(0, 2))
        found = self.site.violations()
        self.runs[name] += 1
        self.broken[name] += bool(found)
        for each in found:
            print(f"{name}: {each}", flush=True)

    def deeds(self) -> list[tuple[str, Callable[[], str | None]]]:
        """What may happen, each as often as it stands here."""
        always: list[tuple[str, Callable[[], str | None]]] = [
            *[("worker", self.kill_at_boundary)] * 8,
            *[("intake", self.kill_intake)] * 2,
            *[("any moment", self.kill_at_any_moment)] * 4,
            ("Redis restarted", self.restart_redis),
            ("Redis emptied", self.empty_redis),
            ("delivered five times", self.deliver_often),
        ]
        if self.postgres:
            always += [("PostgreSQL stopped at once", self.restart_postgres)] * 2
        return always

    def submit(self, files: int) -> list[int]:
        return [self._submit(*self.next_file()) for _ in range(files)]

    def _submit(self, content: str, team: str) -> int:
        self.submissions += 1
        key: int = self.site.ask("submit", content=content, team=team)
        return key

    def next_file(self) -> tuple[str, str]:
        """Predictions and the team that sends them; one in five was sent before."""
        if self.sent and self.chance.random() < 0.2:
            return self.chance.choice(self.sent)
        team, rows = self.chance.choice([("Alice", ROWS), ("A", CHECKED_ROWS)])
        wrong = self.chance.sample(range(rows), self.chance.randint(0, rows - 1))
        self.sent.append((predictions(wrong, rows).decode(), team))
        return self.sent[-1]

    def kill_at_boundary(self) -> str:
        boundary = self.chance.choice(WORKER + SWEEP)
        deed = self.chance.choice(["die", "die with group"])
        self.site.orders.give(boundary, deed)
        content, team = self.next_file()
        silent = boundary in SWEEP
        key = self.site.ask("submit", content=content, team=team, silent=silent)
        self.submissions += 1
        self.site.eventually(lambda: self._is_over(key), bool)
        reached = not self.site.orders.withdraw()
        return f"{boundary}, {deed}" if reached else "boundary not reached"

    def _is_over(self, key: int) -> bool:
        return self.site.orders.is_obeyed() or (
            self.site.ask("seen", submission=key)["status"] == "released"
        )

    def kill_intake(self) -> str:
        boundary = self.chance.choice(INTAKE)
        content, team = self.next_file()
        died = self.site.ask("die_submitting", boundary=boundary, content=content, team=team)
        return boundary if died else "boundary not reached"

    def kill_at_any_moment(self) -> None:
        """Kills the worker, or its child, some milliseconds after an upload."""
        self.submit(self.chance.randint(1, 4))
        time.sleep(self.chance.random() * 0.2)
        self.site.kill_any_worker(self.chance)

    def restart_redis(self) -> None:
        self.submit(2)
        time.sleep(self.chance.random() * 0.05)
        self.site.stop("redis", self.chance.choice([signal.SIGTERM, signal.SIGKILL]))
        self.submit(1)
        self.site.start_redis()

    def empty_redis(self) -> None:
        self.submit(3)
        self.site.ask("flush_redis")

    def deliver_often(self) -> None:
        for key in self.submit(2):
            self.site.ask("deliver", submission=key, times=5)

    def restart_postgres(self) -> None:
        assert self.postgres
        self.submit(3)
        time.sleep(self.chance.random() * 0.1)
        self.postgres.stop_at_once()
        self.postgres.start_again()

    def report(self) -> None:
        """Runs and violations of each kind."""
        for name, runs in sorted(self.runs.items()):
            print(f"{runs:6} runs {self.broken[name]:4} with violations  {name}")
        total, broken = sum(self.runs.values()), sum(self.broken.values())
        print(f"{total:6} runs {broken:4} with violations  in all; {self.submissions} submissions")


def main() -> None:
    arguments = _arguments()
    with _postgres(arguments.database) as postgres, _site(postgres) as site:
        campaign = Campaign(site, random.Random(arguments.seed), postgres)
        give_up = time.monotonic() + arguments.minutes * 60
        try:
            for _ in range(arguments.rounds):
                campaign.round()
                if time.monotonic() > give_up:
                    break
        finally:
            campaign.report()
    sys.exit(bool(sum(campaign.broken.values())))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--minutes", type=float, default=60.0, help="the most it takes")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--database", choices=("sqlite", "postgres"), default="sqlite")
    return parser.parse_args()


@contextmanager
def _postgres(database: str) -> Iterator[PostgresServer | None]:
    if database == "sqlite":
        yield None
        return
    server = PostgresServer()
    try:
        yield server
    finally:
        server.close()


@contextmanager
def _site(postgres: PostgresServer | None) -> Iterator[Deployment]:
    directory = Path(tempfile.mkdtemp(prefix="holdfast-campaign-"))
    url = make_database(postgres.directory) if postgres else f"sqlite:///{directory / 'db.sqlite3'}"
    site = Deployment(directory, url, **HASTE)
    try:
        site.prepare()
        site.start_redis()
        site.start_doomed()
        site.start_beat()
        site.ask("set_up")
        site.ask("set_up_checked", slug="checked", team="A", budget="10000", team_share="5000")
        yield site
    finally:
        site.close()
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    main()
