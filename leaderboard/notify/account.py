"""What happens to the security of an account: written down, and mailed, wanted or not."""

from django.db import transaction

from leaderboard.models import AccountEventKind, Channel, User
from leaderboard.notify import mails, outbox
from leaderboard.notify.account_texts import SUBJECTS


def record(user: User, kind: AccountEventKind, detail: str = "") -> None:
    """Write down what happened, with the mail about it where an address is confirmed."""
    with transaction.atomic():
        event = user.events.create(kind=kind, detail=detail[:200])
        if kind in SUBJECTS and mails.readers().filter(pk=user.pk).exists():
            outbox.new_delivery(
                Channel.MAIL, mails.ACCOUNT, account_event=event, recipient=user
            ).save()
