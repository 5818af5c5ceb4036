"""Record what happened, in the transaction of the change."""

from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import F
from django.utils import timezone

from leaderboard.models import Audience, Competition, Event, EventCount, EventKind, Submission, User


def record(
    competition: Competition,
    kind: EventKind,
    *,
    actor: User | None = None,
    audience: Audience = Audience.PUBLIC,
    subjects: dict[str, Any] | None = None,
    **data: Any,
) -> Event:
    """Write an event. Call it last in the transaction of the change that it reports.

    It takes the row of the competition's count, which nobody holds while waiting for another lock:
    so transactions that lock other things in different orders can't block each other here. Raises
    TransactionManagementError outside a transaction.
    """
    if not transaction.get_connection().in_atomic_block:
        raise transaction.TransactionManagementError("An event belongs to the change it reports.")
    count = EventCount.objects.filter(competition=competition)
    if not count.update(number=F("number") + 1):
        EventCount.objects.get_or_create(competition=competition)
        count.update(number=F("number") + 1)
    return Event.objects.create(
        competition=competition,
        number=count.values_list("number", flat=True).get(),
        kind=kind,
        audience=audience,
        actor=actor,
        subjects=subjects or {},
        data=data,
        created_at=timezone.now(),
    )


def long_wait(submission: Submission) -> dict[str, Any]:
    """Return what an event tells of a first result that was waited for so long; else nothing."""
    minutes = int((timezone.now() - submission.created_at).total_seconds() // 60)
    is_long = submission.release_id is None and minutes >= settings.LONG_RUN_MINUTES
    return {"minutes": minutes} if is_long else {}


def record_submission(
    submission: Submission, kind: EventKind, *, actor: User | None = None, **data: Any
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
        **data,
    )
