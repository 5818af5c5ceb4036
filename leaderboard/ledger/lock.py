"""The one way to lock a ledger: what changes it, or builds on it, has the rewind guard asked first.

`tests/test_layers.py` keeps others from locking a ledger's row by themselves.
"""

from __future__ import annotations

from leaderboard.errors import Refused
from leaderboard.ledger import watermark
from leaderboard.models import Competition, Holdout, HoldoutState, LedgerNote, Release


def lock(competition: Competition) -> Competition:
    """The competition, locked against changes, and its ledger against releases.

    For what organizers do: raises Refused where the database knows less than the guard, or the
    guard can't be read.
    """
    locked = Competition.objects.select_for_update().get(pk=competition.pk)
    for row in list(HoldoutState.objects.select_for_update().filter(holdout__competition=locked)):
        if row.holdout.retired_at is None:
            _refuse_unless_whole(row)
    return locked


def lock_row(holdout: Holdout) -> HoldoutState:
    """The ledger's row, for who asks the guard by `check` in the same transaction."""
    return HoldoutState.objects.select_for_update().get(holdout=holdout)


def check(row: HoldoutState, holdout: Holdout, *, only_look: bool = False) -> None:
    """Whether the locked ledger knows all that was released. Raises Rewound, or GuardAway.

    only_look: nothing is written, and the guard need not be writable.
    """

    def follows(head: watermark.Head) -> bool:
        after = {
            "holdout__competition_id": holdout.competition_id,
            "number": head.number + 1,
            "previous_hash": head.hash,
        }
        return any(model.objects.filter(**after).exists() for model in (Release, LedgerNote))

    name, known = row.name_for(holdout), watermark.Head(row.releases, row.head_hash)
    watermark.check(name, known, guarded=row.guarded, follows=follows, only_look=only_look)
    if watermark.has_ended(name, only_look=only_look):
        answering = Competition.objects.filter(finals_started_at__isnull=True)
        if answering.filter(pk=holdout.competition_id).exists():
            raise watermark.EndUndone


def _refuse_unless_whole(row: HoldoutState) -> None:
    try:
        check(row, row.holdout, only_look=True)
    except watermark.Rewound as rewound:
        raise Refused.paused() from rewound
    except watermark.GuardAway as away:
        raise Refused(
            "guard_away",
            "The ledger can't be compared with its guard",
            "Whether this database knows of every answer can't be told here, so nothing was "
            "changed. Whoever runs this site has to give the web process GUARD_DIR to read.",
            503,
        ) from away
