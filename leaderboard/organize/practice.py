"""Practice after the reveal: teams go on submitting, outside the ranking."""

from django.db import transaction
from django.utils import timezone

from leaderboard.access import Right, check_right
from leaderboard.errors import Refused
from leaderboard.ledger import lock
from leaderboard.ledger.accounts import season_code
from leaderboard.models import EventKind, Round, User
from leaderboard.notify import events
from leaderboard.organize.same_rows import claim_rows


def change_practice(round: Round, *, is_open: bool, by: User | None = None) -> None:
    """Let teams submit again to a round whose final scores are revealed, or end that.

    Answers are entries of its ledger as ever; board and final places stay as they are, and what was
    accepted is scored. Raises Refused before the reveal, once the solution is published, and where
    a later round has begun or asks the rows, or another competition does.
    """
    with transaction.atomic():
        competition = lock.lock(round.competition)
        check_right(by, competition, Right.EDIT)
        locked = Round.objects.select_related("competition", "ledger").get(pk=round.pk)
        if is_open:
            check_may_practise(locked)
            if (holdout := locked.active_holdout) is not None:
                claim_rows(locked, holdout.row_ids_digest)
        if is_open != (locked.practice_opened_at is not None):
            locked.practice_opened_at = timezone.now() if is_open else None
            if locked.code_before_practice is None and locked.ledger is not None:
                locked.code_before_practice = season_code(locked.ledger)
            locked.save(update_fields=["practice_opened_at", "code_before_practice"])
            events.record(
                competition,
                EventKind.PRACTICE_CHANGED,
                actor=by,
                subjects={"round": locked.number},
                open=is_open,
            )
    round.refresh_from_db(fields=["practice_opened_at", "code_before_practice"])


def check_may_practise(round: Round) -> None:
    """Raise Refused, saying what stands against practice on the rows of a round."""
    if round.revealed_at is None:
        raise Refused("no_practice", variant="before_reveal")
    if round.publication_at is not None:
        raise Refused("no_practice", variant="published")
    if Round.objects.filter(ledger=round.ledger, number__gt=round.number).exists():
        raise Refused("no_practice", variant="later_round")
    if round.number != round.competition.current_round.number:
        raise Refused("no_practice", variant="newer_rows")
