from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from leaderboard.operate.backups import CannotRestore, open_backup, restore


class Command(BaseCommand):
    """Replace database and files by those of a backup. The watermark stays as it is.

    What the backup doesn't know of a competition is then repaired by `manage.py rewind`.
    """

    help = __doc__
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "backup",
            type=Path,
            nargs="?",
            default=settings.BACKUP_DIR,
            help="the folder of a backup, or of all of them for the newest (default: %(default)s)",
        )
        parser.add_argument(
            "--no-files", action="store_true", help="leave the stored files as they are"
        )
        parser.add_argument("--no-input", action="store_true", help="ask nothing")

    def handle(self, *args: Any, backup: Path, no_files: bool, **options: Any) -> None:
        try:
            found = open_backup(backup)
            self.stdout.write(f"{found.folder} was written at {found.manifest['taken_at']}.")
            if not options["no_input"] and self._ask() != "restore":
                raise CommandError("Nothing was changed.")
            behind = restore(
                found,
                with_files=not no_files and found.manifest["with_files"],
                say=self.stdout.write,
            )
        except (CannotRestore, OSError) as error:
            raise CommandError(str(error)) from None
        for slug in behind:
            self.stdout.write(
                f"{slug} is behind its watermark and answers nobody: "
                f"`python manage.py rewind {slug} --replay` repairs it."
            )
        self.stdout.write(self.style.SUCCESS("Restored."))

    def _ask(self) -> str:
        try:
            return input(
                "What came after it leaves the database. Type “restore” to go on: "
            ).strip()
        except EOFError:
            raise CommandError(
                "Nobody can answer here: give --no-input to go on unasked."
            ) from None
