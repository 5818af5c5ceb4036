"""Which mechanism for a competition that is still to come, and what it would certify.

From the sizes of a competition this proposes parameters for each mechanism, says what certificate
each leaves after a normal competition and at worst, and how many private rows the wished tolerance
needs. Everything is computed by the mechanisms themselves, from a ledger as it would then be.
What actually happens on such a board is rehearsed in `rehearsal.py`.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Final, Literal

from scoring.errors import ParameterError
from scoring.guarantees.boards import exact_board_width, ladder_width
from scoring.guarantees.ledger import answers_of_most_histories
from scoring.measurement import Mean, Measurement
from scoring.mechanisms import MECHANISMS
from scoring.mechanisms.base import NO_CERTIFICATE, HoldoutState, Mechanism, State
from scoring.parameters import show

MOST_ROWS: Final = 10**9
CLIMB: Final = Fraction(1, 5)  # the part of the scale that a normal team climbs in all
THRESHOLD_ERRORS: Final = 3  # the threshold, in standard errors of public minus private loss
NOISE_OF_THRESHOLD: Final = 40  # the threshold, in noise scales
SUBMISSIONS_A_CORRECTION: Final = 20
DIGITS_OF_A_PLAIN_BOARD: Final = 5
STEPS: Final = (*range(2, 41), *range(45, 100, 5), *range(100, 201, 10), 250, 500, 1000)

GRIDS: Final = (10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000)
MARK: Final = Fraction(1, 4)  # a loss that normal teams reach half-way

MetricKind = Literal["mean", "set"]


@dataclass(frozen=True)
class Need:
    """A competition that is still to come.

    `rows` private and `public` public rows; without public rows, teams claim their scores.
    `metric` is "mean" for means over rows and "set" for functions of all rows together (AUC, F1).
    `tolerance` is the wished certificate, as a loss. Raises ParameterError naming the field.
    """

    rows: int
    teams: int
    submissions: int
    metric: MetricKind = "mean"
    tolerance: Fraction = Fraction(1, 20)
    confidence: Fraction = Fraction(95, 100)
    public: int = 0

    def __post_init__(self) -> None:
        for field in ("rows", "teams", "submissions"):
            _check(getattr(self, field) >= 1, field, "Give at least 1.")
        _check(self.rows <= MOST_ROWS, "rows", f"Give at most {MOST_ROWS}.")
        _check(self.public >= 0, "public", "Give at least 0.")
        _check(self.metric in {"mean", "set"}, "metric", "Choose mean or set.")
        _check(0 < self.tolerance < Fraction(1, 2), "tolerance", "Give more than 0, below 0.5.")
        _check(0 < self.confidence < 1, "confidence", "Give more than 0, below 1.")

    @property
    def questions(self) -> int:
        """All submissions of all teams."""
        return self.teams * self.submissions

    @property
    def private(self) -> int:
        """The private rows, as mechanisms call them."""
        return self.rows

    @property
    def kind(self) -> str:
        """The metric's kind, as mechanisms call it."""
        return "mean" if self.metric == "mean" else "set_function"

    @property
    def name(self) -> str:
        return "this metric"

    def with_rows(self, rows: int) -> "Need":
        """The same with other private rows, and public rows in proportion."""
        public = math.ceil(Fraction(self.public * rows, self.rows))
        return replace(self, rows=rows, public=public)


@dataclass(frozen=True)
class Proposal:
    """One mechanism for a need.

    `normal` is the certificate, as a loss, of the last submission of a competition with
    `normal_answers` answers that say more than "no"; `worst` the widest that there can be after at
    most `worst_answers`, more than which the mechanism doesn't give. None is no certificate.
    `rows_needed` private rows bring `normal` within the wished tolerance; None if none do.
    `refusal` says why the mechanism does not fit at all.
    """

    mechanism: str
    title: str
    parameters: dict[str, str]
    normal_answers: int
    normal: float | None
    worst_answers: int
    worst: float | None
    rows_needed: int | None
    refusal: str | None = None


@dataclass(frozen=True)
class _Draft:
    """Parameters as texts, and how often a team would be answered with more than a "no"."""

    mechanism: str
    raw: dict[str, str]
    normal_answers: int
    worst_answers: int


