"""Submissions that are stuck."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.timesince import timesince

from leaderboard.models import Round, Status, Submission
from leaderboard.operate.doctor.report import Finding, more_workers, ok, wrong
from leaderboard.pipeline import publish

WAITING = timedelta(minutes=5)
NAMED = 5


def submissions() -> Iterator[Finding]:
    """Check that none waits too long, is held past its lease, or has failed.

    Nor may finals and publications wait for somebody to finish them.
    """
    problems = list(_problems(timezone.now()))
    queued = Submission.objects.filter(status=Status.QUEUED).count()
    yield from problems or [ok(f"None is stuck; {queued} wait.")]


def _problems(now: datetime) -> Iterator[Finding]:
    patience = max(WAITING, timedelta(seconds=2 * settings.REQUEUE_SECONDS))
    late = Submission.objects.filter(status=Status.QUEUED, created_at__lt=now - patience)
    oldest = late.order_by("created_at").first()
    if oldest is not None:
        yield wrong(
            f"{late.count()} wait to be scored, the oldest (submission {oldest.pk}) for "
            f"{_spoken(oldest.created_at, now)}.",
            "See redis, workers, sweeper and ledgers. If all are well, there is too much for "
            f"the workers: {more_workers()}.",
        )
    lease = timedelta(seconds=settings.LEASE_SECONDS) + timedelta(minutes=1)
    held = Submission.objects.filter(status=Status.SCORING, claimed_at__lt=now - lease)
    if held.exists():
        yield wrong(
            f"{held.count()} are held by workers past their lease ({_named(held)}).",
            "The sweeper gives them to another worker: see sweeper.",
        )
    failed = Submission.objects.filter(status=Status.FAILED, round__finals_started_at__isnull=True)
    last = failed.order_by("-finished_at").first()
    if last is not None:
        yield wrong(
            f"{failed.count()} failed ({_named(failed)}). The last: {last.failure}",
            "Fix the cause, the worker's log has more; then queue them again: "
            "`python manage.py requeue`.",
        )
    late_finals = Round.objects.filter(
        finals_started_at__lt=now - WAITING, finals_scored_at__isnull=True
    )
    for round in late_finals.select_related("competition").order_by("competition__slug", "number"):
        since = _spoken(round.finals_started_at or now, now)
        yield wrong(
            f"The final scores of {round.competition.slug} have been incomplete for {since}.",
            "The worker's log says why. Fix that; the sweeper asks for them again by itself.",
        )
    ordered = publish.to_publish().filter(ledger__rounds__publication_at__lt=now - WAITING)
    for holdout in publish.unclaimed(ordered).select_related("ledger__competition"):
        yield wrong(
            f"Nobody writes the publication of {holdout}, which its organizer has asked for.",
            "The worker's log says why. Fix that; the sweeper asks for it again by itself.",
        )


def _named(found: QuerySet[Submission]) -> str:
    ids = [str(pk) for pk in found.order_by("-pk").values_list("pk", flat=True)[: NAMED + 1]]
    return ", ".join(ids[:NAMED]) + (", …" if len(ids) > NAMED else "")


def _spoken(since: datetime, now: datetime) -> str:
    return timesince(since, now).replace("\xa0", " ")
