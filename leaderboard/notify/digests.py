"""What is due by the clock: the daily mails, and the notice of a deadline that is near."""

from collections.abc import Iterator
from datetime import datetime, time, timedelta
from typing import Final

from django.db import transaction
from django.db.models import OuterRef, Subquery
from django.utils import timezone

from leaderboard.models import Channel, Competition, Delivery, Event, EventKind, Notice, Round
from leaderboard.notify.events import record
from leaderboard.notify.mails import DIGEST
from leaderboard.notify.outbox import PEOPLE, new_delivery

HOUR: Final = time(6)  # UTC, at which a day's notices are gathered
NEAR: Final = timedelta(hours=24)
# A round of hours would be near its deadline from its beginning on.
SHARE: Final = 4


def gather_digests() -> None:
    """Make mails of the notices that wait for one: for each person one, of all until this morning.

    The notices name their mail in the same transaction. Of two workers one finds them; a mail
    without notices is never sent.
    """
    now = timezone.now()
    morning = datetime.combine(now.date(), HOUR, now.tzinfo)
    until = morning if morning <= now else morning - timedelta(days=1)
    due = Notice.objects.filter(waits_for_digest=True, created_at__lte=until)
    people = due.order_by("recipient").values_list("recipient", flat=True).distinct()
    while found := list(people[:PEOPLE]):
        with transaction.atomic():
            made = Delivery.objects.bulk_create(
                new_delivery(Channel.MAIL, DIGEST, recipient_id=key) for key in found
            )
            mine = Delivery.objects.filter(
                pk__in=[each.pk for each in made], recipient=OuterRef("recipient")
            )
            due.filter(recipient__in=found).update(
                digest=Subquery(mine.values("pk")[:1]), waits_for_digest=False
            )


def note_deadlines() -> list[int]:
    """Record that deadlines are near, each once; return the competitions where one is.

    One that is moved is near a second time.
    """
    return [round.competition_id for round in _near() if _note(round)]


def _near() -> Iterator[Round]:
    """Yield the open rounds whose deadline is near, and whose rows no later round goes on with."""
    now = timezone.now()
    rounds = Round.objects.filter(
        opens_at__lte=now,
        closes_at__gt=now,
        closes_at__lte=now + NEAR,
        ledger__isnull=False,
        continued_by__isnull=True,
        finals_started_at__isnull=True,
        competition__opened_by_organizer_at__isnull=False,
    )
    for round in rounds:
        closes_at = round.closes_at or now
        if closes_at - now <= (closes_at - round.opens_at) / SHARE:
            yield round


def _note(round: Round) -> bool:
    """Record one, unless that was done, by whichever worker."""
    assert round.closes_at is not None  # noqa: S101  (`_near` has looked)
    closes_at = round.closes_at.isoformat(timespec="seconds")
    near = Event.objects.filter(competition=round.competition_id, kind=EventKind.DEADLINE_NEAR)
    noted = near.filter(subjects={"round": round.number}, data={"closes_at": closes_at})
    if noted.exists():
        return False
    with transaction.atomic():
        locked = Competition.objects.select_for_update(no_key=True).get(pk=round.competition_id)
        if noted.exists():
            return False
        record(
            locked,
            EventKind.DEADLINE_NEAR,
            subjects={"round": round.number},
            closes_at=closes_at,
        )
    return True
