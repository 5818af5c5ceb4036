"""The Ladder: its trace, its ties, its alphabets and its refusals."""

import json
import math
from fractions import Fraction
from pathlib import Path

import pytest

from scoring.errors import ParameterError, StateError
from scoring.measurement import Mean, Measurement
from scoring.mechanisms.base import Answer, HoldoutState, State, TeamState
from scoring.mechanisms.ladder import Ladder, LadderParams
from tests.scoring.facts import AUC, Counts
from tests.scoring.fixed_noise import NO_NOISE

LADDER = Ladder()
VECTORS = json.loads(Path(__file__).with_name("vectors.json").read_text())


def start(params: LadderParams) -> State:
    return State(LADDER.initial_holdout(params), TeamState())


def submit(params: LadderParams, state: State, units: int, rows: int) -> tuple[State, Answer]:
    return LADDER.step(params, state, Measurement(Mean(units, rows, 1)), NO_NOISE)


def test_the_published_trace() -> None:
    trace = next(trace for trace in VECTORS["traces"] if trace["trace"] == "ladder")
    params = LADDER.parse({"steps": str(trace["r"])})
    state, rungs = start(params), []
    for count in trace["counts"]:
        state, answer = submit(params, state, count, trace["n"])
        rungs.append(answer.level)
    assert rungs == trace["rungs"]


def test_a_tie_with_the_step_is_not_an_improvement() -> None:
    params = LADDER.parse({"steps": "10"})
    state, _ = submit(params, start(params), 50, 100)
    _, tied = submit(params, state, 40, 100)
    _, better = submit(params, state, 39, 100)
    assert (tied.kind, tied.level) == ("not_improved", 5)
    assert (better.kind, better.level) == ("improved", 4)


def test_the_first_submission_is_always_shown() -> None:
    params = LADDER.parse({"steps": "10"})
    _, worst = submit(params, start(params), 7, 7)
    assert (worst.kind, worst.level) == ("improved", 10)


@pytest.mark.parametrize("units", [0, 1])
def test_one_row_is_enough(units: int) -> None:
    params = LADDER.parse({"steps": "2"})
    state, answer = submit(params, start(params), units, 1)
    assert answer.level == 2 * units
    _, again = submit(params, state, 0, 1)
    assert again.level == 0


def test_nobody_improves_on_the_lowest_rungs() -> None:
    params = LADDER.parse({"steps": "10"})
    for best in (0, 1):
        state = State(HoldoutState(asked=1, answered=1), TeamState(best=best, last=best))
        _, answer = submit(params, state, 0, 100)
        assert answer.kind == "not_improved"


def test_each_answer_adds_the_levels_that_it_could_have_had() -> None:
    params = LADDER.parse({"steps": "20"})
    state, _ = submit(params, start(params), 50, 100)
    assert state.holdout.log_alphabets == pytest.approx(math.log(21))
    state, _ = submit(params, state, 49, 100)
    assert state.holdout.log_alphabets == pytest.approx(math.log(21))
    state, _ = submit(params, state, 20, 100)
    assert state.holdout.log_alphabets == pytest.approx(math.log(21) + math.log(10))
    assert (state.holdout.asked, state.holdout.answered) == (3, 2)


def test_the_levels_below_a_rung_are_as_many_as_counted() -> None:
    params = LADDER.parse({"steps": "10"})
    for best in range(2, 11):
        state = State(HoldoutState(asked=1, answered=1), TeamState(best=best, last=best))
        answers = [submit(params, state, units, 1000)[1] for units in range(1001)]
        shown = {answer.level for answer in answers if answer.kind == "improved"}
        assert shown == set(range(best))


def test_the_width_is_the_ledgers_before_the_answer() -> None:
    params = LADDER.parse({"steps": "100", "confidence": "0.95"})
    holdout = HoldoutState(99, 5, 5 * math.log(101), 5)
    state = State(holdout, TeamState(best=50, last=50))
    _, answer = submit(params, state, 3000, 10_000)
    assert answer.width == pytest.approx(0.0541476101, rel=1e-6)
    assert answer.tolerance == pytest.approx(0.005)
    assert answer.certificate == pytest.approx(0.0591476101, rel=1e-6)


