"""Report to Prometheus. Totals come from the database when it asks.

Counts kept by a process would restart with it and differ between web processes; rows are the same
for all. Whatever reads whole tables is cached long enough to take at most a twentieth of the time.
Only requests are counted by the processes themselves, in files that they share; see
`leaderboard/platform/request_monitoring.py`.
"""

import time
from collections.abc import Iterator, Sequence
from itertools import product

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
from leaderboard.platform import broker, health, request_monitoring
from leaderboard.queries import operation
from leaderboard.queries.operation import EDGES, Ledger

KEPT = "metrics-totals"
KEPT_SECONDS = 5.0
KEPT_SHARE = 20
WAITED = "How long the oldest queued submission has waited since it was accepted; 0: none waits."
HELD = "How long a worker has held the submission it took first; 0: none is held."
UNFINISHED = [status for status in Status if status not in FINAL]


def exposition(accept: str) -> tuple[bytes, str]:
    """Return all figures in the format that the Accept header asks for, and its content type."""
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
            found = [*_ledgers(operation.ledgers()), *_finished()]
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


def _ledgers(ledgers: Sequence[Ledger]) -> Iterator[Metric]:
    queue, now = operation.queue(), timezone.now()
    length = GaugeMetricFamily(
        "holdfast_queue_length", "Submissions not finished.", labels=["competition", "status"]
    )
    slugs = {ledger.competition for ledger in ledgers} | {slug for slug, _ in queue.lengths}
    for slug, status in product(sorted(slugs), UNFINISHED):
        length.add_metric([slug, status], queue.lengths.get((slug, status), 0))
    yield length
    for name, what, since in (
        ("holdfast_queue_oldest_seconds", WAITED, queue.queued_since),
        ("holdfast_scoring_oldest_seconds", HELD, queue.scoring_since),
    ):
        age = 0.0 if since is None else max(0.0, (now - since).total_seconds())
        yield GaugeMetricFamily(name, what, value=age)
    entries = CounterMetricFamily(
        "holdfast_releases", "Entries of the ledger.", labels=["competition"]
    )
    budget = GaugeMetricFamily(
        "holdfast_budget_left",
        "Answers left of a ledger's budget: in teams' shares, and not in any share yet.",
        labels=["competition", "part"],
    )
    paused = GaugeMetricFamily(
        "holdfast_paused", "1 where a ledger answers nobody.", labels=["competition"]
    )
    for ledger in ledgers:
        paused.add_metric([ledger.competition], bool(ledger.paused_for))
        entries.add_metric([ledger.competition], ledger.entries)
        if ledger.unassigned is not None:
            budget.add_metric([ledger.competition, "unassigned"], ledger.unassigned)
            budget.add_metric([ledger.competition, "shares"], ledger.shares or 0)
    yield from (entries, budget, paused)


def _finished() -> Iterator[Metric]:
    # From the cache that all processes share, so that none is behind another.
    kept = cache.get(KEPT)
    if kept is None:
        started = time.monotonic()
        counted = [[*key, count] for key, count in operation.outcomes().items()]
        kept = counted, operation.times()
        took = time.monotonic() - started
        cache.set(KEPT, kept, timeout=max(KEPT_SECONDS, KEPT_SHARE * took))
    outcomes, times = kept
    finished = GaugeMetricFamily(
        "holdfast_submissions_finished",
        "Finished submissions by outcome. Falls when failed ones are queued again.",
        labels=["competition", "outcome"],
    )
    for slug, status, count in sorted(outcomes):
        finished.add_metric([slug, status], count)
    yield finished
    parts = HistogramMetricFamily(
        "holdfast_submission_seconds",
        "Time of released submissions, accepted to released (all) and by part.",
        labels=["part"],
    )
    edges = [str(float(edge)) for edge in EDGES]
    for part, (at_most, count, seconds) in times.items():
        buckets = [*zip(edges, at_most, strict=True), ("+Inf", count)]
        parts.add_metric([part], buckets, seconds)
    yield parts


def _redis() -> Iterator[Metric]:
    with health.redis_client() as redis:
        workers = health.workers_seen(redis)
        messages = sum(redis.llen(name) for name in (broker.QUEUE, broker.LONG))
    sweeps = health.sweeps()
    yield GaugeMetricFamily(
        "holdfast_workers", "Workers that reported in the last half minute.", value=workers
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
