"""Whether the public logs have keys, and heads that keep up with them."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from django.conf import settings
from django.utils import timezone

from leaderboard.log import heads, keys
from leaderboard.models import Competition, LogEntry
from leaderboard.operate.doctor.report import Finding, note, ok, wrong
from leaderboard.platform.secrets import LOG_KEY


def public_log() -> Iterator[Finding]:
    """Check the keys that this process has, and that every log has a head over what is old."""
    if LOG_KEY.source:
        yield _key()
    else:
        yield note(
            "This process can't sign heads, as it should be for all but workers.",
            "To have the key looked at, run the doctor where a worker runs.",
        )
    late = [found for count in heads.behind() if (found := _late(count.competition))]
    yield from late or [ok("Every log has a signed head, and none lags.")]


def _key() -> Finding:
    try:
        keys.log_key(Competition())
    except keys.NoKey as missing:
        return wrong(
            f"{missing} No head is signed.",
            "Put the key back from your backup; if there never was one, run `python manage.py "
            "log_key`.",
        )
    return ok("The key that signs heads is readable.")


def _late(competition: Competition) -> Finding | None:
    """Return what is wrong with a log whose newest head is older than what was promised."""
    head = heads.newest(competition)
    unsigned = LogEntry.objects.filter(
        competition=competition, index__gte=head.size if head else 0
    ).order_by("index")
    first = unsigned.first()
    if first is None:
        return None
    at = datetime.fromisoformat(first.document["at"])
    late = timezone.now() - at - timedelta(seconds=settings.LOG_DELAY_SECONDS)
    if late < timedelta():
        return None
    return wrong(
        f"The log of {competition.slug} has no signed head over entry {first.index}, of "
        f"{at:%Y-%m-%d %H:%M:%S} UTC.",
        "A worker with LOG_KEY_FILE has to run, and to write below WATERMARK_DIR; its log says "
        "what is in the way. After the restore of a backup see docs/operations.md, Restoring.",
    )
