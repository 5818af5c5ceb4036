"""`python manage.py doctor`: what is wrong with this installation, and how to mend it."""

import json
import sys
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from leaderboard.operate.doctor.checks import CHECKS
from leaderboard.operate.doctor.report import Finding, all_well, examine

SECONDS = 10.0
MARKS = {"ok": "ok   ", "note": "note ", "wrong": "WRONG"}


class Command(BaseCommand):
    help = (
        "Look at every part of this installation and say how to mend what is wrong. "
        "Ends with 1 if something is."
    )
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
        if options["json"]:
            self.stdout.write(json.dumps(_document(found), indent=2))
        else:
            self._tell(found)
        if not all_well(found):
            sys.exit(1)

    def _tell(self, found: dict[str, list[Finding]]) -> None:
        styles = {"ok": self.style.SUCCESS, "note": self.style.WARNING, "wrong": self.style.ERROR}
        width = max(map(len, found))
        for name, findings in found.items():
            for finding in findings:
                mark = styles[finding.state](MARKS[finding.state])
                self.stdout.write(f"{mark}  {name:{width}}  {finding.says}")
                if finding.mend:
                    self.stdout.write(f"{'':{width + 9}}{finding.mend}")


def _document(found: dict[str, list[Finding]]) -> dict[str, Any]:
    return {
        "ok": all_well(found),
        "findings": [
            {"check": name, **asdict(finding)}
            for name, findings in found.items()
            for finding in findings
        ],
    }
