"""Hold the duels of a ledger: each in one transaction of its own, behind the answer that led to it.

Nothing is kept in between: which duels are due follows from the ledger. A worker that dies has
written nothing, and what two workers do at once is written once.
"""

from collections.abc import Callable

from django.db import transaction

from leaderboard.ledger import lock, watermark
from leaderboard.ledger.duels import find_due, settle
from leaderboard.ledger.entries import LostRace
from leaderboard.log import leaves
from leaderboard.models import Holdout, Release
from leaderboard.notify import events
from scoring.duels import Comparison
from scoring.verification.publications import Lost

# (revision, the better file's answer, the worse one's) -> how they compare
Compare = Callable[[Holdout, Release, Release], Comparison | Lost]


def hold_next(ledger_id: int, compare: Compare) -> bool:
    """Hold the duel that is due; return False where there is none.

    Raises LostRace where the ledger is paused or another answer came first, Rewound or
    WatermarkAway where the watermark forbids it, and what an outage raises.
    """
    holdout = Holdout.objects.active().select_related("ledger").get(ledger=ledger_id)
    due = find_due(holdout.ledger, holdout)
    if due is None:
        return False
    found = compare(holdout, due.better, due.worse)
    with transaction.atomic(durable=True):
        ledger = lock.lock_row(holdout.ledger)
        if ledger.paused_at or not Holdout.objects.active().filter(pk=holdout.pk).exists():
            raise LostRace
        lock.check(ledger)
        # Again under the lock: another worker may have held it, or a merger made both one team's.
        if find_due(ledger, holdout) != due:
            raise LostRace
        comparison = found if isinstance(found, Comparison) else None
        note = settle(ledger, holdout, due, comparison)
        events.log(ledger.competition, leaves.noted(note))
    watermark.append(ledger.uid, watermark.Head(note.number, note.hash))
    return True


def waiting() -> list[int]:
    """Return the keys of the ledgers with a duel that is due."""
    answering = Holdout.objects.active().filter(ledger__paused_at__isnull=True)
    holdouts = answering.exclude(ledger__law="").filter(ledger__by_team=False)
    return [
        each.ledger_id
        for each in holdouts.select_related("ledger")
        if find_due(each.ledger, each) is not None
    ]
