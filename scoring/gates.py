"""Gates: yes-or-no questions about the Private rows, each fixed before it is asked.

For programs that need no score: is this file above a mark, is it not worse than the one in use by
more than a tolerance, is it surely better than it? Of each answer one bit leaves, and is charged.

A ledger declares at its start how many gates it answers, H, and keeps half of beta for them
(`scoring.ledger.Terms`). Gate t rests on a share of that half and on the law of the history before
it (theory.md 10.1, one side)

    pi_t = 2^(t-1) / 2^H,    Q_t = 2^-(t-1) (sequential laws of all other answers),

a coin's law for each gate before. So L = ln(2 / beta) + H ln 2 + (code of the other answers) is the
same for all gates: a ledger that answers nothing else promises the first as much as the last, and
says beforehand how many it bears. This is the count of Renggli et al., "Continuous Integration of
Machine Learning Models with ease.ml/ci" (2019), for H steps that may follow from each other, with a
margin by the rows on which predictions differ; here a margin has one side. The count of theory.md
2.1 has no part in it: gates come at moments that follow from answers, which it does not foresee.

What an answer promises (`promise`) errs to one side only: a truth can't be above the upper end and
below the lower one, so that one exp(-L) covers both.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal, Self, get_args

import numpy as np

from scoring.duels import Comparison, compare, is_surely_better
from scoring.errors import ParameterError, StateError
from scoring.guarantees.conditions import require, require_positive
from scoring.guarantees.intervals import kl_lower, kl_upper
from scoring.laws.books import COIN, Account
from scoring.laws.exact import MILLION
from scoring.ledger import Terms
from scoring.measurement import Mean, Secret, weighted_mean
from scoring.metrics.base import Metric, Parameters
from scoring.predictions import Predictions, Solution, Usage
from scoring.predictions.codes import row_codes

GateKind = Literal["mark", "not_worse", "better"]


@dataclass(frozen=True)
class Gate:
    """A question, as it is published before anybody asks it.

    bound: of a "mark" the largest loss that passes, of "not_worse" the tolerance in loss; 0 of
        "better". Losses lie in [0, 1].
    differing: the largest share of the rows on which a file may differ from the one in use; only
        "not_worse" depends on it, whose margin grows with its root.
    """

    kind: GateKind
    bound: Fraction = Fraction(0)
    differing: Fraction = Fraction(1)

    def __post_init__(self) -> None:
        """Raise ParameterError naming the field, for what can't be asked."""
        if self.kind not in get_args(GateKind):
            kinds = ", ".join(get_args(GateKind))
            raise ParameterError("kind", f"A gate is one of {kinds}.")
        if not 0 <= self.bound < 1 or (self.kind == "better" and self.bound):
            raise ParameterError("bound", "A mark or a tolerance is a loss from 0 to below 1.")
        if not 0 < self.differing <= 1:
            raise ParameterError("differing", "A share of the rows is above 0 and at most 1.")

    @property
    def compares(self) -> bool:
        """Return whether it needs the file in use."""
        return self.kind != "mark"

    def check(self, metric: Metric) -> None:
        """Raise ParameterError where nothing can be promised of this metric."""
        if not metric.is_mean:
            raise ParameterError("metric", f"{metric.title}: {metric.guarantee}")

    def to_json(self) -> dict[str, str]:
        """Return the facts as they are published."""
        return {
            "kind": self.kind,
            "bound": str(self.bound),
            "differing": str(self.differing),
        }

    @classmethod
    def from_json(cls, facts: Mapping[str, Any]) -> Self:
        """Return the gate of published facts."""
        return cls(facts["kind"], Fraction(facts["bound"]), Fraction(facts["differing"]))


@dataclass(frozen=True, repr=False)
class Evidence(Secret):
    """What the private rows say for one gate: never shown or stored.

    found: the mean loss. known: that of the file in use. differs: on more rows than announced.
    """

    found: Mean | None = None
    known: Mean | None = None
    comparison: Comparison | None = None
    differs: bool = False


@dataclass(frozen=True)
class Promise:
    """What answers say of the true mean loss, or of how much larger it is than the other file's.

    high: a pass says that it is at most this. low: a fail says that it is at least this; None where
    it says nothing. A file that differs on more rows than announced fails, whatever it loses.
    """

    high: float
    low: float | None

    @property
    def margin(self) -> float:
        """Return how far apart both are from what was asked, the sum of the two."""
        return self.high - (self.high if self.low is None else self.low)


@dataclass(frozen=True)
class Reading:
    """A gate and what its answers promise, in scores, or of a comparison in differences of them.

    margin: how far from `bound` an answer may err at most, to either side.
    """

    bound: float
    high: float
    low: float | None
    margin: float


def in_scores(gate: Gate, promise: Promise, metric: Metric, params: Parameters) -> Reading:
    """Return a promise as people read it: a tolerance is how many units of the score are lost."""
    worst, best = metric.score_range(params)

    def read(loss: float) -> float:
        if gate.kind == "mark":
            return float(metric.score(loss, params))
        return loss * abs(best - worst)

    bound, high = read(float(gate.bound)), read(promise.high)
    low = None if promise.low is None else read(promise.low)
    ends = [high] if low is None else [high, low]
    return Reading(bound, high, low, max(abs(end - bound) for end in ends))


def loss_of_mark(metric: Metric, params: Parameters, score: float) -> Fraction:
    """Return the largest loss that reaches a score, to a millionth. Raises ParameterError."""
    low, high = sorted(metric.score_range(params))
    if not low <= score <= high:
        raise ParameterError("mark", f"A mark is a score from {low:g} to {high:g}.")
    return Fraction(round(metric.loss(score, params) * MILLION), MILLION)


