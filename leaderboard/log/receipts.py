"""Receipts: what the web server signs when it accepts a file."""

import logging

from django.conf import settings
from django.db.models import QuerySet

from leaderboard.log import keys
from leaderboard.models import LogEntry, Submission
from leaderboard.platform.statements import prepared
from scoring.transparency.receipts import Receipt

logger = logging.getLogger(__name__)


def receipt_of(submission: Submission) -> str | None:
    """Return the signed promise that a submission's entry is in the log, or will be in time.

    It is the same whenever it is asked for, and names the team and the number that the submission
    was accepted under. None where it was accepted before there was a log, or there is no key.
    """
    entry = next(iter(_accepted(submission.pk)), None)
    if entry is None or entry.opening is None:
        return None
    receipt = Receipt(
        origin=keys.origin(entry.competition),
        team=entry.document["team"],
        submission=entry.document["submission"],
        sha256=entry.opening["file"],
        salt=bytes.fromhex(entry.opening["salt"]),
        at=entry.document["at"],
        delay=settings.LOG_DELAY_SECONDS,
    )
    try:
        return str(receipt.sign(keys.receipt_key(entry.competition)))
    except keys.NoKey as missing:
        logger.error("No receipt can be signed: %s", missing)
        return None


@prepared
def _accepted(submission: int) -> QuerySet[LogEntry]:
    written = LogEntry.objects.filter(submission=submission, kind="accepted")
    needed = "document", "opening", "competition__uid"
    return written.select_related("competition").only(*needed)[:1]