def propose(need: Need) -> list[Proposal]:
    """A proposal for each mechanism, the recommended one first."""
    proposals = [_proposal(need, draft) for draft in (_ladder, _thresholdout, _mark)]
    return sorted(proposals, key=_preference)


def plain_board_certificate(need: Need) -> float | None:
    """What a board certifies that shows every score with five decimals (theory.md 4.5)."""
    if need.metric == "set":
        return None
    alphabet = 10**DIGITS_OF_A_PLAIN_BOARD + 1
    width = exact_board_width(need.rows, need.questions, alphabet, float(1 - need.confidence))
    return width if width < NO_CERTIFICATE else None


def certificate_after(
    need: Need, mechanism: str, raw: dict[str, str], answers: int
) -> float | None:
    """The certificate of a team's first submission, if it is the last of all, after so many
    answers. It is a function of published facts, so that made-up losses of 1/2 show it as well as
    any; every answer is taken to have had the mechanism's largest alphabet to choose from."""
    chosen = MECHANISMS[mechanism]
    params = chosen.parse(raw)
    holdout, team = chosen.initial_team(params, chosen.initial_holdout(params))
    earlier = need.questions - 1
    answered = min(answers, earlier)
    head = HoldoutState(
        asked=earlier,
        answered=answered,
        log_alphabets=answered * math.log(params.alphabet),
        firings=answered,
        budget_left=holdout.budget_left,
    )
    _, answer = chosen.step(params, State(head, team), _made_up(need), _Silent())
    return answer.certificate


class _Silent:
    """No noise: a certificate does not depend on it."""

    def laplace(self, scale: Fraction, draw: str, index: int) -> int:
        return 0


def _made_up(need: Need) -> Measurement:
    """A loss of 1/2 on all rows, in half rows so that it is exact."""
    additive = need.metric == "mean"
    holdout = Mean(need.rows, need.rows, 2, additive)
    public = need.public or need.rows
    return Measurement(holdout, Mean(public, public, 2, additive))


def _proposal(need: Need, drafts: Callable[[Need], Iterator[_Draft]]) -> Proposal:
    draft = _best(need, drafts)
    chosen: Mechanism[Any] = MECHANISMS[draft.mechanism]
    refusal = _refusal(need, draft)
    return Proposal(
        mechanism=draft.mechanism,
        title=chosen.title,
        parameters=draft.raw,
        normal_answers=draft.normal_answers,
        normal=None if refusal else _after(need, draft, draft.normal_answers),
        worst_answers=draft.worst_answers,
        worst=None if refusal else _worst(need, draft),
        rows_needed=_rows_needed(need, drafts),
        refusal=refusal,
    )


def _best(need: Need, drafts: Callable[[Need], Iterator[_Draft]]) -> _Draft:
    """The first draft within the tolerance, else the narrowest, else the last."""
    widths: list[tuple[float, _Draft]] = []
    for draft in drafts(need):
        width = _certificate(need, draft)
        if width is not None and width <= need.tolerance:
            return draft
        widths.append((math.inf if width is None else width, draft))
    return min(reversed(widths), key=lambda each: each[0])[1]


def _certificate(need: Need, draft: _Draft) -> float | None:
    if _refusal(need, draft):
        return None
    return _after(need, draft, draft.normal_answers)


def _after(need: Need, draft: _Draft, answers: int) -> float | None:
    return certificate_after(need, draft.mechanism, draft.raw, answers)


def _worst(need: Need, draft: _Draft) -> float | None:
    """Once almost all questions are answered, one more leaves fewer histories, not more."""
    alphabet = MECHANISMS[draft.mechanism].parse(draft.raw).alphabet
    most = min(draft.worst_answers, need.questions - 1)
    widest = min(most, answers_of_most_histories(need.questions, alphabet))
    found = [_after(need, draft, answers) for answers in (most, widest)]
    certificates = [each for each in found if each is not None]
    return max(certificates) if len(certificates) == len(found) else None


def _refusal(need: Need, draft: _Draft) -> str | None:
    chosen = MECHANISMS[draft.mechanism]
    try:
        chosen.check(chosen.parse(draft.raw), need, need)
    except ParameterError as error:
        return error.message
    return None


