from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from leaderboard.platform.secrets import VAULT_KEY
from leaderboard.vault import keys


class Command(BaseCommand):
    """Generate the vault's key pair. Give the private key to workers only, and back it up.

    Where VAULT_PRIVATE_KEY or VAULT_PRIVATE_KEY_COMMAND gives a private key, write its public one.
    """

    help = __doc__

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--private",
            type=Path,
            default=settings.VAR_DIR / "vault" / "private.key",
            help="where the private key is written (default: %(default)s)",
        )

    def handle(self, *args: Any, private: Path, **options: Any) -> None:
        public = settings.VAULT_PUBLIC_KEY_FILE
        if VAULT_KEY.source and not VAULT_KEY.file:
            self._write_public(public)
            return
        for path in (public, private):
            if path.exists():
                raise CommandError(
                    f"There is a key at {path} already. Nothing was written: "
                    "a new key could not open what was sealed to the old one."
                )
        keys.generate(public, private)
        self.stdout.write(f"Public key: {public}\nPrivate key: {private}")

    def _write_public(self, public: Path) -> None:
        if public.exists():
            raise CommandError(f"There is a key at {public} already. Nothing was written.")
        try:
            keys.publish(public)
        except keys.VaultClosed as closed:
            raise CommandError(str(closed)) from None
        self.stdout.write(f"Public key of {VAULT_KEY.source}: {public}")
