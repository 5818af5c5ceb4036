from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser

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
