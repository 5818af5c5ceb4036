"""What may change, and until when: a draft, its schema, and the way back to it."""

from typing import Any

from django.db import transaction
from django.utils import timezone

from leaderboard.access import Right, check_right
from leaderboard.errors import Refused
from leaderboard.ledger import lock
from leaderboard.models import (
    Audience,
    BoardState,
    Competition,
    CompetitionFile,
    EventKind,
    Gate,
    Holdout,
    Ledger,
    LedgerNote,
    Pause,
    Release,
    Round,
    Submission,
    User,
)
from leaderboard.notify import events
from leaderboard.organize.changes import changed
from leaderboard.organize.files import delete_stored
from leaderboard.participate import tokens
from scoring.predictions import Schema


def is_frozen(round: Round) -> bool:
    """Return whether an answer has left the holdout: then its meaning may not change any more.

    Also an answer that a restored database has forgotten: another solution would begin another
    ledger, with a budget of its own.
    """
    ledger = round.ledger
    if ledger is None:
        return False
    entries = (model.objects.filter(holdout__ledger=ledger) for model in (Release, LedgerNote))
    if any(found.exists() for found in entries):
        return True
    return Ledger.objects.filter(pk=ledger.pk, paused_for=Pause.REWOUND).exists()


def change_schema(round: Round, schema: Schema, *, by: User | None = None) -> bool:
    """Write another schema; return whether that withdrew a solution.

    A solution is encoded by the schema that it was read with. Raises Refused unless the
    competition is a draft.
    """
    with transaction.atomic():
        locked = locked_draft(round, by)
        if locked.schema == schema.to_json():
            return False
        before, locked.schema = locked.schema, schema.to_json()
        round.schema = locked.schema
        locked.save(update_fields=["schema"])
        record_draft(
            locked,
            EventKind.SCORING_CHANGED,
            by,
            changed({"schema": before}, {"schema": locked.schema}),
        )
        return withdraw(locked, by)


def withdraw_solution(round: Round, *, by: User | None = None) -> None:
    """Retire the sealed solution, so that sample and solution can be repaired in a draft."""
    with transaction.atomic():
        withdraw(locked_draft(round, by), by)


def return_to_draft(competition: Competition, *, by: User | None = None) -> None:
    """Take an opening back, as long as nobody has submitted. Raises Refused after that."""
    with transaction.atomic():
        locked = lock.lock(competition)
        lock.lock_teams(locked)
        check_right(by, locked, Right.EDIT)
        rounds = list(locked.rounds.select_related("ledger"))
        if has_answers(locked):
            raise Refused("frozen", variant="submitted")
        if any(round.publication_at for round in rounds):
            raise Refused("frozen", variant="published")
        if Gate.objects.filter(round__competition=locked).exists():
            raise Refused("frozen", variant="gates")
        locked.opened_by_organizer_at = None
        locked.save(update_fields=["opened_by_organizer_at"])
        events.record(locked, EventKind.RETURNED_TO_DRAFT, actor=by)
    competition.refresh_from_db()


def delete_competition(competition: Competition, *, by: User | None = None) -> None:
    """Delete a competition that nobody has submitted to, with all that belongs to it.

    Raises Refused after the first submission: quotas and the ledger would be forgotten.
    """
    with transaction.atomic():
        locked = lock.lock(competition)
        lock.lock_teams(locked)
        check_right(by, locked, Right.OWN)
        if has_answers(locked):
            raise Refused("has_submissions")
        for holdout in Holdout.objects.filter(ledger__competition=locked):
            delete_stored(holdout.sealed_solution)
            delete_stored(holdout.publication)
            holdout.delete()
        for entry in CompetitionFile.objects.filter(round__competition=locked):
            delete_stored(entry.file)
        tokens.revoke_bound(locked)
        locked.rounds.update(ledger=None, continues=None)
        BoardState.objects.filter(ledger__competition=locked).delete()
        locked.ledgers.all().delete()
        locked.delete()


def has_answers(competition: Competition) -> bool:
    """Return whether somebody has submitted, or an answer has left a holdout."""
    if Submission.objects.filter(team__competition=competition).exists():
        return True
    return any(is_frozen(round) for round in competition.rounds.select_related("ledger"))


def is_coming(round: Round) -> bool:
    """Return whether a round comes behind the current one: participants see nothing of it yet."""
    return round.number > round.competition.current_round.number


def locked_draft(round: Round, by: User | None) -> Round:
    """Return the round of a locked competition. Raises Refused if `by` may not set it up now.

    That takes a draft, or a coming round that brings rows of its own.
    """
    competition = lock.lock(round.competition)
    check_right(by, competition, Right.EDIT)
    locked = competition.rounds.select_related("competition", "ledger").get(pk=round.pk)
    may_change = is_coming(locked) and locked.continues_id is None
    if competition.opened_by_organizer_at is not None and not may_change:
        raise Refused("not_a_draft")
    # A file that came in while the opening was taken back may have been scored since.
    if is_frozen(locked):
        raise Refused("frozen")
    return locked


def withdraw(draft: Round, by: User | None = None) -> bool:
    """Retire the solution of a locked draft; return whether there was one."""
    active = Holdout.objects.active().filter(ledger__isnull=False, ledger=draft.ledger)
    versions = list(active.values_list("version", flat=True))
    active.update(retired_at=timezone.now())
    for version in versions:
        data = changed({"version": version}, {"version": None})
        record_draft(draft, EventKind.SOLUTION_SEALED, by, data)
    return bool(versions)


def record_draft(
    draft: Round, kind: EventKind, by: User | None, data: dict[str, Any], **subjects: Any
) -> None:
    """Record what was done to a round that can still be set up; of a draft only organizers read."""
    is_draft = draft.competition.opened_by_organizer_at is None
    events.record(
        draft.competition,
        kind,
        actor=by,
        audience=Audience.ORGANIZERS if is_draft else Audience.PUBLIC,
        subjects={"round": draft.number} | subjects,
        **data,
    )
