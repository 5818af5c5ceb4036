import sys
import time
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from leaderboard.operate.embedded.prepare import CannotStart, prepare
from leaderboard.operate.embedded.start import Start, check_port, hold


class Command(BaseCommand):
    """Run everything on this machine: Redis, a worker, beat and the web server."""

    help = __doc__
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--port", type=int, default=8000, help="default: %(default)s")
        parser.add_argument(
            "--host",
            default="127.0.0.1",
            help="address to listen on (default: %(default)s; 0.0.0.0: the whole network)",
        )
        parser.add_argument("--no-demo", action="store_true", help="load no demo competitions")

    def handle(self, *args: Any, port: int, host: str, no_demo: bool, **options: Any) -> None:
        started = time.monotonic()
        var_dir = settings.VAR_DIR.resolve()
        private_key = settings.VAULT_PRIVATE_KEY_FILE or var_dir / "vault" / "private.key"
        start = Start(var_dir, Path(private_key), host, port, demo=not no_demo, started=started)
        try:
            with hold(var_dir):
                check_port(host, port)
                prepare(start.private_key, self.stdout.write)
                code = start.run()
        except CannotStart as error:
            raise CommandError(str(error)) from None
        except KeyboardInterrupt:
            code = 0
        sys.exit(code)
