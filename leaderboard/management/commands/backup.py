import time
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import connections

from leaderboard.operate.backups import CannotBackUp, back_up
from leaderboard.platform.outages import StorageAway


class Command(BaseCommand):
    """Back up database, files and watermark, while the site runs.

    Each run is a folder of its own; files are kept once for all of them. The vault's private key,
    SECRET_KEY and the other settings are not in it: docs/operations.md, Backups.
    """

    help = __doc__
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--to",
            type=Path,
            metavar="FOLDER",
            default=settings.BACKUP_DIR,
            help="where backups are, best on another machine's disk (default: %(default)s)",
        )
        parser.add_argument(
            "--keep", type=int, metavar="N", default=0, help="leave the newest N and no others"
        )
        parser.add_argument(
            "--no-files",
            action="store_true",
            help="the files are kept otherwise, as in a bucket with versions",
        )
        parser.add_argument(
            "--every", type=float, metavar="HOURS", help="do it again and again, until stopped"
        )

    def handle(self, *args: Any, to: Path, keep: int, no_files: bool, **options: Any) -> None:
        every = options["every"]
        if keep < 0 or (every is not None and every <= 0):
            raise CommandError("--keep and --every are counts above 0.")
        while True:
            try:
                made = back_up(to, keep=keep, with_files=not no_files, say=self.stdout.write)
                self.stdout.write(self.style.SUCCESS(f"Written: {made.folder}"))
            except (CannotBackUp, StorageAway, OSError) as error:
                if every is None:
                    raise CommandError(str(error)) from None
                self.stderr.write(f"No backup was written: {error}")
            if every is None:
                return
            connections.close_all()
            time.sleep(every * 3600)
