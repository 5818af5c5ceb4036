"""What Prometheus is told. Totals come from the database when it asks.

Counts that a process keeps would begin anew with it, and each web process would have others; rows
tell the same to all, whoever restarts. What reads whole tables is kept for a while, long enough
that it takes a twentieth of the time at most. Requests alone are counted by the processes
themselves, in files that they share; see `leaderboard/platform/request_monitoring.py`.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass
from datetime import datetime

from django.core.cache import cache
from django.db import DatabaseError
from django.utils import timezone
from prometheus_client import CollectorRegistry
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector
from redis.exceptions import RedisError

from leaderboard.models import FINAL, Status
from leaderboard.platform import health, request_monitoring
from leaderboard.queries import operation
from leaderboard.queries.operation import EDGES, Histogram, Ledger

KEPT = "metrics-totals"
KEPT_SECONDS = 5.0
KEPT_SHARE = 20
UNFINISHED = [status for status in Status if status not in FINAL]


@dataclass(frozen=True)
class _Totals:
    """What is read from whole tables."""

    outcomes: dict[tuple[str, str], int]
    times: dict[str, Histogram]


def exposition(accept: str) -> tuple[bytes, str]:
    """All metrics in the format that the Accept header asks for, and its content type."""
    registry = CollectorRegistry()
    registry.register(_Installation())
    encode, content_type = choose_encoder(accept)
    return encode(registry), content_type


class _Installation(Collector):
    """The whole installation, whichever process is asked."""

    def collect(self) -> Iterator[Metric]:
        yield from request_monitoring.registry().collect()
        up = GaugeMetricFamily("holdfast_up", "Whether a part answers.", labels=["part"])
        try:
            ledgers = operation.ledgers()
            found = [*_queue(ledgers), *_ledgers(ledgers), *_finished(_totals())]
        except DatabaseError:
            found = []
        up.add_metric(["database"], bool(found))
        try:
            redis = list(_redis())
        except (RedisError, OSError):
            redis = []
        up.add_metric(["redis"], bool(redis))
        yield up
        yield from found
        yield from redis


def _queue(ledgers: Sequence[Ledger]) -> Iterator[Metric]:
    queue, now = operation.queue(), timezone.now()
    length = GaugeMetricFamily(
        "holdfast_queue_length", "Submissions not finished.", labels=["competition", "status"]
    )
    slugs = {ledger.competition for ledger in ledgers}
    for slug in sorted(slugs | {slug for slug, _ in queue.lengths}):
        for status in UNFINISHED:
            length.add_metric([slug, status], queue.lengths.get((slug, status), 0))
    yield length
    yield GaugeMetricFamily(
        "holdfast_queue_oldest_seconds",
        "How long the oldest queued submission has waited since it was accepted; 0: none waits.",
        value=_age(queue.queued_since, now),
    )
    yield GaugeMetricFamily(
        "holdfast_scoring_oldest_seconds",
        "How long a worker has held the submission it took first; 0: none is held.",
        value=_age(queue.scoring_since, now),
    )


def _ledgers(ledgers: Sequence[Ledger]) -> Iterator[Metric]:
    releases = CounterMetricFamily(
        "holdfast_releases", "Releases in the ledger in force.", labels=["competition"]
    )
    budget = GaugeMetricFamily(
        "holdfast_budget_left",
        "Answers left of a holdout's budget: in teams' shares, and not in any share yet.",
        labels=["competition", "part"],
    )
    halted = GaugeMetricFamily(
        "holdfast_halted", "1 where a holdout answers nobody.", labels=["competition"]
    )
    for ledger in ledgers:
        halted.add_metric([ledger.competition], bool(ledger.halted_for))
        releases.add_metric([ledger.competition], ledger.releases)
        if ledger.unassigned is not None:
            budget.add_metric([ledger.competition, "unassigned"], ledger.unassigned)
            budget.add_metric([ledger.competition, "shares"], ledger.shares or 0)
    yield releases
    yield budget
    yield halted


def _totals() -> _Totals:
    """Read them from the cache that all processes share, so that none is behind another."""
    kept = cache.get(KEPT)
    if kept is None:
        started = time.monotonic()
        outcomes = [[*key, count] for key, count in operation.outcomes().items()]
        kept = outcomes, {part: astuple(times) for part, times in operation.times().items()}
        took = time.monotonic() - started
        cache.set(KEPT, kept, timeout=max(KEPT_SECONDS, KEPT_SHARE * took))
    outcomes, times = kept
    return _Totals(
        {(slug, status): count for slug, status, count in outcomes},
        {part: Histogram(*columns) for part, columns in times.items()},
    )


def _finished(totals: _Totals) -> Iterator[Metric]:
    finished = GaugeMetricFamily(
        "holdfast_submissions_finished",
        "Finished submissions by outcome. Falls when failed ones are queued again.",
        labels=["competition", "outcome"],
    )
    for (slug, status), count in sorted(totals.outcomes.items()):
        finished.add_metric([slug, status], count)
    yield finished
    parts = HistogramMetricFamily(
        "holdfast_submission_seconds",
        "Time of released submissions, accepted to released (all) and by part.",
        labels=["part"],
    )
    for part, histogram in totals.times.items():
        parts.add_metric([part], _buckets(histogram), histogram.seconds)
    yield parts


def _redis() -> Iterator[Metric]:
    with health.redis_client() as redis:
        workers, messages = health.workers_seen(redis), redis.llen("celery")
    sweeps = health.sweeps()
    yield GaugeMetricFamily(
        "holdfast_workers", "Workers that said so in the last half minute.", value=workers
    )
    yield GaugeMetricFamily("holdfast_messages", "Messages that wait in Redis.", value=messages)
    yield CounterMetricFamily(
        "holdfast_sweeps", "Sweeps done since Redis was emptied.", value=sweeps.count
    )
    yield GaugeMetricFamily(
        "holdfast_last_sweep_timestamp_seconds",
        "When the last sweep was done; 0: not since Redis was emptied.",
        value=sweeps.run or 0,
    )


def _buckets(histogram: Histogram) -> list[tuple[str, float]]:
    edges = [str(float(edge)) for edge in EDGES]
    return [*zip(edges, histogram.at_most, strict=True), ("+Inf", histogram.count)]


def _age(since: datetime | None, now: datetime) -> float:
    return 0.0 if since is None else max(0.0, (now - since).total_seconds())
