"""Guard: its threshold and its ends, its ties, its budget, and what it tells."""

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.errors import ParameterError, StateError
from scoring.guarantees.intervals import kl_cell_interval
from scoring.laws.exact import MILLION
from scoring.measurement import Mean, Measurement
from scoring.mechanisms.base import Answer, HoldoutState, State, TeamState
from scoring.mechanisms.guard import Guard, GuardParams, guard_threshold
from tests.scoring.facts import ACCURACY, AUC, Counts
from tests.scoring.fixed_noise import NO_NOISE

GUARD = Guard()
SECTION = json.loads(Path(__file__).with_name("vectors.json").read_text())["section10"]


def start(params: GuardParams) -> State:
    return State(GUARD.initial_holdout(params), TeamState())


def submit(
    params: GuardParams, state: State, private: Mean, public: Mean | None
) -> tuple[State, Answer]:
    return GUARD.step(params, state, Measurement(private, public), NO_NOISE)


@pytest.mark.parametrize("vector", SECTION["guard_threshold"])
def test_a_threshold_of_the_theory(vector: dict[str, Any]) -> None:
    args = vector["args"]
    found = guard_threshold(Fraction(args["e"]), args["a"], args["n"], Fraction(args["c"]))
    assert found == vector["value"]


@pytest.mark.parametrize("vector", SECTION["guard_ends"])
def test_ends_of_the_theory(vector: dict[str, Any]) -> None:
    args = vector["args"]
    loss = float(Fraction(args["e"]))
    found = kl_cell_interval(args["n"], loss - args["T"], loss + args["T"], args["L"])
    assert found == pytest.approx(vector["value"], abs=1e-9)


@given(
    st.integers(0, 100),
    st.integers(1, 10**6),
    st.integers(1, 10**6),
    st.fractions(2, 10, max_denominator=20),
)
def test_a_threshold_is_rounded_up_and_no_further(
    loss: int, public: int, private: int, errors: Fraction
) -> None:
    """T solves (T - c^2/2N)^2 = c^2 e (1 - e)/N + c^4/4N^2, so no root has to be believed."""
    shown = Fraction(loss, 100)
    spread = Fraction(1, public) + Fraction(1, private)
    square = errors**2 * (shown * (1 - shown) * spread + (errors * spread / 2) ** 2)
    middle = errors**2 * spread / 2
    found = guard_threshold(shown, public, private, errors)
    assert (Fraction(found, MILLION) - middle) ** 2 >= square
    below = Fraction(found - 1, MILLION) - middle
    assert below < 0 or below**2 < square


def test_an_agreement_at_the_threshold_is_confirmed_and_a_row_more_is_corrected() -> None:
    params = GUARD.parse({"steps": "20", "reference": "claim", "threshold": "0.1"})
    claim = Mean(200, 1000, 1)
    _, at = submit(params, start(params), Mean(300, 1000, 1), claim)
    _, beyond = submit(params, start(params), Mean(301, 1000, 1), claim)
    assert (at.kind, at.level, at.tolerance) == ("confirmed", 4, 0.1)
    assert (beyond.kind, beyond.level, beyond.tolerance) == ("corrected", 6, 0.025)


def test_the_reference_is_compared_as_it_is_shown() -> None:
    params = GUARD.parse({"steps": "10", "reference": "claim", "threshold": "0.1"})
    _, answer = submit(params, start(params), Mean(105, 1000, 1), Mean(149, 1000, 1))
    assert (answer.kind, answer.reference_level) == ("confirmed", 1)
    _, answer = submit(params, start(params), Mean(201, 1000, 1), Mean(149, 1000, 1))
    assert answer.kind == "corrected"


def test_a_threshold_is_never_below_a_step() -> None:
    params = GUARD.parse({"steps": "10"})
    million = Mean(0, 10**6, 1)
    _, answer = submit(params, start(params), Mean(10**5, 10**6, 1), million)
    assert (answer.kind, answer.tolerance) == ("confirmed", 0.1)


def test_nothing_is_taken_before_a_correction() -> None:
    params = GUARD.parse({"budget": "3", "team_share": "2"})
    state, _ = submit(params, start(params), Mean(300, 1000, 1), Mean(300, 1000, 1))
    assert (state.holdout.budget_left, state.team.share_left) == (3, None)
    state, _ = submit(params, state, Mean(900, 1000, 1), Mean(300, 1000, 1))
    assert (state.holdout.budget_left, state.team.share_left) == (1, 1)
    assert state.holdout.answered == 1


