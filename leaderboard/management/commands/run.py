import sys
import time
from argparse import SUPPRESS
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from leaderboard.operate.embedded.prepare import CannotStart, prepare, take_back_alone
from leaderboard.operate.embedded.start import Start, check_port, hold
from leaderboard.operate.embedded.users import why_together
from leaderboard.platform.secrets import VAULT_KEY


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
        parser.add_argument("--take-back", choices=("worker", "long"), help=SUPPRESS)
        parser.add_argument("--no-demo", action="store_true", help="load no demo competitions")

    def handle(self, *args: Any, port: int, host: str, no_demo: bool, **options: Any) -> None:
        if options["take_back"]:
            take_back_alone(is_long=options["take_back"] == "long")
            return
        started = time.monotonic()
        var_dir = settings.VAR_DIR.resolve()
        private_key = VAULT_KEY.file or var_dir / "vault" / "private.key"
        is_in_file = VAULT_KEY.file or not VAULT_KEY.source
        try:
            with hold(var_dir):
                check_port(host, port)
                prepare(private_key, self.stdout.write)
                together = why_together(var_dir, private_key if is_in_file else None, host, port)
                start = Start(var_dir, private_key, host, port, not no_demo, started, together)
                code = start.run()
        except CannotStart as error:
            raise CommandError(str(error)) from None
        except KeyboardInterrupt:
            code = 0
        sys.exit(code)
