import json
import sys
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from leaderboard.operate.doctor.broker import broker
from leaderboard.operate.doctor.database import database, migrations
from leaderboard.operate.doctor.files import disk, static_files, storage
from leaderboard.operate.doctor.ledgers import ledgers
from leaderboard.operate.doctor.public_log import public_log
from leaderboard.operate.doctor.report import Check, Finding, all_well, examine
from leaderboard.operate.doctor.site import site
from leaderboard.operate.doctor.submissions import submissions
from leaderboard.operate.doctor.vault import holdouts, keys
from leaderboard.operate.doctor.workers import clocks, sweeper, workers

# In the order in which they are reported.
CHECKS: dict[str, Check] = {
    "settings": site,
    "database": database,
    "migrations": migrations,
    "redis": broker,
    "storage": storage,
    "disk": disk,
    "static files": static_files,
    "vault": keys,
    "holdouts": holdouts,
    "ledgers": ledgers,
    "public log": public_log,
    "workers": workers,
    "sweeper": sweeper,
    "clocks": clocks,
    "submissions": submissions,
}
SECONDS = 10.0
MARKS = {"ok": "ok   ", "note": "note ", "wrong": "WRONG"}


class Command(BaseCommand):
    """Look at every part of this installation and report how to fix what is wrong.

    Exits with 1 if something is.
    """

    help = __doc__
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="for programs")
        parser.add_argument(
            "--timeout",
            type=float,
            default=SECONDS,
            metavar="SECONDS",
            help="how long to wait for everything together (default: %(default)g)",
        )

    def handle(self, *args: Any, timeout: float, **options: Any) -> None:
        found = examine(CHECKS, timeout)
        findings = [(name, each) for name, several in found.items() for each in several]
        if options["json"]:
            listed = [{"check": name, **asdict(finding)} for name, finding in findings]
            document = {"ok": all_well(found), "findings": listed}
            self.stdout.write(json.dumps(document, indent=2))
        else:
            self._print(findings)
        if not all_well(found):
            sys.exit(1)

    def _print(self, findings: list[tuple[str, Finding]]) -> None:
        styles = {"ok": self.style.SUCCESS, "note": self.style.WARNING, "wrong": self.style.ERROR}
        width = max(len(name) for name, _ in findings)
        for name, finding in findings:
            mark = styles[finding.state](MARKS[finding.state])
            self.stdout.write(f"{mark}  {name:{width}}  {finding.says}")
            if finding.fix:
                self.stdout.write(f"{'':{width + 9}}{finding.fix}")
