from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from leaderboard.models import User
from leaderboard.operate.demo.competitions import DEMO_COMPETITIONS
from leaderboard.operate.demo.load import ensure_people, load


class Command(BaseCommand):
    """Load two demo competitions with baselines and accounts; run again, it changes nothing."""

    help = __doc__

    def handle(self, *args: Any, **options: Any) -> None:
        accounts = settings.VAR_DIR / "demo-accounts.txt"
        ensure_people(accounts)
        organizer = User.objects.get(username="organizer")
        for demo in DEMO_COMPETITIONS:
            load(demo, organizer)
        self.stdout.write(f"The demo is loaded. Its accounts and passwords: {accounts}")
