"""The one way to lock a ledger: whatever changes it, or builds on it, checks the watermark first.

`tests/test_layers.py` keeps others from locking a ledger's row by themselves.
"""

from __future__ import annotations

from leaderboard.errors import Refused
from leaderboard.ledger import watermark
from leaderboard.models import Competition, Ledger, LedgerNote, Release, Round


def lock(competition: Competition) -> Competition:
    """Return the competition, locked against changes, with its ledgers locked against releases.

    For organizers' actions: raises Refused where the database knows less than the watermark, or
    the watermark can't be read. Everybody takes the competition first and then its ledgers by key,
    so that no two ever deadlock; a release takes one ledger, no competition. No lock covers keys:
    an upload holds its team while it inserts rows that refer to the competition, and would wait for
    whoever waits for that team.
    """
    locked = Competition.objects.select_for_update(no_key=True).get(pk=competition.pk)
    for row in (
        Ledger.objects.select_for_update(no_key=True).filter(competition=locked).order_by("pk")
    ):
        try:
            check(row, only_look=True)
        except watermark.Rewound as rewound:
            raise Refused.paused() from rewound
        except watermark.WatermarkAway as away:
            raise Refused(
                "watermark_away",
                "The ledger can't be compared with its watermark",
                "Whether this database knows of every answer can't be checked here, so nothing was "
                "changed. Whoever runs this site has to let the web process read WATERMARK_DIR.",
                503,
            ) from away
    return locked


def lock_row(ledger: Ledger) -> Ledger:
    """Return the ledger's row, locked, for callers that `check` it in the same transaction."""
    return Ledger.objects.select_for_update(no_key=True).get(pk=ledger.pk)


def check(ledger: Ledger, *, only_look: bool = False) -> None:
    """Check that the locked ledger knows all that was released. Raises Rewound or WatermarkAway.

    only_look: nothing is written, and the watermark need not be writable.
    """

    def follows(head: watermark.Head) -> bool:
        named = {"number": head.number + 1, "previous_hash": head.hash}
        after = {"holdout__ledger": ledger, **named}
        return any(model.objects.filter(**after).exists() for model in (Release, LedgerNote))

    known = watermark.Head(ledger.entries, ledger.head_hash)
    watermark.check(
        ledger.uid, known, watermarked=ledger.watermarked, follows=follows, only_look=only_look
    )
    if watermark.has_ended(ledger.uid, only_look=only_look):
        ended = Round.objects.filter(ledger=ledger, finals_started_at__isnull=False)
        if not ended.exists():
            raise watermark.EndUndone