def _rows_needed(need: Need, drafts: Callable[[Need], Iterator[_Draft]]) -> int | None:
    """By bisection of the logarithm, to three digits, upwards."""

    def enough(rows: int) -> bool:
        there = need.with_rows(rows)
        width = _certificate(there, _best(there, drafts))
        return width is not None and width <= need.tolerance

    if need.metric == "set" or not enough(MOST_ROWS):
        return None
    low, high = 1, MOST_ROWS
    while high > low * 1.002 + 1:
        middle = max(low + 1, math.isqrt(low * high))
        low, high = (low, middle) if enough(middle) else (middle, high)
    return _three_digits(high)


def _three_digits(number: int) -> int:
    unit = int(10 ** max(0, len(str(number)) - 3))
    return math.ceil(number / unit) * unit


def _ladder(need: Need) -> Iterator[_Draft]:
    """The steps that the holdout allows, finest first; at last those that protect best from one
    team on its own, for a board that can certify nothing to all of them."""
    finest = max(2, math.isqrt(16 * need.rows))
    allowed = [steps for steps in reversed(STEPS) if steps <= finest]
    protective = min(allowed, key=lambda steps: _alone(need, steps))
    for steps in (*allowed, protective):
        normal = min(need.submissions, 1 + math.ceil(CLIMB * steps))
        worst = min(need.submissions, 1 + steps)
        raw = {"steps": str(steps), "confidence": str(need.confidence)}
        yield _Draft("ladder", raw, normal * need.teams, worst * need.teams)


def _alone(need: Need, steps: int) -> float:
    """How far the board can be from the best true loss of a team that nobody else helps."""
    return ladder_width(need.rows, need.submissions, 1 / steps, float(1 - need.confidence))


def _thresholdout(need: Need) -> Iterator[_Draft]:
    """A threshold that honest scores seldom cross by chance, noise far below it, shares for one
    correction in twenty submissions; normally one correction for each team."""
    variance = (Fraction(1, need.rows) + (Fraction(1, need.public) if need.public else 0)) / 4
    threshold = max(_round_up(THRESHOLD_ERRORS * math.sqrt(variance)), Fraction(1, 10_000))
    noise = max(threshold / NOISE_OF_THRESHOLD, Fraction(1, need.rows))
    share = math.ceil(Fraction(need.submissions, SUBMISSIONS_A_CORRECTION))
    budget = share * need.teams
    raw = {
        "threshold": str(min(threshold, Fraction(1, 2))),
        "noise_scale": str(min(noise, Fraction(1, 40))),
        "budget": str(min(budget, 1_000_000)),
        "team_share": str(share),
        "steps": str(_grid(need, threshold)),
        "confidence": str(need.confidence),
        "reference": "public" if need.public else "claim",
    }
    yield _Draft("thresholdout", raw, need.teams, budget)


def _grid(need: Need, threshold: Fraction) -> int:
    """Steps of at most half the threshold, so that rounding does not cross it, if rows allow."""
    finest = max(2, math.isqrt(16 * need.rows))
    return min(finest, next((steps for steps in GRIDS if steps * threshold >= 2), GRIDS[-1]))


def _mark(need: Need) -> Iterator[_Draft]:
    """One pass for each team. The mark is the organizer's to choose and changes no certificate."""
    raw = {
        "mark": str(MARK),
        "questions": str(min(need.questions, 10_000_000)),
        "budget": str(min(need.teams, 1_000_000)),
        "team_share": "1",
        "confidence": str(need.confidence),
    }
    yield _Draft("sparse_validate", raw, need.teams, need.teams)


def _round_up(loss: float) -> Fraction:
    """To two digits, so that people can read it."""
    unit = Fraction(10) ** (math.floor(math.log10(loss)) - 1)
    return math.ceil(Fraction(loss) / unit) * unit


def _preference(proposal: Proposal) -> tuple[bool, bool, float]:
    """Boards with scores before a mark, those that fit before others, then by certificate."""
    is_mark = proposal.mechanism == "sparse_validate"
    width = math.inf if proposal.normal is None else proposal.normal
    return is_mark, proposal.refusal is not None, width


def describe(parameters: dict[str, str]) -> str:
    """Parameters as people read them: decimals where they are exact."""
    return ", ".join(f"{name} {_readable(value)}" for name, value in parameters.items())


def _readable(value: str) -> str:
    return show(Fraction(value)) if "/" in value else value


def _check(holds: bool, field: str, message: str) -> None:
    if not holds:
        raise ParameterError(field, message)
