"""Pausing a ledger: it answers nobody until the reason is gone."""

from django.db import transaction
from django.utils import timezone

from leaderboard.ledger import lock, watermark
from leaderboard.models import EventKind, Holdout, Ledger, Pause, Status, Submission
from leaderboard.notify import events


def pause(ledger: Ledger, reason: Pause, because: str, *, holdout: Holdout | None = None) -> None:
    """Keep a ledger from answering; submissions wait. One that is paused keeps its reason.

    holdout: the revision that the reason lies in; where another one answers by now, nothing is
    paused, as nobody would find a reason to resume.
    """
    with transaction.atomic():
        if holdout is not None:
            lock.lock_row(ledger)  # a revision holds it until it is committed
            if not Holdout.objects.active().filter(pk=holdout.pk).exists():
                return
        running = Ledger.objects.filter(pk=ledger.pk, paused_at__isnull=True)
        now, because = timezone.now(), because[:300]
        if running.update(paused_at=now, paused_for=reason, paused_because=because):
            events.record(ledger.competition, EventKind.PAUSED, subjects={"ledger": ledger.uid})


def resume(ledger: Ledger, reason: Pause = Pause.REWOUND) -> None:
    """End a pause for this reason, and let what waited be asked for at the next sweep."""
    paused = Ledger.objects.filter(pk=ledger.pk, paused_for=reason)
    if paused.update(paused_at=None, paused_for="", paused_because=""):
        waiting = Submission.objects.filter(round__ledger=ledger, status=Status.QUEUED)
        waiting.update(enqueued_at=None)
        events.record(ledger.competition, EventKind.RESUMED, subjects={"ledger": ledger.uid})


def look_for_rewinds() -> None:
    """Pause every ledger that knows less than its watermark: for workers that start."""
    for ledger in Ledger.objects.filter(paused_at__isnull=True, holdouts__retired_at__isnull=True):
        with transaction.atomic():
            row = lock.lock_row(ledger)
            try:
                lock.check(row)
            except watermark.Rewound as rewound:
                pause(row, Pause.REWOUND, str(rewound))


def rewound() -> list[str]:
    """Return the slugs of competitions whose ledgers were found to know less."""
    paused = Ledger.objects.filter(paused_for=Pause.REWOUND).order_by("competition")
    return list(paused.values_list("competition__slug", flat=True).distinct())
