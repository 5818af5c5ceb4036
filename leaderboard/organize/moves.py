"""Moving a competition to another installation: its ledger is closed here first, for good."""

import re
from typing import Final

from django.conf import settings
from django.db import transaction

from leaderboard.access import Right, check_right
from leaderboard.errors import Refused
from leaderboard.ledger import lock
from leaderboard.ledger.pauses import pause
from leaderboard.models import (
    Competition,
    EventKind,
    Handover,
    Pause,
    Round,
    Status,
    Submission,
    User,
)
from leaderboard.notify import events
from leaderboard.pipeline.handover import expect

_KEY: Final = re.compile("[0-9a-f]{64}")


def own_key() -> str:
    """Return the public key of this installation's vault: what others seal secrets to."""
    try:
        return settings.VAULT_PUBLIC_KEY_FILE.read_text().strip()
    except OSError:
        return ""


def move(competition: Competition, destination: str, *, by: User | None) -> Handover:
    """Close the competition's ledgers for good, and have a worker seal their secrets.

    destination: the public key of the other installation's vault, in hex. The archive then has the
    secrets, which nobody but that vault can open. Raises Refused.
    """
    check_right(by, competition, Right.OWN)
    key = destination.strip().lower()
    if not _KEY.fullmatch(key):
        raise Refused("invalid", field="destination", variant="wrong_key")
    if key == own_key():
        raise Refused("invalid", field="destination", variant="own_key")
    with transaction.atomic():
        locked = lock.lock(competition)
        lock.lock_teams(locked)  # an upload that is being accepted comes before, or is late
        check_may_move(locked)
        because = f"It goes on at another installation, whose vault has the key {key[:16]}…"
        for ledger in locked.ledgers.order_by("pk"):
            pause(ledger, Pause.MOVED, because)
        handover = Handover.objects.create(
            competition=locked, is_incoming=False, destination=key, ordered_by=by
        )
        subjects = {"ledgers": [each.uid for each in locked.ledgers.order_by("pk")]}
        events.record(locked, EventKind.LEDGER_MOVED, actor=by, subjects=subjects, to=key[:16])
        expect(handover)
    return handover


def check_may_move(competition: Competition) -> None:
    """Raise Refused, with the reason, where the competition can't be moved now."""
    before = competition.handovers.filter(is_incoming=False).first()
    if before is not None:
        raise Refused("not_movable", variant="moved", at=before.created_at)
    ledgers = list(competition.ledgers.all())
    if competition.opened_by_organizer_at is None or not ledgers:
        raise Refused("not_movable")
    for paused in (each.paused_for for each in ledgers if each.paused_for):
        is_copy = paused == Pause.ARCHIVED
        raise Refused("not_movable", variant="archived" if is_copy else "paused")
    waiting = Submission.objects.filter(
        team__competition=competition, status__in=(Status.QUEUED, Status.SCORING)
    ).count()
    if waiting:
        raise Refused("submissions_waiting", variant="move", count=waiting)
    check_finals_rest(competition)


def check_finals_rest(competition: Competition) -> None:
    """Raise Refused while exact scores are measured: only this vault can."""
    scoring = Round.objects.filter(finals_started_at__isnull=False, finals_scored_at__isnull=True)
    if scoring.filter(competition=competition).exists():
        raise Refused("not_movable", variant="finals")
