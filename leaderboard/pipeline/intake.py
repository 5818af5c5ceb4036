"""Accept an upload: bytes go to storage, a queued row to the database, its id to the queue."""

from __future__ import annotations

import hashlib
import logging
import secrets
from datetime import datetime, timedelta
from pathlib import PurePath

from django.conf import settings
from django.core.files.base import File
from django.core.files.storage import default_storage
from django.db import OperationalError, transaction
from django.db.models import QuerySet
from django.utils import timezone

from leaderboard.errors import Refused
from leaderboard.ledger.gates import check_may_ask
from leaderboard.models import (
    Campaign,
    Competition,
    EventKind,
    Gate,
    Membership,
    Phase,
    Round,
    Sanction,
    SanctionKind,
    Status,
    Submission,
    Team,
    TokenGrant,
    User,
)
from leaderboard.notify import events
from leaderboard.participate import campaigns
from leaderboard.participate.notes import NOTE_LENGTH
from leaderboard.participate.quotas import check_own_limits, is_repeat, quota
from leaderboard.pipeline import claims, turns
from leaderboard.pipeline.queue import enqueue_accepted
from leaderboard.platform import logs, outages
from leaderboard.platform.statements import insert_row, prepared

logger = logging.getLogger(__name__)

NAME_LENGTH = 200


def submit(
    *,
    team: Team,
    user: User,
    upload: File[bytes],
    message: str = "",
    claimed: float | None = None,
    arrived: datetime | None = None,
    campaign: str = "",
    grant: TokenGrant | None = None,
    gate: str = "",
) -> Submission:
    """Accept a prediction file for scoring, or for the gate of this name.

    campaign: the name of the team's campaign that it belongs to. grant: of the token that sends it,
    whose own campaign and quota hold then.
    arrived: when the head of the request was there. It decides about the deadline, and breaks ties,
    if the rest came within UPLOAD_SECONDS; otherwise, and where nothing is known, now does.

    Raises Refused, having changed nothing, if the user isn't a member, the competition isn't open,
    a limit is reached, the campaign is unknown or has ended, the file is empty or too large, a
    claimed score is missing, there is no space left, or the competition is deleted meanwhile.
    """
    moment = _moment_that_counts(arrived)
    round = team.competition.round_at(moment)
    limit = min(round.max_file_bytes, settings.MAX_UPLOAD_BYTES)
    if not upload.size:
        raise Refused("file_empty")
    if upload.size > limit:
        raise Refused("file_too_large", limit=limit)
    asked = _find_gate(round, gate, claimed)
    digest = hashlib.sha256()
    for chunk in upload.chunks():  # from the beginning, wherever the file stands
        digest.update(chunk)
    upload.seek(0)
    sha256 = digest.hexdigest()
    found = campaigns.find(team, campaign, grant)
    _check_may_submit(team, round, user, moment, sha256, asked, found, grant)
    try:
        known = _stored_before(team, sha256, upload.size)
        stored = known or _store(upload, sha256)
    except OSError as error:
        logger.exception("A file could not be stored.")
        raise Refused("storage_full" if outages.is_full(error) else "unavailable") from error
    try:
        limits = campaign, grant, gate
        return _accept(team, user, upload, stored, sha256, message, claimed, moment, *limits)
    except (Refused, OperationalError) as error:
        full = outages.is_full(error)
        # Any other error of the database may have come after the commit: the row needs its file.
        if not known and (full or isinstance(error, Refused)):
            _discard(stored)
        if full:
            raise Refused("storage_full") from error
        raise


def _moment_that_counts(arrived: datetime | None) -> datetime:
    now = timezone.now()
    waited = now - (arrived or now)
    counts = timedelta(0) <= waited <= timedelta(seconds=settings.UPLOAD_SECONDS)
    return now - waited if counts else now


def _accept(
    team: Team,
    user: User,
    upload: File[bytes],
    stored: str,
    sha256: str,
    message: str,
    claimed: float | None,
    moment: datetime,
    campaign: str,
    grant: TokenGrant | None,
    gate: str,
) -> Submission:
    """Insert the row, and enqueue its id once that is committed."""
    with transaction.atomic(durable=True):
        # Everything is read again: deadline and limits may have changed while the file was stored.
        # The team's lock serializes quotas and numbers, and starting the finals waits for it. The
        # competition is read by a query of its own: after waiting for a lock, a join would still
        # show its state from before.
        locked = _lock_team(team.pk)
        if not locked:
            raise Refused("not_found", variant="competition")
        (team,) = locked
        (competition,) = _competition(team.competition_id)
        round = competition.round_at(moment)
        found = campaigns.find(team, campaign, grant)
        asked = _find_gate(round, gate, claimed)
        takes_quota = _check_may_submit(team, round, user, moment, sha256, asked, found, grant)
        is_long = turns.is_long(round, upload.size or 0)
        submission = Submission(
            team=team,
            round=round,
            user=user,
            campaign=found,
            token_grant=grant,
            number=1 + max(_last_number(team.pk), default=0),
            file=stored,
            file_name=PurePath(upload.name or "predictions").name[:NAME_LENGTH],
            sha256=sha256,
            size=upload.size or 0,
            message=message.strip()[:NOTE_LENGTH],
            claimed_score=claimed,
            gate=asked,
            takes_quota=takes_quota,
            is_practice=round.takes_practice,
            is_long=is_long,
            turn=turns.next_turn(team, round, is_long=is_long),
            created_at=moment,
            enqueued_at=timezone.now(),
        )
        insert_row(submission)
        events.record_submission(
            submission, EventKind.SUBMISSION_ACCEPTED, actor=user, sha256=sha256
        )
        logs.bind(submission_id=submission.pk)
        transaction.on_commit(lambda: enqueue_quietly(submission))
    logger.info("Submission %s is accepted.", submission.pk)
    return submission


