from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from leaderboard.log.journal import JournalAway
from leaderboard.models import Competition
from leaderboard.operate.log_verification import verify_log
from leaderboard.operate.verification import CannotVerify, Verified, verify_ledger
from scoring.verification.differences import Differs

_MEANS = {
    "publication": "from what was published",
    "vault": "from the vault, whose labels stay in it",
}


class Command(BaseCommand):
    """Verify a competition's ledger and log; name the first difference, and exit with 1 then.

    Checks the chain, the books, head, team states, board, watermark and final board, and with the
    workers' private key, or after the publication, every answer and final score from its file.
    Then all that decides a place against the public log, and every stored file against what was
    accepted.
    """

    help = __doc__

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
            for ledger in competition.ledgers.order_by("pk"):
                verified = verify_ledger(ledger, files=not no_files)
                for line in _lines(verified):
                    self.stdout.write(line)
                if verified.report.difference is not None:
                    raise CommandError(f"It differs. {verified.report.difference}")
            size = verify_log(competition, files=not no_files)
            self.stdout.write(
                f"{size} entries of the public log were checked, with what they tell."
            )
        except Differs as differs:
            raise CommandError(f"It differs. {differs.difference}") from None
        except (CannotVerify, JournalAway) as error:
            raise CommandError(str(error)) from None
        self.stdout.write(self.style.SUCCESS("Verified."))


def _lines(verified: Verified) -> list[str]:
    """Describe what was checked, as far as it came."""
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
            "publication of solution and secret."
        )
    if verified.finals is not None:
        lines.append(
            f"Final entries, intervals and places are right; {verified.finals} entered files were "
            "scored and compared again."
        )
    if report.lost:
        lines.append(f"{report.lost} answers were taken as said: their files are lost.")
    if report.difference is None:
        lines.append("Head, team states and board are those that follow from the ledger.")
        lines.append(
            "The watermark outside the database agrees."
            if verified.watermarked
            else "The watermark outside the database has seen nothing of it yet."
        )
    return [*lines, *report.notes]
