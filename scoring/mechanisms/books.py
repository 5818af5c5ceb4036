"""The books that every mechanism keeps: questions, answers, shares of the budget, shown levels.

This is SparseValidate (Dwork et al. 2015, theorem 10; theory.md 2): a history is a list of where
the answers fell and what each of them said, so it takes few values, and a union over those values
bounds every question that was asked. Nothing may be released that is not in that list: a "no" says
only that it is a "no".
"""

import math
from dataclasses import replace
from fractions import Fraction
from typing import Final

from scoring.errors import StateError
from scoring.guarantees.ledger import ledger_width
from scoring.laws.books import law_width
from scoring.measurement import Mean, Measurement
from scoring.mechanisms.base import Answer, HoldoutState, State, TeamState
from scoring.mechanisms.kinds import EXHAUSTED, AnswerKind

VACUOUS: Final = 1.0  # a width or tolerance that says nothing, since losses lie in [0, 1]


def count_question(holdout: HoldoutState, *, yes: bool, alphabet: int = 1) -> HoldoutState:
    """Count one more question; a yes adds one of `alphabet` possible values to the ledger.

    The alphabet must follow from the history before the answer.
    """
    asked = replace(holdout, asked=holdout.asked + 1)
    if not yes:
        return asked
    return replace(
        asked,
        answered=holdout.answered + 1,
        log_alphabets=holdout.log_alphabets + math.log(alphabet),
        firings=holdout.firings + 1,
    )


def is_exhausted(state: State) -> bool:
    """Return whether the team has used its share, or has none and nothing is left of the budget.

    It follows from published facts, never from what the answer would be.
    """
    if state.holdout.budget_left is None:
        raise StateError("A holdout of this mechanism has a budget.")
    share_left = state.team.share_left
    return (state.holdout.budget_left if share_left is None else share_left) == 0


def spend(state: State, share: int) -> State:
    """Take one answer from the team's share; the first takes the share itself from the budget.

    The last share may be smaller. Raises StateError if the team is exhausted.
    """
    if is_exhausted(state):
        raise StateError("An exhausted team gets no more answers.")
    holdout, left = state.holdout, state.team.share_left
    if left is None:
        budget = holdout.budget_left or 0
        left = min(share, budget)
        holdout = replace(holdout, budget_left=budget - left)
    return State(holdout, replace(state.team, share_left=left - 1))


def show_level(team: TeamState, level: int) -> TeamState:
    """Return the team after a released level."""
    best = level if team.best is None else min(team.best, level)
    return replace(team, best=best, last=level)


def question_width(holdout: HoldoutState, mean: Mean, beta: Fraction) -> float:
    """Return w of the next question, from the ledger before it; 1 for a set function (no such
    bound).

    beta: what the count is taken at; a length by the ledger's laws has its part in it.
    """
    if not mean.additive:
        return VACUOUS
    if holdout.length is not None:
        return law_width(holdout.length, mean.rows)
    return ledger_width(
        mean.rows,
        holdout.asked + 1,
        holdout.answered,
        holdout.log_alphabets,
        math.log(beta),
    )


def grid_level(mean: Mean | None, steps: int) -> int | None:
    """Return the mean on the grid, None where there is none."""
    return None if mean is None else mean.level(steps)


def exhausted_answer(
    state: State,
    measurement: Measurement,
    steps: int,
    width: float = VACUOUS,
    kind: AnswerKind = EXHAUSTED,
) -> tuple[State, Answer]:
    """Count the question and say nothing of the holdout: the last level and the reference's."""
    holdout = count_question(state.holdout, yes=False)
    answer = Answer(
        kind=kind.code,
        level=state.team.last,
        reference_level=grid_level(measurement.reference, steps),
        steps=steps,
        width=width,
        tolerance=VACUOUS,
        asked=holdout.asked,
    )
    return State(holdout, state.team), answer


def carry_on(holdout: HoldoutState) -> HoldoutState:
    """Carry the ledger's head on to a corrected solution.

    Rows are shared and what teams learned from the old labels counts, so nothing is forgotten. The
    correction itself is counted as a question whose answer was a yes of one value: the noises of
    the new version then have indices of their own, and no two draws share a part of beta.
    """
    return count_question(holdout, yes=True)


def carry_team(team: TeamState) -> TeamState:
    """Carry a team on to a corrected solution: its share stays spent, its levels were of other
    labels.
    """
    return TeamState(share_left=team.share_left)


def merge_teams(into: TeamState, team: TeamState) -> TeamState:
    """Return the state of a team after another was merged into it.

    What is left of their shares adds up, and with it what both have spent: nothing is freed. The
    better of both levels stays, because both were released.
    """
    best = min((each.best for each in (into, team) if each.best is not None), default=None)
    share_left = into.share_left
    if team.share_left is not None:
        share_left = (share_left or 0) + team.share_left
    last = team.last if into.last is None else into.last
    return TeamState(best=best, last=last, share_left=share_left)


def top_up(holdout: HoldoutState, amount: int) -> HoldoutState:
    """Add answers to the budget; the teams that take a share from now on have them.

    It follows from the history whether an organizer does so, and it tells nobody of the labels: it
    costs nothing before it is used. Raises StateError where the mechanism has no budget.
    """
    if holdout.budget_left is None:
        raise StateError("A board of this mechanism has no budget.")
    return replace(holdout, budget_left=holdout.budget_left + amount)


def top_up_team(team: TeamState, amount: int) -> TeamState:
    """Add answers to the share of a team that has one. Raises StateError where it has none."""
    if team.share_left is None:
        raise StateError("The team has not taken a share.")
    return replace(team, share_left=team.share_left + amount)


def write_off(
    holdout: HoldoutState, lost: int, alphabet: int, *, by_team: bool = False
) -> HoldoutState:
    """Write off `lost` answers that nobody can read any more, each of at most `alphabet` values.

    Each lost answer was a "no", a repeat, or a yes of one of `alphabet` values, so `alphabet` + 1
    values tell which: counted as a yes of so many, the lost part of a history has at least as many
    forms as it really had, and the union over histories covers every question that follows. The
    numbers i of later questions are above those that were lost, so that no part of beta is given
    out twice; the same holds for the noises' indices, since no more than `lost` of them were used.
    by_team: there is budget for every team's share, and each loses its own alone.
    """
    return replace(
        holdout,
        asked=holdout.asked + lost,
        answered=holdout.answered + lost,
        log_alphabets=holdout.log_alphabets + lost * math.log(alphabet + 1),
        firings=holdout.firings + lost,
        budget_left=holdout.budget_left if by_team else _less(holdout.budget_left, lost),
    )


def write_off_team(team: TeamState, lost: int) -> TeamState:
    """Take answers that nobody can read any more from a team's share: all may have been its own."""
    return replace(team, share_left=_less(team.share_left, lost))


def _less(left: int | None, lost: int) -> int | None:
    return None if left is None else max(0, left - lost)


def check_level(team: TeamState, steps: int) -> None:
    """Raise StateError if the team's levels do not lie on the grid."""
    if team.last is not None and team.last > steps:
        raise StateError("The team's level does not lie on the mechanism's grid.")
