"""Secrets on their way between installations: workers seal them to another vault, or open them.

An order is a row; nothing is lost with a message, as the sweeper sends it again.
"""

import logging

from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from leaderboard import vault
from leaderboard.ledger import arrivals, lock, watermark
from leaderboard.models import (
    Audience,
    Competition,
    EventKind,
    Handover,
    Holdout,
    Pause,
)
from leaderboard.notify import events
from leaderboard.pipeline.queue import enqueue_handover

logger = logging.getLogger(__name__)


def expect(handover: Handover) -> None:
    """Ask a worker for it once the transaction is committed."""
    transaction.on_commit(lambda: enqueue_handover(handover.pk), robust=True)


def waiting() -> QuerySet[Handover]:
    """Return those that no worker has finished."""
    return Handover.objects.filter(finished_at__isnull=True)


def carry_out(handover_id: int) -> None:
    """Seal what goes out, or open what comes in. Done twice, it changes nothing.

    What the vault refuses is noted, and final; what an outage raises is not.
    """
    handover = waiting().select_related("competition").filter(pk=handover_id).first()
    if handover is None:
        return
    try:
        if handover.is_incoming:
            _take_in(handover)
        else:
            _send_out(handover)
    except vault.VaultClosed as error:
        if not handover.is_incoming:
            raise  # this installation's own vault: the sweeper asks again once it is repaired
        logger.warning("The secrets of %s stay closed: %s", handover.competition, error)
        waiting().filter(pk=handover.pk).update(
            finished_at=timezone.now(), failure=str(error)[:300]
        )


def heads_of(competition: Competition) -> vault.Heads:
    """Return how far its ledgers have come."""
    return {each.uid: [each.entries, each.head_hash] for each in competition.ledgers.order_by("pk")}


def _send_out(handover: Handover) -> None:
    """Write the box. The watermark learns of it first: no restored backup answers beside it."""
    competition = handover.competition
    with transaction.atomic():
        for ledger in competition.ledgers.order_by("pk"):
            lock.check(lock.lock_row(ledger))
            watermark.move(ledger.uid)
    holdouts = Holdout.objects.filter(ledger__competition=competition).exclude(sealed_solution="")
    box = vault.hand_over(holdouts, heads_of(competition), handover.destination)
    name = default_storage.save(f"handovers/{competition.slug}.box", ContentFile(box))
    with transaction.atomic():
        done = waiting().filter(pk=handover.pk)
        if not done.update(file=name, finished_at=timezone.now()):
            default_storage.delete(name)  # another worker was as quick
            return
        events.record(
            competition,
            EventKind.SECRETS_EXPORTED,
            actor=handover.ordered_by,
            audience=Audience.ORGANIZERS,
            destination=handover.destination,
        )


def _take_in(handover: Handover) -> None:
    """Open the box, compare it with the copies, and let them answer."""
    with handover.file.open("rb") as file:
        box = file.read()
    with transaction.atomic():
        competition = lock.lock(handover.competition)
        copies = competition.ledgers.exclude(paused_for=Pause.ARCHIVED)
        if copies.exists():
            raise vault.VaultClosed("Its ledgers are no copies any more.")
        holdouts = Holdout.objects.filter(ledger__competition=competition)
        boxes = vault.take_over(box, holdouts, heads_of(competition))
        arrivals.go_on(competition, boxes)
        waiting().filter(pk=handover.pk).update(finished_at=timezone.now(), failure="")
