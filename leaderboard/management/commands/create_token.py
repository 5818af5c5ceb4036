from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from leaderboard.errors import Refused
from leaderboard.models import Scope, User
from leaderboard.participate import tokens


class Command(BaseCommand):
    """Make an API token for a person and print it; only its hash is kept."""

    help = __doc__

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("username")
        parser.add_argument(
            "--days",
            type=int,
            default=settings.TOKEN_DAYS,
            help=f"How long it is accepted (default: {settings.TOKEN_DAYS} days).",
        )

        parser.add_argument(
            "--scope",
            action="append",
            choices=Scope.values,
            help="What it may do; may be given several times (default: read and submit).",
        )
        parser.add_argument("--name", default="", help="What its owner knows it by.")
        parser.add_argument(
            "--competition", default="", help="The one that it reads and submits to."
        )
        parser.add_argument("--campaign", default="", help="Its person's team's there.")
        parser.add_argument("--quota", type=int, help="How many submissions it may make.")

    def handle(
        self,
        *args: Any,
        username: str,
        days: int,
        scope: list[str] | None,
        name: str,
        competition: str,
        campaign: str,
        quota: int | None,
        **options: Any,
    ) -> None:
        if days < 1:
            raise CommandError("--days is at least 1.")
        try:
            user = User.objects.get(username=username, is_active=True)
        except User.DoesNotExist:
            raise CommandError(f"There is no active account named {username!r}.") from None
        scopes = tuple(map(Scope, scope)) if scope else tokens.USUAL
        try:
            issued = tokens.issue(
                user,
                days=days,
                scopes=scopes,
                name=name[: tokens.NAME_LENGTH],
                binding=tokens.Binding(competition, campaign, quota),
            )
        except Refused as refused:
            raise CommandError(refused.detail) from None
        self.stdout.write(issued.text)
        if issued.expires_at:
            self.stderr.write(f"Expires on {issued.expires_at:%d %B %Y}.")
