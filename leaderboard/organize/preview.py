"""A draft as a participant will see it: opened and joined in a transaction that is rolled back."""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import transaction

from leaderboard.access import Right, check_right
from leaderboard.models import Competition, User, Visibility
from leaderboard.organize.opening import open_competition
from leaderboard.participate import membership

NAME = "You"


@contextmanager
def as_participant(competition: Competition, *, by: User) -> Iterator[User]:
    """Yield somebody who has joined the draft, as if it were open: for this block alone.

    Nothing that is done in it stays, in the database or on a queue. Raises Refused where the
    checklist is not green.
    """
    check_right(by, competition, Right.EDIT)
    with transaction.atomic():
        try:
            open_competition(competition, by=by)
            Competition.objects.filter(pk=competition.pk).update(visibility=Visibility.PUBLIC)
            visitor = User.objects.create_user(f"preview-{secrets.token_hex(4)}")
            competition.refresh_from_db()
            competition.invited.add(visitor)  # who gives no join code, and has no address
            membership.join(
                competition=competition, user=visitor, accept_rules=True, team_name=NAME
            )
            yield visitor
        finally:
            transaction.set_rollback(True)
