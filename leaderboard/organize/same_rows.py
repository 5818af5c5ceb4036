"""Rows that another ledger of the site answers on: two counts of the same rows would both be wrong.

The web process can't compare labels, and competitions with ids from 1 to n are no rarity. So rows
are the same where the ids are, in their order, and the competition is a clone's family or publishes
the very same test data.
"""

from django.db.models import Q

from leaderboard.errors import Refused
from leaderboard.ledger import lock
from leaderboard.models import (
    Competition,
    CompetitionFile,
    FileRole,
    Handover,
    Holdout,
    Pause,
    Round,
)


def claim_rows(round: Round, row_ids_digest: str) -> None:
    """Check the same in the transaction that lets a ledger answer, so that of two one is refused.

    Call it under `lock.lock`. Raises Refused.
    """
    lock.lock_claims()
    check_rows_are_free(round, row_ids_digest)


def check_rows_are_free(round: Round, row_ids_digest: str) -> None:
    """Raise Refused where another ledger answers on these rows, or one of this competition did."""
    competition = round.competition
    files = CompetitionFile.objects.filter(role=FileRole.TEST)
    tests = files.filter(round=round.origin).values("sha256")
    same_data = Q(ledger__rounds__in=files.filter(sha256__in=tests).values("round"))
    of_family = Q(ledger__competition__family=competition.family)
    own = Q(ledger__competition=competition)
    asking = Round.objects.filter(
        Q(finals_started_at__isnull=True) | Q(practice_opened_at__isnull=False),
        competition__opened_by_organizer_at__isnull=False,
    )
    # A copy whose secrets are here answers as soon as a worker has opened them.
    coming = Handover.objects.filter(is_incoming=True, finished_at=None).values("competition")
    is_copy = Q(ledger__paused_for=Pause.ARCHIVED) & ~Q(ledger__competition__in=coming)
    kin = same_data | of_family if competition.family else same_data
    answers = kin & ~own & Q(ledger__rounds__in=asking) & ~is_copy
    has_answered = own & same_data & Q(ledger__entries__gt=0)
    same = Holdout.objects.active().filter(row_ids_digest=row_ids_digest)
    found = same.filter(answers & ~Q(ledger__paused_for=Pause.MOVED) | has_answered)
    if round.ledger_id is not None:
        found = found.exclude(ledger=round.ledger_id)
    other = Competition.objects.filter(ledgers__holdouts__in=found).first()
    if other == competition:
        raise Refused("invalid", field="solution", variant="rows_answered_before")
    if other is not None:
        raise Refused("invalid", field="solution", variant="rows_answered", other=other.title)
