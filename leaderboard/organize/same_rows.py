"""Rows that another ledger of the site answers on: two counts of the same rows would both be wrong.

The web process can't compare labels, and competitions with ids from 1 to n are no rarity. So rows
are the same where the ids are, in their order, and the competition is a clone's family or publishes
the very same test data.
"""

from django.db.models import Q

from leaderboard.errors import Refused
from leaderboard.models import Competition, CompetitionFile, FileRole, Holdout, Pause, Round


def check_rows_are_free(round: Round, row_ids_digest: str) -> None:
    """Raise Refused where a ledger of another competition answers on these rows."""
    competition = round.competition
    files = CompetitionFile.objects.filter(role=FileRole.TEST)
    tests = files.filter(round=round.origin).values("sha256")
    same_data = files.filter(sha256__in=tests).values("round__competition")
    kin = Q(ledger__competition__in=same_data)
    if competition.family:
        kin |= Q(ledger__competition__family=competition.family)
    asking = Round.objects.filter(
        competition__opened_by_organizer_at__isnull=False, finals_started_at__isnull=True
    )
    answering = (
        Holdout.objects.active()
        .filter(kin, row_ids_digest=row_ids_digest, ledger__rounds__in=asking)
        .exclude(ledger__competition=competition)
        .exclude(ledger__paused_for__in=(Pause.MOVED, Pause.ARCHIVED))
    )
    other = Competition.objects.filter(ledgers__holdouts__in=answering).first()
    if other is not None:
        raise Refused("invalid", field="solution", variant="rows_answered", other=other.title)
