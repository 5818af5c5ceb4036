"""What may change, and until when: a draft, its schema and scoring, and the way back to it."""

from __future__ import annotations

from dataclasses import dataclass

from django.db import transaction
from django.utils import timezone

from leaderboard.errors import Refused
from leaderboard.ledger import lock
from leaderboard.models import Competition, Halt, HoldoutState, LedgerNote, Release, Submission
from leaderboard.organize.files import delete_stored
from scoring.predictions import Schema


def is_frozen(competition: Competition) -> bool:
    """Whether an answer has left the holdout: then its meaning may not change any more.

    Also an answer that a restored database has forgotten: another solution would begin another
    ledger, with a budget of its own.
    """
    entries = (model.objects.filter(holdout__competition=competition) for model in _ENTRIES)
    if any(found.exists() for found in entries):
        return True
    states = HoldoutState.objects.filter(holdout__competition=competition)
    return states.filter(halted_for=Halt.REWOUND).exists()


_ENTRIES = (Release, LedgerNote)


@dataclass(frozen=True)
class Scoring:
    """How a competition scores: names in the registries, parameters as their JSON texts."""

    metric: str
    metric_parameters: dict[str, str]
    mechanism: str
    mechanism_parameters: dict[str, str]


def change_schema(competition: Competition, schema: Schema) -> bool:
    """Writes another schema; True if that withdrew a solution, which was encoded by the old one.

    Raises Refused unless the competition is a draft.
    """
    with transaction.atomic():
        locked = locked_draft(competition)
        if locked.schema == schema.to_json():
            return False
        locked.schema = competition.schema = schema.to_json()
        locked.save(update_fields=["schema"])
        return _withdraw(locked)


def change_scoring(competition: Competition, scoring: Scoring) -> bool:
    """Writes metric and mechanism; True if that withdrew a solution, checked by the old metric.

    Raises Refused unless the competition is a draft.
    """
    with transaction.atomic():
        locked = locked_draft(competition)
        before = (locked.metric, locked.metric_parameters)
        for name, value in vars(scoring).items():
            setattr(locked, name, value)
            setattr(competition, name, value)
        locked.save(update_fields=list(vars(scoring)))
        changed = before != (scoring.metric, scoring.metric_parameters)
        return changed and _withdraw(locked)


def withdraw_solution(competition: Competition) -> None:
    """Takes the holdout out of force, so that sample and solution can be mended in a draft."""
    with transaction.atomic():
        _withdraw(locked_draft(competition))


def return_to_draft(competition: Competition) -> None:
    """Takes an opening back, as long as nobody has submitted. Raises Refused after that."""
    with transaction.atomic():
        locked = lock.lock(competition)
        if Submission.objects.filter(team__competition=locked).exists() or is_frozen(locked):
            raise Refused(
                "frozen",
                "This is frozen",
                "Somebody has submitted: what the competition asks must not change any more.",
            )
        if locked.unsealed_at is not None:
            raise Refused("frozen", "This is frozen", "Its true labels are public by now.")
        locked.opened_by_organizer_at = None
        locked.save(update_fields=["opened_by_organizer_at"])
    competition.refresh_from_db()


def delete_competition(competition: Competition) -> None:
    """Deletes a competition that nobody has submitted to, with all that belongs to it.

    Raises Refused after the first submission: quotas and the ledger would be forgotten.
    """
    with transaction.atomic():
        locked = lock.lock(competition)
        if Submission.objects.filter(team__competition=locked).exists() or is_frozen(locked):
            raise Refused(
                "has_submissions",
                "The competition has submissions",
                "A competition that somebody has submitted to is kept, with its ledger. Set its "
                "visibility to hidden instead.",
            )
        HoldoutState.objects.filter(holdout__competition=locked).delete()
        for holdout in locked.holdouts.all():
            delete_stored(holdout.sealed_solution)
            delete_stored(holdout.opening)
            holdout.delete()
        for entry in locked.files.all():
            delete_stored(entry.file)
        locked.delete()


def frozen(what: str) -> Refused:
    """The refusal of a change to what scores were released from."""
    return Refused(
        "frozen",
        "This is frozen",
        f"The {what} is frozen: scores have been released from it, and their meaning must not "
        "change afterwards.",
    )


def locked_draft(competition: Competition) -> Competition:
    """The competition, locked; raises Refused if it is not a draft."""
    locked = lock.lock(competition)
    if locked.opened_by_organizer_at is not None:
        raise Refused(
            "not_a_draft",
            "The competition is open",
            "What the competition asks is fixed while it is open: participants rely on it.",
        )
    # A file that came in while the opening was taken back may have been scored since.
    if is_frozen(locked):
        raise frozen("competition")
    return locked


def _withdraw(draft: Competition) -> bool:
    in_force = draft.holdouts.filter(retired_at__isnull=True)
    return in_force.update(retired_at=timezone.now()) > 0
