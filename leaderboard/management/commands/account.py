import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.core.serializers.json import DjangoJSONEncoder

from leaderboard import queries
from leaderboard.errors import Refused
from leaderboard.models import User
from leaderboard.participate import accounts


class Command(BaseCommand):
    """Look after a person's account: remove lost second factors, export its data, delete it."""

    help = __doc__

    def add_arguments(self, parser: ArgumentParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        for name, words in (
            ("reset-second-factor", "Remove all second factors; tokens and sessions end."),
            ("export", "Print all that is stored about the person, as JSON."),
            ("delete", "Delete the account for good; submissions stay without its name."),
        ):
            action = actions.add_parser(name, help=words)
            action.add_argument("username")
            if name == "reset-second-factor":
                action.add_argument(
                    "--reason",
                    required=True,
                    help="How you know that it is this person, who reads it on the account page.",
                )

    def handle(self, *args: Any, action: str, username: str, **options: Any) -> None:
        user = User.objects.filter(username=username, deleted_at=None).first()
        if user is None:
            raise CommandError(f"There is no account named {username!r}.")
        if action == "export":
            data = queries.account_data(user)
            self.stdout.write(json.dumps(data, cls=DjangoJSONEncoder, indent=1))
            return
        if action == "reset-second-factor":
            removed = accounts.reset_second_factors(user, reason=options["reason"])
            self.stderr.write(f"{removed} removed. Tokens and sessions of {username} have ended.")
            return
        try:
            accounts.delete(user)
        except Refused as refused:
            raise CommandError(refused.detail) from None
        self.stderr.write(f"The account of {username} is deleted.")