@prepared
def _lock_team(team: int) -> QuerySet[Team]:
    return Team.objects.select_for_update(no_key=True).filter(pk=team).order_by()


@prepared
def _competition(competition: int) -> QuerySet[Competition]:
    texts = "description", "rules", "data_description"
    return Competition.objects.filter(pk=competition).defer(*texts).order_by()


@prepared
def _last_number(team: int) -> QuerySet[Submission, int]:
    sent = Submission.objects.filter(team=team).order_by("-number")
    return sent.values_list("number", flat=True)[:1]


def enqueue_quietly(submission: Submission) -> None:
    """Enqueue a committed submission; nothing may turn its acceptance into an error any more."""
    try:
        enqueue_accepted(submission)
    except Exception:
        logger.exception("Submission %s is accepted but not enqueued.", submission.pk)


def _find_gate(round: Round, name: str, claimed: float | None) -> Gate | None:
    """Return the gate of this name; without a name the boards answer, which may want a claim.

    Raises Refused.
    """
    if not name:
        claims.check(round, claimed)
        return None
    found = round.gates.open().select_related("board__round").filter(name=name).first()
    if found is None:
        raise Refused("invalid", field="gate", variant="no_such_gate", name=name)
    return found


def _check_may_submit(
    team: Team,
    round: Round,
    user: User,
    now: datetime,
    sha256: str,
    gate: Gate | None,
    campaign: Campaign | None,
    grant: TokenGrant | None,
) -> bool:
    """Return whether a file of these bytes takes a unit of the quota. Raises Refused."""
    phase = round.phase(now)
    has_ended = phase is Phase.CLOSED or round.finals_started_at is not None
    if has_ended and not round.takes_practice:
        raise Refused("deadline_passed", closes_at=round.closes_at)
    if not has_ended and phase is not Phase.OPEN:
        raise Refused(
            "competition_not_open", opens_at=round.opens_at if phase is Phase.UPCOMING else None
        )
    if round.paused_for:
        raise Refused("paused", variant=round.paused_for)
    if not _membership(team.pk, user.pk):
        raise Refused("not_a_member")
    for reason in _disqualified(team.pk):
        raise Refused("disqualified", reason=reason)
    # The quota is read before the repeats: whatever took the last unit is then seen as one of them.
    left = quota(team, round, now)
    takes_quota = not is_repeat(team, round, sha256, gate)
    if gate is not None and (takes_quota or has_ended):
        _check_gate(gate, round)
    left.check(takes_quota=takes_quota)
    if takes_quota:
        check_own_limits(campaign, grant)
    return takes_quota


@prepared
def _membership(team: int, user: int) -> QuerySet[Membership, int]:
    own = Membership.objects.active().filter(team=team, user=user)
    return own.order_by().values_list("pk", flat=True)


@prepared
def _disqualified(team: int) -> QuerySet[Sanction, str]:
    held = Sanction.objects.at().of_teams().filter(team=team, kind=SanctionKind.DISQUALIFIED)
    return held.values_list("reason", flat=True)


def _check_gate(gate: Gate, round: Round) -> None:
    """Raise Refused where the gate can't be asked anything new."""
    holdout = round.active_holdout
    if round.ledger is None or holdout is None:
        raise Refused("gate_closed", variant="none")
    check_may_ask(gate, round.ledger, holdout)


def _stored_before(team: Team, sha256: str, size: int | None) -> str | None:
    """Return the stored file of an earlier submission of the same bytes, if it is whole.

    A file that a crash cut short while it was stored has no row; the submission of a damaged one
    of the right size has failed.
    """
    for name in _good_files(team.pk, sha256):
        if default_storage.exists(name) and default_storage.size(name) == size:
            return name
    return None


@prepared
def _good_files(team: int, sha256: str) -> QuerySet[Submission, str]:
    same = Submission.objects.filter(team=team, sha256=sha256)
    good = same.exclude(file__in=same.filter(status=Status.FAILED).values("file"))
    return good.order_by("file").values_list("file", flat=True).distinct()


def _store(upload: File[bytes], sha256: str) -> str:
    """Store the file under its hash and a random suffix, so that nobody else writes there."""
    name = f"submissions/{sha256[:2]}/{sha256}-{secrets.token_hex(8)}"
    try:
        return default_storage.save(name, upload)
    except outages.StorageAway:
        raise  # asking it to delete would only take as long again
    except OSError:
        _discard(name)
        raise


def _discard(name: str) -> None:
    """Delete a file that no row refers to. Where that fails, it stays and does no harm."""
    try:
        default_storage.delete(name)
    except OSError:
        logger.warning("A file that nobody needs could not be deleted.")
