"""Making a draft like another competition, on rows that must be sealed anew."""

from django.db import transaction

from leaderboard.access import Right, check_right
from leaderboard.errors import Refused
from leaderboard.models import Audience, Competition, EventKind, User
from leaderboard.models.round import new_uid
from leaderboard.notify import events
from leaderboard.organize.bundles.exports import describe
from leaderboard.organize.bundles.imports import make_draft, plan_of
from leaderboard.organize.people import may_organize_at_all


def clone(competition: Competition, *, slug: str, by: User) -> Competition:
    """Make a draft with the same settings, columns, scoring, texts and files. Raises Refused.

    Its solution is uploaded again: it is sealed with a secret of its own, and has a ledger of its
    own. It can't be sealed or opened while another ledger of the family answers on its rows.
    """
    check_right(by, competition, Right.EDIT)
    if not may_organize_at_all(by):
        raise Refused("not_allowed", variant="organizer")
    plan = plan_of(describe(competition), slug)
    with transaction.atomic():
        made = make_draft(plan, by=by, kind=EventKind.CLONED, of=competition.slug)
        family = competition.family or new_uid()
        Competition.objects.filter(pk__in=(competition.pk, made.pk)).update(family=family)
        events.record(
            competition,
            EventKind.CLONED,
            actor=by,
            audience=Audience.ORGANIZERS,
            into=made.slug,
        )
    made.refresh_from_db()
    return made