@pytest.mark.parametrize(("of_all", "of_team"), [(0, None), (2, 0)])
def test_a_team_is_out_with_its_limit_or_with_the_budget(of_all: int, of_team: int | None) -> None:
    params = GUARD.parse({"budget": "3", "team_share": "2"})
    state = State(HoldoutState(budget_left=of_all), TeamState(share_left=of_team))
    half = Mean(500, 1000, 1)
    after, answer = submit(params, state, Mean(0, 1000, 1), half)
    assert (answer.kind, answer.level, answer.certificate) == ("exhausted", None, None)
    assert after.team == state.team
    assert GUARD.question(params, state, half).endswith("exhausted")
    assert GUARD.law_question(params, state, 1000, half) is None


@given(
    st.integers(0, 40),
    st.integers(0, 1000),
    st.sampled_from(["2", "3", "4"]),
    st.sampled_from([1000, 60, 9]),
)
def test_a_corrected_level_is_one_that_laws_foresee(
    shown: int, units: int, errors: str, rows: int
) -> None:
    params = GUARD.parse({"steps": "40", "errors": errors})
    private, public = Mean(min(units, rows), rows, 1), Mean(shown * 25, 1000, 1)
    _, answer = submit(params, start(params), private, public)
    asked = GUARD.law_question(params, start(params), rows, public)
    if answer.kind == "confirmed":
        return
    assert asked is not None
    assert sum(answer.level in levels for levels, _ in asked.sides) == 1


def test_the_band_says_which_levels_lie_beyond_it() -> None:
    params = GUARD.parse({"steps": "20", "reference": "claim", "threshold": "0.1"})
    asked = GUARD.law_question(params, start(params), 1000, Mean(200, 1000, 1))
    assert (asked.low, asked.high) == (2, 6) if asked else False
    assert GUARD.law_question(params, start(params), 1000, Mean(0, 1000, 1)).low is None  # type: ignore[union-attr]  # there is a band


def test_a_question_says_what_is_compared() -> None:
    params = GUARD.parse({"steps": "20"})
    assert GUARD.question(params, start(params)) == "guard errors=4 steps=20"
    claims = GUARD.parse({"steps": "50", "reference": "claim"})
    claim = Mean(200, 1000, 1)
    assert GUARD.question(claims, start(claims), claim) == (
        "guard threshold=1/25 steps=50 claim=10"
    )
    with pytest.raises(StateError, match="reference"):
        GUARD.question(claims, start(claims))


def test_noise_has_no_part_in_the_width() -> None:
    params = GUARD.parse({})
    _, answer = submit(params, start(params), Mean(300, 1000, 1), Mean(300, 1000, 1))
    without_answers = math.log(2) - math.log(0.05) - 2 * math.log(6 / math.pi**2)
    assert answer.width == pytest.approx(math.sqrt(without_answers / 2000))


@pytest.mark.parametrize(
    ("raw", "field"),
    [
        ({"budget": "3", "team_share": "4"}, "team_share"),
        ({"reference": "claim", "threshold": "0.04", "steps": "24"}, "steps"),
        ({"errors": "1"}, "errors"),
    ],
)
def test_parameters_that_do_not_fit_are_refused(raw: dict[str, str], field: str) -> None:
    with pytest.raises(ParameterError) as caught:
        GUARD.parse(raw)
    assert caught.value.field == field


@pytest.mark.parametrize(
    ("metric", "counts", "raw", "field"),
    [
        (AUC, Counts(1000, 1000), {}, "mechanism"),
        (ACCURACY, Counts(9, 1000), {}, "solution"),
        (ACCURACY, Counts(1000, 0), {}, "solution"),
        (ACCURACY, Counts(1000, 100), {"steps": "41"}, "steps"),
    ],
)
def test_what_does_not_fit_is_refused(
    metric: Any, counts: Counts, raw: dict[str, str], field: str
) -> None:
    with pytest.raises(ParameterError) as caught:
        GUARD.check(GUARD.parse(raw), metric, counts)
    assert caught.value.field == field
    GUARD.check(GUARD.parse({"reference": "claim"}), ACCURACY, Counts(0, 1000))


@pytest.mark.parametrize(
    "state",
    [
        State(HoldoutState(), TeamState(share_left=1)),
        State(HoldoutState(budget_left=1), TeamState(best=101, last=101, share_left=1)),
    ],
)
def test_a_state_of_other_parameters_is_refused(state: State) -> None:
    with pytest.raises(StateError):
        submit(GUARD.parse({}), state, Mean(3, 10, 1), Mean(3, 10, 1))


def test_a_set_function_is_refused_at_the_last() -> None:
    params = GUARD.parse({})
    with pytest.raises(StateError, match="means only"):
        submit(params, start(params), Mean(3, 10, 1, additive=False), Mean(3, 10, 1))
