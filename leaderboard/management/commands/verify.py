"""Checks a competition's ledger against everything that this server knows."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from leaderboard.models import Competition
from leaderboard.operate.verification import CannotVerify, Verified, verify_competition

_MEANS = {
    "opening": "from what was opened",
    "vault": "from the vault, whose labels stay in it",
}


class Command(BaseCommand):
    help = (
        "Verify a competition's ledger: the chain, the books, heads, team states, board and guard, "
        "and with the workers' private key, or after the opening, every answer from its stored "
        "file. Names the first thing that differs, and ends with 1 then."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("slug", help="the competition's short name")
        parser.add_argument(
            "--no-files", action="store_true", help="read no stored file: quick, and less certain"
        )
        parser.add_argument(
            "--private",
            type=Path,
            help="the workers' private key (default: VAULT_PRIVATE_KEY_FILE, if that is set)",
        )

    def handle(
        self, *args: Any, slug: str, no_files: bool, private: Path | None, **options: Any
    ) -> None:
        competition = Competition.objects.filter(slug=slug).first()
        if competition is None:
            raise CommandError(f"There is no competition {slug}.")
        if private is not None:
            settings.VAULT_PRIVATE_KEY_FILE = str(private)
        try:
            verified = verify_competition(competition, files=not no_files)
        except CannotVerify as error:
            raise CommandError(str(error)) from None
        for line in _lines(verified):
            self.stdout.write(line)
        if verified.report.difference is not None:
            raise CommandError(f"It differs. {verified.report.difference}")
        self.stdout.write(self.style.SUCCESS("Verified."))


def _lines(verified: Verified) -> list[str]:
    """What was checked, as far as it came."""
    report = verified.report
    head = report.head_hash[:16] or "its empty beginning"
    lines = [f"{report.competition}: {report.entries} entries were checked, up to {head}."]
    if verified.means:
        lines.append(
            f"{report.recomputed} answers were computed again {_MEANS[verified.means]}"
            + (f", {report.measured} of them from the stored files." if report.measured else ".")
        )
    else:
        lines.append(
            "No answer was computed again: that needs the workers' private key (--private), or the "
            "opening of solution and secret."
        )
    if report.lost:
        lines.append(f"{report.lost} answers were taken as said: their files are lost.")
    if report.difference is None:
        lines.append("Heads, team states and board are those that follow from the ledger.")
        lines.append(
            "The guard outside the database agrees."
            if verified.guarded
            else "The guard outside the database has seen nothing of it yet."
        )
    return [*lines, *report.notes]