def loss_of_tolerance(metric: Metric, params: Parameters, scores: float) -> Fraction:
    """Return a difference of scores as one of losses, to a millionth. Raises ParameterError."""
    if metric.kind != "mean":
        raise ParameterError(
            "tolerance",
            f"{metric.title} is no plain mean, so a difference of scores is no difference of "
            "losses. Ask whether the file is surely better, or set a mark.",
        )
    worst, best = metric.score_range(params)
    tolerance = Fraction(round(scores / abs(best - worst) * MILLION), MILLION)
    if not 0 <= tolerance < 1:
        raise ParameterError("tolerance", "A tolerance is not negative and below the whole range.")
    return tolerance


def share_differing(predictions: Predictions, known: Predictions) -> Fraction:
    """Return on which share of all rows two files differ; no label has a part in it."""
    rows = np.ones(predictions.rows, np.bool_)
    codes = [row_codes(each, rows) for each in (predictions, known)]
    return Fraction(int(np.count_nonzero(codes[0] != codes[1])), len(rows))


def measure(
    gate: Gate,
    metric: Metric,
    params: Parameters,
    solution: Solution,
    predictions: Predictions,
    known: Predictions | None = None,
) -> Evidence:
    """Measure what a gate asks on the Private rows; `known` is the file in use. Raise StateError.

    Only where labels are read.
    """
    private = solution.usage == Usage.PRIVATE
    if gate.kind == "mark":
        return Evidence(metric.measure(predictions, solution, private, params))
    if known is None:
        raise StateError("The gate compares with a file in use.")
    if gate.kind == "better":
        return Evidence(comparison=compare(metric, params, solution, predictions, known))
    files = predictions, known
    found, before = (metric.measure(each, solution, private, params) for each in files)
    codes = [row_codes(each, private) for each in files]
    weights = solution.weights_of(private)
    apart = weighted_mean(
        codes[0] != codes[1], np.ones(len(codes[0])) if weights is None else weights
    )
    return Evidence(found, before, differs=apart > gate.differing)


def passes(gate: Gate, evidence: Evidence, length: int) -> bool:
    """Return the bit: exactly, from whole units; `length` is L of this question."""
    if evidence.comparison is not None:
        return is_surely_better(evidence.comparison, length)
    assert evidence.found is not None  # noqa: S101  (one of the two is measured)
    loss = Fraction(evidence.found.units, evidence.found.whole)
    if evidence.known is not None:
        loss -= Fraction(evidence.known.units, evidence.known.whole)
    return loss <= gate.bound and not evidence.differs


def gate_length(terms: Terms, account: Account, beta: Fraction) -> int:
    """Return L of the gates that come now, in millionths of a nat: the same for each of them.

    beta: of the ledger, half of which gates have. Raises ConditionError where none were declared.
    """
    require(terms.gate_limit is not None, "The ledger declares its gates when it begins.")
    others = replace(account, gates=0).length(Fraction(0))
    return terms.gate_budget(beta) + others


def count_left(terms: Terms, account: Account) -> int:
    """Return how many gates the ledger still answers."""
    return max(0, (terms.gate_limit or 0) - account.gates)


def charge_gate(account: Account) -> Account:
    """Return the account after a gate's answer: one bit by a coin's law."""
    return replace(account, gates=account.gates + 1)


def promise(gate: Gate, length: int, rows: int, rounding: float = 0.0) -> Promise:
    """Return what a gate's answers promise at L = `length`, in millionths, on Private rows.

    rows: the effective ones, the whole weight by that of the heaviest group. rounding: how far a
    mean loss as it is counted may be from the exact one.

    A mark: by KL. A tolerance: differences d are in [-1, 1] on rows whose predictions differ, 0 on
    the others. These have the share s of the weight at most, so the squares of the groups' weights
    on them sum to s / rows at most, and by Hoeffding the mean is off by sqrt(2 L s / rows).
    """
    require_positive(rows=rows)
    nats, bound = length / MILLION, float(gate.bound)
    if gate.kind == "mark":
        high, low = kl_upper(rows, bound, nats), kl_lower(rows, bound, nats)
        return Promise(min(1.0, high + rounding), max(0.0, low - rounding))
    if gate.kind == "better":
        return Promise(0.0, None)
    off = math.sqrt(2 * nats * float(gate.differing) / rows) + 2 * rounding
    return Promise(min(1.0, bound + off), max(-1.0, bound - off))


def rows_needed(gates: int, margin: float, beta: Fraction, differing: Fraction) -> int:
    """Return the fewest plain rows on which so many tolerances err by `margin` at most.

    On a ledger that answers nothing else. The setting of ease.ml/ci, 32 gates, .01, .0001 and a
    tenth of the rows, takes 64,209.
    """
    require_positive(margin=margin)
    length = gate_length(Terms(gate_limit=gates), Account(), beta)
    return math.ceil(2 * length / MILLION * float(differing) / margin**2)


def count_gates(rows: int, margin: float, beta: Fraction, differing: Fraction) -> int:
    """Return how many tolerances so many plain rows bear with this margin; see `rows_needed`."""
    require_positive(rows=rows, margin=margin)
    borne = int(margin**2 * rows / (2 * float(differing)) * MILLION)
    first = gate_length(Terms(gate_limit=1), Account(), beta)
    return max(0, 1 + (borne - first) // COIN)
