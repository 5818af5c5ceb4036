"""Record what happened, in the transaction of the change."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from leaderboard.log import entries, leaves
from leaderboard.models import (
    Audience,
    Competition,
    Event,
    EventCount,
    EventKind,
    Release,
    Submission,
    User,
)
from leaderboard.platform.statements import insert_row, prepared, update_row


def record(
    competition: Competition,
    kind: EventKind,
    *,
    actor: User | None = None,
    audience: Audience = Audience.PUBLIC,
    subjects: dict[str, Any] | None = None,
    leaf: entries.Leaf | None = None,
    **data: Any,
) -> Event:
    """Write an event, and what the log has of it. Call it last in the transaction of the change.

    leaf: the log's entry, where it doesn't follow from the event's kind. It takes the row of the
    competition's count, which nobody holds while waiting for another lock: so transactions that
    lock other things in different orders can't block each other here. Raises
    TransactionManagementError outside a transaction.
    """
    count, now, subjects = _lock(competition), timezone.now(), subjects or {}
    found = [leaf] if leaf else leaves.of_event(competition, kind, subjects, data)
    count.number += 1
    _write(count, competition, found, now)
    event = Event(
        competition=competition,
        number=count.number,
        kind=kind,
        audience=audience,
        actor=actor,
        subjects=subjects,
        data=data,
        created_at=now,
    )
    insert_row(event)
    return event


def log(competition: Competition, leaf: entries.Leaf, *, forget: bool = False) -> None:
    """Write what the log has of a change that no event reports, last in its transaction.

    forget: delete what the earlier entries of this kind about the same team stood for.
    """
    count = _lock(competition)
    if forget:
        entries.forget(count, leaf.kind, leaf.fields["team"])
    _write(count, competition, [leaf], timezone.now())


def begin_logs() -> None:
    """Begin the logs that open competitions of an earlier version lack."""
    opened = Competition.objects.filter(opened_by_organizer_at__isnull=False)
    without = Q(event_count=None) | Q(event_count__log_size=0)
    for competition in opened.filter(without).order_by("pk"):
        with transaction.atomic():
            _write(_lock(competition), competition, (), timezone.now())


def _lock(competition: Competition) -> EventCount:
    if not transaction.get_connection().in_atomic_block:
        raise transaction.TransactionManagementError("An event belongs to the change it reports.")
    if not (found := _lock_count(competition.pk)):
        EventCount.objects.get_or_create(competition=competition)
        found = _lock_count(competition.pk)
    return found[0]


@prepared
def _lock_count(competition: int) -> QuerySet[EventCount]:
    return EventCount.objects.select_for_update(no_key=True).filter(competition=competition)


def _write(
    count: EventCount, competition: Competition, found: Iterable[entries.Leaf], now: datetime
) -> None:
    """Write the log's entries, and how far events and log are; of a draft there is no log."""
    if not count.log_size:
        opened = Competition.objects.filter(opened_by_organizer_at__isnull=False)
        is_open = opened.filter(pk=competition.pk).exists()
        found = leaves.everything(competition) if is_open else ()
    entries.append(count, found, now)
    update_row(count, "number", "log_size", "log_hashes", "forgets")


def long_wait(submission: Submission) -> dict[str, Any]:
    """Return what an event tells of a first result that was waited for so long; else nothing."""
    minutes = int((timezone.now() - submission.created_at).total_seconds() // 60)
    is_long = submission.release_id is None and minutes >= settings.LONG_RUN_MINUTES
    return {"minutes": minutes} if is_long else {}


def record_submission(
    submission: Submission,
    kind: EventKind,
    *,
    actor: User | None = None,
    answers: Sequence[Release] = (),
    **data: Any,
) -> Event:
    """Write an event of a submission, for its team."""
    return record(
        submission.round.competition,
        kind,
        actor=actor,
        audience=Audience.TEAM,
        subjects={
            "team": submission.team.uid,
            "submission": submission.number,
            "round": submission.round.number,
        },
        leaf=leaves.of_submission(submission, kind, answers),
        **data,
    )
