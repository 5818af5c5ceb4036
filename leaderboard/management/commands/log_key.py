from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from leaderboard.log import keys


class Command(BaseCommand):
    """Generate a key that signs the public log, or receipts. Back it up, beside the vault's."""

    help = __doc__

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "path",
            type=Path,
            nargs="?",
            default=settings.VAR_DIR / "vault" / "log.key",
            help="where it is written (default: %(default)s)",
        )

    def handle(self, *args: Any, path: Path, **options: Any) -> None:
        try:
            keys.generate(path)
        except FileExistsError as error:
            raise CommandError(
                f"{error} Nothing was written: who knows that key would not believe another."
            ) from None
        self.stdout.write(f"Private key: {path}. Name it to workers as LOG_KEY_FILE.")
