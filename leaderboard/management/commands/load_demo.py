from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import connection

from leaderboard.models import User
from leaderboard.operate.demo.competitions import DEMO_COMPETITIONS
from leaderboard.operate.demo.load import ensure_people, finish, load


class Command(BaseCommand):
    """Load the demo competitions with baselines and accounts; run again, it changes nothing."""

    help = __doc__

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--finish",
            type=float,
            metavar="SECONDS",
            help="take the finished competition to its end, and wait so long for workers",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        settings.VAR_DIR.mkdir(mode=0o700, parents=True, exist_ok=True)
        has_keys = settings.VAULT_PUBLIC_KEY_FILE.is_file()
        if not has_keys or User._meta.db_table not in connection.introspection.table_names():
            raise CommandError(
                "There is no site yet: run `manage.py migrate` and `manage.py vault_keys` first, "
                "or `manage.py run`, which loads the demo by itself."
            )
        accounts = settings.VAR_DIR / "demo-accounts.txt"
        ensure_people(accounts)
        organizer = User.objects.get(username="organizer")
        for demo in DEMO_COMPETITIONS:
            load(demo, organizer)
        if options["finish"] is not None:
            for demo in DEMO_COMPETITIONS:
                if demo.is_finished and not finish(demo, options["finish"]):
                    self.stdout.write(f"{demo.title} waits for workers: run this again later.")
        self.stdout.write(f"The demo is loaded. Its accounts and passwords: {accounts}")
