"""The ledger as its organizer sees it: what was asked, what is left, how wide certificates are."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from django.core.exceptions import ObjectDoesNotExist
from django.db.models import Count, Q
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from leaderboard.admin.steps import show
from leaderboard.models import Competition, Holdout, Team
from leaderboard.queries import holdout_in_force, scale
from scoring import mechanisms, metrics
from scoring.errors import HoldfastError
from scoring.measurement import Mean, Measurement
from scoring.mechanisms import base
from scoring.metrics import Metric

if TYPE_CHECKING:
    from leaderboard.admin.competition import CompetitionAdmin

SPARSE_VALIDATE: Final = "sparse_validate"
_SHARES_SHOWN = 100
# Questions asked and answers given, to show how certificates widen.
_MILESTONES = ((1, 0), (100, 10), (1_000, 50), (10_000, 200))


@dataclass(frozen=True)
class Forecast:
    """How wide the certificate of question number `question` is, as a loss; None: no certificate.

    `answered` earlier questions had an answer that said more than "no".
    """

    question: int
    answered: int
    width: float | None


@dataclass(frozen=True)
class Share:
    """A team's part of the budget."""

    team: Team
    releases: int
    left: int | None


@dataclass(frozen=True)
class Ledger:
    """The head of the ledger of the holdout in force."""

    holdout: Holdout
    asked: int
    answered: int
    budget_left: int | None
    releases: int
    head_hash: str
    next: Forecast | None
    teams: int
    shares: tuple[Share, ...]


class _Silent:
    """No noise: the width of an answer doesn't depend on it."""

    def laplace(self, scale: Fraction, draw: str, index: int) -> int:
        return 0

    def gaussian(self, sigma: Fraction, draw: str, index: int) -> int:
        return 0


@require_safe
def page(request: HttpRequest, competition: Competition, owner: CompetitionAdmin) -> HttpResponse:
    """Asked, answered, what is left, and each team's share."""
    context = {"ledger": ledger(competition), "plan": plan(competition)}
    return show(request, owner, competition, "budget", context)


def ledger(competition: Competition) -> Ledger | None:
    """The ledger's head; None for a competition that has not been opened."""
    holdout = holdout_in_force(competition)
    if holdout is None:
        return None
    try:
        state = holdout.state
    except ObjectDoesNotExist:
        return None
    head = base.HoldoutState(
        state.asked, state.answered, state.log_alphabets, state.firings, state.budget_left
    )
    return Ledger(
        holdout=holdout,
        asked=state.asked,
        answered=state.answered,
        budget_left=state.budget_left,
        releases=state.releases,
        head_hash=state.head_hash,
        next=forecast(competition, holdout, head),
        teams=holdout.team_states.count(),
        shares=tuple(_shares(holdout)),
    )


def plan(competition: Competition) -> list[Forecast]:
    """How certificates of this competition widen with use; empty until a solution is sealed."""
    holdout = holdout_in_force(competition)
    if holdout is None:
        return []
    try:
        heads = [_head(competition, asked - 1, answered) for asked, answered in _MILESTONES]
    except HoldfastError:
        return []
    found = [forecast(competition, holdout, head) for head in heads]
    return [forecast for forecast in found if forecast is not None]


def grid(competition: Competition) -> str:
    """Which scores the board can show; empty until metric and mechanism are chosen."""
    try:
        reads = scale(competition)
    except HoldfastError:
        return ""
    if competition.mechanism == SPARSE_VALIDATE:
        return ""
    places = reads.decimals
    worst, best = (f"{score:,.{places}f}" for score in (reads.worst, reads.best))
    about, _, step = reads.step_text(0.5).rpartition(" ")
    return (
        f"The board shows scores from {worst}, the worst, to {best}, the best, in steps of "
        f"{about and 'about '}{float(step):,.{places}f}. What differs by less may look the same."
    )


def _head(competition: Competition, asked: int, answered: int) -> base.HoldoutState:
    """A ledger after so many questions, had every answer had its largest alphabet."""
    mechanism = mechanisms.get(competition.mechanism)
    params = mechanism.parse(competition.mechanism_parameters)
    return base.HoldoutState(
        asked=asked,
        answered=answered,
        log_alphabets=answered * math.log(params.alphabet),
        firings=answered,
        budget_left=mechanism.initial_holdout(params).budget_left,
    )


def forecast(
    competition: Competition, holdout: Holdout, head: base.HoldoutState
) -> Forecast | None:
    """The certificate of the next answer: a function of published facts, so made-up predictions
    with the loss 1/2 on all rows show it as well as any."""
    try:
        mechanism = mechanisms.get(competition.mechanism)
        params = mechanism.parse(competition.mechanism_parameters)
        _, team = mechanism.initial_team(params, mechanism.initial_holdout(params))
        measurement = _made_up(metrics.get(competition.metric), competition, holdout)
        _, answer = mechanism.step(params, base.State(head, team), measurement, _Silent())
    except HoldfastError:
        return None
    return Forecast(answer.asked, head.answered, answer.certificate)


def _made_up(metric: Metric, competition: Competition, holdout: Holdout) -> Measurement:
    resolution = metric.resolution(metric.parse(competition.metric_parameters))
    additive = metric.is_mean

    def half(rows: int) -> Mean:
        return Mean(rows * resolution // 2, rows, resolution, additive)

    private, public = holdout.effective_private_rows, holdout.effective_public_rows
    return Measurement(half(private), half(public or private))


def _shares(holdout: Holdout) -> Iterator[Share]:
    """The teams with the least left, at most `_SHARES_SHOWN`."""
    counted = holdout.team_states.select_related("team").annotate(
        entries=Count("team__releases", filter=Q(team__releases__holdout=holdout))
    )
    for state in counted.order_by("share_left", "team__name")[:_SHARES_SHOWN]:
        yield Share(state.team, state.entries, state.share_left)
