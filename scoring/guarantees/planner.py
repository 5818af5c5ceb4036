"""Which mechanism for a competition that is still to come, and what it would certify.

Each mechanism drafts parameters from the sizes of a competition. This says what certificate a draft
leaves after a normal competition and at worst, and how many private rows the wished tolerance
needs. Everything is computed by the mechanisms themselves, from a ledger as it would then be.
What actually happens on such a board is rehearsed in `rehearsal.py`.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from scoring.errors import ParameterError
from scoring.guarantees.boards import exact_board_width
from scoring.guarantees.ledger import NO_CERTIFICATE, answers_of_most_histories
from scoring.measurement import Mean
from scoring.mechanisms import MECHANISMS
from scoring.mechanisms.base import HoldoutState, Mechanism
from scoring.mechanisms.needs import MOST_ROWS, Draft, Need
from scoring.parameters import show

DIGITS_OF_A_PLAIN_BOARD: Final = 5


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


def propose(need: Need) -> list[Proposal]:
    """Propose parameters of each mechanism that can draft them, the recommended one first.

    Boards with scores come before others, those that fit before others, then by certificate.
    """
    proposals = [
        _propose(need, mechanism) for mechanism in MECHANISMS.values() if [*mechanism.draft(need)]
    ]
    return sorted(
        proposals,
        key=lambda each: (
            not MECHANISMS[each.mechanism].shows_scores,
            each.refusal is not None,
            math.inf if each.normal is None else each.normal,
        ),
    )


def plain_board_certificate(need: Need) -> float | None:
    """Return what a board certifies that shows every score with five decimals (theory.md 4.5)."""
    if need.metric == "set":
        return None
    alphabet = 10**DIGITS_OF_A_PLAIN_BOARD + 1
    width = exact_board_width(need.rows, need.questions, alphabet, float(1 - need.confidence))
    return width if width < NO_CERTIFICATE else None


def certificate_after(
    need: Need, mechanism: str, raw: dict[str, str], answers: int
) -> float | None:
    """Return the certificate of a team's first submission, if it is the last of all.

    `answers` of the submissions before it said more than "no", and each of these is taken to have
    had the mechanism's largest alphabet to choose from.
    """
    chosen = MECHANISMS[mechanism]
    params = chosen.parse(raw)
    answered = min(answers, need.questions - 1)
    head = HoldoutState(
        asked=need.questions - 1,
        answered=answered,
        log_alphabets=answered * math.log(params.alphabet),
        firings=answered,
        budget_left=chosen.initial_holdout(params).budget_left,
    )
    # A loss of 1/2 on all rows, in half rows so that it is exact.
    private, reference = (
        Mean(rows, rows, 2, need.metric == "mean") for rows in (need.rows, need.public or need.rows)
    )
    return chosen.certify_next(params, head, private, reference)


def _propose(need: Need, mechanism: Mechanism[Any]) -> Proposal:
    draft = _best(need, mechanism)
    refusal = _refusal(need, mechanism, draft)
    normal = worst = None
    if refusal is None:
        normal = certificate_after(need, mechanism.name, draft.raw, draft.normal_answers)
        # Once almost all questions are answered, one more leaves fewer histories, not more.
        most = min(draft.worst_answers, need.questions - 1)
        alphabet = mechanism.parse(draft.raw).alphabet
        widest = min(most, answers_of_most_histories(need.questions, alphabet))
        found = [
            certificate_after(need, mechanism.name, draft.raw, answers)
            for answers in (most, widest)
        ]
        worst = None if None in found else max(filter(None, found))
    return Proposal(
        mechanism=mechanism.name,
        title=mechanism.title,
        parameters=draft.raw,
        normal_answers=draft.normal_answers,
        normal=normal,
        worst_answers=draft.worst_answers,
        worst=worst,
        rows_needed=_count_rows_needed(need, mechanism),
        refusal=refusal,
    )


def _best(need: Need, mechanism: Mechanism[Any]) -> Draft:
    """Choose the first draft within the tolerance, else the narrowest, else the last."""
    widths: list[tuple[float, Draft]] = []
    for draft in mechanism.draft(need):
        width = _certificate(need, mechanism, draft)
        if width is not None and width <= need.tolerance:
            return draft
        widths.append((math.inf if width is None else width, draft))
    return min(reversed(widths), key=lambda each: each[0])[1]


def _certificate(need: Need, mechanism: Mechanism[Any], draft: Draft) -> float | None:
    if _refusal(need, mechanism, draft):
        return None
    return certificate_after(need, mechanism.name, draft.raw, draft.normal_answers)


def _refusal(need: Need, mechanism: Mechanism[Any], draft: Draft) -> str | None:
    try:
        mechanism.check(mechanism.parse(draft.raw), need, need)
    except ParameterError as error:
        return error.message
    return None


def _count_rows_needed(need: Need, mechanism: Mechanism[Any]) -> int | None:
    """Bisect the logarithm of the rows, and round upwards to three digits."""

    def enough(rows: int) -> bool:
        there = need.with_rows(rows)
        width = _certificate(there, mechanism, _best(there, mechanism))
        return width is not None and width <= need.tolerance

    if need.metric == "set" or not enough(MOST_ROWS):
        return None
    low, high = 1, MOST_ROWS
    while high > low * 1.002 + 1:
        middle = max(low + 1, math.isqrt(low * high))
        low, high = (low, middle) if enough(middle) else (middle, high)
    unit = int(10 ** max(0, len(str(high)) - 3))
    return math.ceil(high / unit) * unit


def describe(parameters: dict[str, str]) -> str:
    """Write parameters as people read them: decimals where they are exact."""
    shown = {
        name: show(Fraction(value)) if "/" in value else value for name, value in parameters.items()
    }
    return ", ".join(f"{name} {value}" for name, value in shown.items())
