"""Takes an upload in: bytes to storage, a queued row to the database, its id to the queue."""

from __future__ import annotations

import hashlib
import logging
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import PurePath

from django.conf import settings
from django.core.files.base import File
from django.core.files.storage import default_storage
from django.db import OperationalError, transaction
from django.db.models import Max
from django.utils import timezone

from leaderboard.errors import Refused
from leaderboard.models import (
    COUNTED,
    Competition,
    Membership,
    Phase,
    Status,
    Submission,
    Team,
    User,
)
from leaderboard.pipeline import claims
from leaderboard.pipeline.queue import enqueue
from leaderboard.platform import logs, outages

logger = logging.getLogger(__name__)

MESSAGE_LENGTH = 300
NAME_LENGTH = 200
REJECTED_PER_DAY = 100


def submit(
    *,
    team: Team,
    user: User,
    upload: File[bytes],
    message: str = "",
    claimed: float | None = None,
) -> Submission:
    """Accepts a prediction file for scoring.

    Raises Refused, having changed nothing, if the user isn't a member, the competition isn't open,
    a limit is reached, the file is empty or too large, a claimed score is missing, or there is no
    space left.
    """
    competition = team.competition
    _check_size(upload, competition)
    claims.check(competition, claimed)
    _check_may_submit(team, user, timezone.now())
    sha256 = _digest(upload)
    with _storing():
        known = _stored_before(team, sha256, upload.size)
        stored = known or _store(upload, sha256)
    try:
        return _accept(team, user, upload, stored, sha256, message, claimed)
    except (Refused, OperationalError) as error:
        full = outages.is_full(error)
        # Any other error of the database may have come after the commit: the row needs its file.
        if not known and (full or isinstance(error, Refused)):
            _discard(stored)
        if full:
            raise Refused.storage_full() from error
        raise


def _accept(
    team: Team,
    user: User,
    upload: File[bytes],
    stored: str,
    sha256: str,
    message: str,
    claimed: float | None,
) -> Submission:
    """Inserts the row, and has its id sent once that is committed."""
    with transaction.atomic(durable=True):
        # Read again, because deadline and limits may have changed while the file was stored.
        # The competition in a query of its own: behind a lock that was waited for, a join would
        # still show it as it was before.
        team = Team.objects.select_for_update().get(pk=team.pk)
        team.competition = Competition.objects.get(pk=team.competition_id)
        now = timezone.now()
        _check_may_submit(team, user, now)
        submission = Submission.objects.create(
            team=team,
            user=user,
            number=_next_number(team),
            file=stored,
            file_name=PurePath(upload.name or "predictions").name[:NAME_LENGTH],
            sha256=sha256,
            size=upload.size or 0,
            message=message.strip()[:MESSAGE_LENGTH],
            claimed_score=claimed,
            created_at=now,
        )
        logs.bind(submission_id=submission.pk)
        transaction.on_commit(lambda: enqueue_quietly(submission.pk))
    logger.info("Submission %s is accepted.", submission.pk)
    return submission


def enqueue_quietly(submission_id: int) -> None:
    """The row is committed, so nothing that the queue does may turn acceptance into an error."""
    try:
        enqueue(submission_id)
    except Exception:
        logger.exception("Submission %s is accepted but not enqueued.", submission_id)


def day_start(now: datetime) -> datetime:
    """When the day of `now` began, in UTC: daily limits renew then."""
    return now.replace(hour=0, minute=0, second=0, microsecond=0)


def _check_size(upload: File[bytes], competition: Competition) -> None:
    limit = min(competition.max_file_bytes, settings.MAX_UPLOAD_BYTES)
    if not upload.size:
        raise Refused.file_empty()
    if upload.size > limit:
        raise Refused.file_too_large(limit)


def _check_may_submit(team: Team, user: User, now: datetime) -> None:
    competition = team.competition
    _check_phase(competition, now)
    if competition.paused_for():
        raise Refused.paused()
    if not Membership.objects.filter(team=team, user=user).exists():
        raise Refused.not_a_member()
    today = team.submissions.filter(created_at__gte=day_start(now))
    renews_at = day_start(now) + timedelta(days=1)
    if today.filter(status__in=COUNTED).count() >= competition.daily_limit:
        raise Refused.daily_limit_reached(competition.daily_limit, renews_at)
    if today.filter(status=Status.REJECTED).count() >= REJECTED_PER_DAY:
        raise Refused.too_many_rejected(REJECTED_PER_DAY, renews_at)
    total = competition.total_limit
    if total is not None and team.submissions.filter(status__in=COUNTED).count() >= total:
        raise Refused.total_limit_reached(total)


def _check_phase(competition: Competition, now: datetime) -> None:
    phase = competition.phase(now)
    if phase is Phase.CLOSED or competition.finals_started_at is not None:
        raise Refused.deadline_passed(competition.closes_at)
    if phase is not Phase.OPEN:
        raise Refused.not_open_yet(competition.opens_at if phase is Phase.UPCOMING else None)


def _digest(upload: File[bytes]) -> str:
    digest = hashlib.sha256()
    upload.seek(0)
    for chunk in upload.chunks():
        digest.update(chunk)
    upload.seek(0)
    return digest.hexdigest()


@contextmanager
def _storing() -> Iterator[None]:
    """Where the storage fails, that is logged once and nothing is accepted."""
    try:
        yield
    except OSError as error:
        logger.exception("A file could not be stored.")
        raise Refused.storage_full() if outages.is_full(error) else Refused.unavailable() from error


def _stored_before(team: Team, sha256: str, size: int | None) -> str | None:
    """The stored file of an earlier submission of the same bytes, if it is whole. What a crash cut
    short while it was being stored has no row; one of the right size that is damaged has failed."""
    same = team.submissions.filter(sha256=sha256)
    good = same.exclude(file__in=same.filter(status=Status.FAILED).values("file"))
    names = good.order_by("file").values_list("file", flat=True)
    return next((name for name in names.distinct() if _is_whole(name, size)), None)


def _is_whole(name: str, size: int | None) -> bool:
    return default_storage.exists(name) and default_storage.size(name) == size


def _store(upload: File[bytes], sha256: str) -> str:
    """Stores the file under its hash and a name of its own, so that nobody else writes there."""
    name = f"submissions/{sha256[:2]}/{sha256}-{secrets.token_hex(8)}"
    try:
        return default_storage.save(name, upload)
    except outages.StorageAway:
        raise  # asking it to delete would only take as long again
    except OSError:
        _discard(name)
        raise


def _discard(name: str) -> None:
    """Deletes a file that no row refers to. Where that fails, it stays and does no harm."""
    try:
        default_storage.delete(name)
    except OSError:
        logger.warning("A file that nobody needs could not be deleted.")


def _next_number(team: Team) -> int:
    last: int | None = team.submissions.aggregate(last=Max("number"))["last"]
    return (last or 0) + 1