def test_an_unmoved_score_certifies_one_step_on_one_side() -> None:
    params = LADDER.parse({"steps": "100"})
    state, _ = submit(params, start(params), 3000, 10_000)
    _, answer = submit(params, state, 3000, 10_000)
    assert answer.kind == "not_improved"
    assert answer.tolerance == pytest.approx(0.01)


def test_a_small_holdout_has_no_certificate() -> None:
    params = LADDER.parse({"steps": "10"})
    _, answer = submit(params, start(params), 3, 10)
    assert 0.5 < answer.width + answer.tolerance < 0.6
    assert answer.certificate is None


def test_a_set_function_has_no_certificate_however_many_rows() -> None:
    params = LADDER.parse({})
    measurement = Measurement(Mean(10**11, 10**6, 10**6, additive=False))
    _, answer = LADDER.step(params, start(params), measurement, NO_NOISE)
    assert answer.level == 5
    assert answer.certificate is None


def test_reference_rows_are_shown_on_the_same_grid() -> None:
    params = LADDER.parse({"steps": "20"})
    measurement = Measurement(Mean(50, 100, 1), Mean(33, 100, 1))
    _, answer = LADDER.step(params, start(params), measurement, NO_NOISE)
    assert answer.reference_level == 7


def test_the_question_names_the_best_so_far() -> None:
    params = LADDER.parse({"steps": "20"})
    state, _ = submit(params, start(params), 50, 100)
    assert LADDER.question(params, start(params)) == "ladder steps=20 best=none"
    assert LADDER.question(params, state) == "ladder steps=20 best=10"


def test_a_team_starts_from_the_public_rung_and_is_shown_only_what_beats_it() -> None:
    params = LADDER.parse({"steps": "20", "rung": "10"})
    assert LADDER.question(params, start(params)) == "ladder steps=20 best=10"
    state, at = submit(params, start(params), 45, 100)
    assert (at.kind, at.level, state.team) == ("not_improved", 10, TeamState())
    state, better = submit(params, state, 44, 100)
    assert (better.kind, better.level) == ("improved", 9)
    assert state.holdout.log_alphabets == pytest.approx(math.log(10))
    assert params.alphabet == 10


@pytest.mark.parametrize("rung", ["1", "21"])
def test_a_rung_that_nobody_can_beat_or_beyond_the_grid_is_refused(rung: str) -> None:
    with pytest.raises(ParameterError) as caught:
        LADDER.parse({"steps": "20", "rung": rung})
    assert caught.value.field == "rung"


def test_a_best_that_cannot_be_beaten_is_no_question_for_laws() -> None:
    params = LADDER.parse({"steps": "10", "rung": "2"})
    lowest = State(HoldoutState(), TeamState(best=1, last=1))
    assert LADDER.law_question(params, lowest, 100, None) is None
    first = LADDER.law_question(params, start(params), 100, Mean(33, 100, 1))
    assert first is not None
    assert (first.best, first.public, first.alphabet) == (2, Fraction(33, 100), 2)


def test_any_metric_will_do() -> None:
    LADDER.check(LADDER.parse({}), AUC, Counts(private=10_000))


def test_a_grid_finer_than_chance_is_refused_with_the_finest_useful_one() -> None:
    with pytest.raises(ParameterError, match="at most 40") as caught:
        LADDER.check(LADDER.parse({"steps": "41"}), AUC, Counts(private=100))
    assert caught.value.field == "steps"
    LADDER.check(LADDER.parse({"steps": "40"}), AUC, Counts(private=100))


def test_a_solution_without_private_rows_is_refused() -> None:
    with pytest.raises(ParameterError, match="no private rows"):
        LADDER.check(LADDER.parse({}), AUC, Counts(private=0))


@pytest.mark.parametrize(
    "team", [TeamState(best=11, last=11), TeamState(share_left=1), TeamState(best=0, last=11)]
)
def test_a_state_of_other_parameters_is_refused(team: TeamState) -> None:
    params = LADDER.parse({"steps": "10"})
    state = State(HoldoutState(asked=1, answered=1), team)
    with pytest.raises(StateError):
        submit(params, state, 3, 10)
