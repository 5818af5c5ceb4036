"""What operators measure: the queue, outcomes, times and budgets, by aggregates of whole tables.

Nothing here is for participants. Times and counts may depend on the holdout through releases alone.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import (
    Case,
    Count,
    Exists,
    F,
    FloatField,
    Func,
    Min,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Sum,
    When,
)

from leaderboard import models
from leaderboard.models import FINAL, BoardState, Release, Status, Submission, TeamState

EDGES = (0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 3600)
NO_LIMIT = 2**40
# What a submission goes through, by the moments at which each part begins and ends.
SPANS = {
    "all": ("asked_at", "finished_at"),
    "wait": ("asked_at", "claimed_at"),
    "read": ("claimed_at", "read_at"),
    "measure_and_release": ("read_at", "finished_at"),
}


@dataclass(frozen=True)
class Queue:
    """What isn't finished: how many by competition and status, and since when the oldest of each
    status is there (accepted, or taken by a worker)."""

    lengths: dict[tuple[str, str], int]
    queued_since: datetime | None
    scoring_since: datetime | None


@dataclass(frozen=True)
class Ledger:
    """The head of a ledger that has an active solution.

    `unassigned` is the budget that is in no team's share yet, `shares` what is left in all shares;
    None where the mechanism has no budget. `uid` is what the watermark calls it; a ledger that is
    paused has the reason (a `Pause`), and the reason in words.
    """

    competition: str
    entries: int
    unassigned: int | None
    shares: int | None
    uid: str
    hash: str
    watermarked: bool
    paused_for: str
    paused_because: str


# How many took at most each of EDGES seconds, how many there were, and all their seconds.
Histogram = tuple[tuple[int, ...], int, float]


class _Seconds(Func):
    """Seconds from one moment to a later one."""

    arity = 2
    output_field = FloatField()

    def as_sqlite(self, compiler: Any, connection: Any, **context: Any) -> Any:
        template = "((julianday(%(expressions)s)) * 86400.0)"
        return self.as_sql(
            compiler, connection, template=template, arg_joiner=") - julianday(", **context
        )

    def as_postgresql(self, compiler: Any, connection: Any, **context: Any) -> Any:
        template = "date_part('epoch', %(expressions)s)"
        return self.as_sql(compiler, connection, template=template, arg_joiner=" - ", **context)


def queue() -> Queue:
    """Return the queue now; reads unfinished submissions only."""
    unfinished = Submission.objects.exclude(status__in=FINAL)
    counted = unfinished.values_list("team__competition__slug", "status").annotate(n=Count("pk"))
    oldest = unfinished.aggregate(
        queued=Min("created_at", filter=Q(status=Status.QUEUED)),
        scoring=Min("claimed_at", filter=Q(status=Status.SCORING)),
    )
    return Queue(
        {(slug, status): n for slug, status, n in counted.order_by()},
        oldest["queued"],
        oldest["scoring"],
    )


def ledgers() -> list[Ledger]:
    """Return the ledgers that have an active solution."""
    active = models.Holdout.objects.active().filter(ledger=OuterRef("pk"))
    budgets = BoardState.objects.filter(ledger=OuterRef("pk"))
    shares = TeamState.objects.filter(holdout__ledger=OuterRef("pk"), holdout__retired_at=None)
    rows = models.Ledger.objects.filter(Exists(active)).values_list(
        "competition__slug",
        "entries",
        _sum(budgets, "budget_left"),
        _sum(shares, "share_left"),
        "uid",
        "head_hash",
        "watermarked",
        "paused_for",
        "paused_because",
    )
    return [Ledger(*row) for row in rows.order_by("competition__slug", "pk")]


def _sum(rows: QuerySet[Any], field: str) -> Subquery:
    return Subquery(rows.order_by().annotate(all=Func(field, function="SUM")).values("all"))


def outcomes() -> dict[tuple[str, str], int]:
    """Return how many submissions of each competition were released, rejected, failed."""
    finished = Submission.objects.filter(status__in=FINAL)
    counted = finished.values_list("team__competition__slug", "status").annotate(n=Count("pk"))
    return {(slug, status): n for slug, status, n in counted.order_by()}


def _asked_at() -> Case:
    """Return since when a submission was to be scored as it is now.

    Since it was accepted, or since its answer on an earlier revision was to be replaced.
    """
    revised_at = F("release__holdout__created_at")
    earlier = Release.objects.filter(
        submission=OuterRef("pk"), holdout__version__lt=OuterRef("release__holdout__version")
    )
    again = Q(created_at__lt=revised_at) & Exists(earlier)
    return Case(When(again, then=revised_at), default=F("created_at"))


def times() -> dict[str, Histogram]:
    """Return how long released submissions took, in all and by part, as cumulative histograms.

    One that was scored again is counted from the revision on that asked for it.
    """
    released = Submission.objects.filter(
        status=Status.RELEASED, claimed_at__isnull=False, read_at__isnull=False
    )
    released = released.annotate(asked_at=_asked_at()).annotate(
        **{name: _Seconds(F(end), F(start)) for name, (start, end) in SPANS.items()}
    )
    sums: dict[str, Any] = {"count": Count("pk")}
    for name in SPANS:
        sums[f"{name}_seconds"] = Sum(name)
        for number, edge in enumerate(EDGES):
            sums[f"{name}_{number}"] = Count("pk", filter=Q(**{f"{name}__lte": edge}))
    # The limit, which none reaches, keeps the times a subquery: each is computed once.
    found = released[:NO_LIMIT].aggregate(**sums)
    return {
        name: (
            tuple(found[f"{name}_{number}"] for number in range(len(EDGES))),
            found["count"],
            float(found[f"{name}_seconds"] or 0),
        )
        for name in SPANS
    }
