from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from leaderboard.operate import rotation
from leaderboard.platform.secrets import VAULT_KEY


class Command(BaseCommand):
    """Draw a new key pair for the vault and seal everything again.

    The site keeps running; a run that was stopped resumes when this is run again.
    """

    help = __doc__

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--private",
            type=Path,
            help="the workers' private key (default: VAULT_PRIVATE_KEY_FILE, else in VAR_DIR)",
        )
        parser.add_argument(
            "--keep-old",
            action="store_true",
            help="keep the old private key, until the web process has the new public one",
        )

    def handle(self, *args: Any, private: Path | None, keep_old: bool, **options: Any) -> None:
        if private is None and VAULT_KEY.source and not VAULT_KEY.file:
            raise CommandError(
                f"Only keys in a file are replaced, and this one comes from {VAULT_KEY.source}: "
                "write it to a file of mode 600, name that by --private, and move the new key from "
                "there to where the workers take theirs."
            )
        private = private or VAULT_KEY.file or settings.VAR_DIR / "vault" / "private.key"
        settings.VAULT_PRIVATE_KEY_FILE = str(private)
        try:
            rotation.rotate(private, keep_old=keep_old, say=self.stdout.write)
        except rotation.CannotRotate as error:
            raise CommandError(str(error)) from None
        except PermissionError as error:
            raise CommandError(
                f"{error.filename} can't be written here: run this where the keys are kept."
            ) from None
