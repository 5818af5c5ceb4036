"""SparseValidate: a mark that is passed or not."""

from fractions import Fraction

import pytest

from scoring.errors import ParameterError, StateError
from scoring.measurement import Mean, Measurement
from scoring.mechanisms.base import Answer, HoldoutState, State, TeamState
from scoring.mechanisms.sparse_validate import SparseValidate, SparseValidateParams
from tests.scoring.facts import AUC, Counts
from tests.scoring.fixed_noise import NO_NOISE

MARK = SparseValidate()
PARAMS = MARK.parse({"mark": "0.15", "questions": "5", "budget": "3", "team_share": "2"})


def start() -> State:
    return State(HoldoutState(budget_left=1), TeamState(share_left=2))


def submit(state: State, units: int, rows: int = 100) -> tuple[State, Answer]:
    return MARK.step(PARAMS, state, Measurement(Mean(units, rows, 1)), NO_NOISE)


def test_a_loss_equal_to_the_mark_passes() -> None:
    _, answer = submit(start(), 15)
    assert (answer.kind, answer.loss, answer.steps) == ("pass", Fraction(3, 20), 20)


def test_a_loss_above_the_mark_fails_and_shows_no_number() -> None:
    state, answer = submit(start(), 16)
    assert (answer.kind, answer.level, answer.loss) == ("fail", None, None)
    assert state.team == TeamState(share_left=2)


def test_a_pass_is_one_bit_in_the_ledger_and_one_of_the_share() -> None:
    state, _ = submit(start(), 0)
    assert state.holdout == HoldoutState(1, 1, 0.0, 1, 1)
    assert state.team == TeamState(best=3, last=3, share_left=1)


def test_a_used_up_share_is_exhausted_and_still_shows_the_pass() -> None:
    state = start()
    for _ in range(2):
        state, _ = submit(state, 0)
    _, answer = submit(state, 0)
    assert (answer.kind, answer.level) == ("exhausted", 3)


def test_after_all_questions_everybody_is_exhausted() -> None:
    state = State(HoldoutState(asked=5, budget_left=1), TeamState(share_left=2))
    assert submit(state, 0)[1].kind == "exhausted"
    assert MARK.question(PARAMS, state) != MARK.question(PARAMS, start())


def test_shares_come_out_of_the_budget() -> None:
    first = submit(State(MARK.initial_holdout(PARAMS), TeamState()), 0)[0]
    assert (first.holdout.budget_left, first.team.share_left) == (1, 1)
    second = submit(State(first.holdout, TeamState()), 0)[0]
    assert (second.holdout.budget_left, second.team.share_left) == (0, 0)
    assert submit(State(second.holdout, TeamState()), 0)[1].kind == "exhausted"
    assert submit(first, 0)[1].kind == "pass"


def test_a_certificate_is_the_width_alone() -> None:
    _, answer = submit(start(), 100, 1000)
    assert answer.tolerance == 0
    assert answer.certificate == answer.width


def test_a_set_function_has_no_certificate() -> None:
    measurement = Measurement(Mean(1, 10**6, 1, additive=False))
    _, answer = MARK.step(PARAMS, start(), measurement, NO_NOISE)
    assert answer.certificate is None


def test_any_metric_will_do_but_not_an_empty_holdout() -> None:
    MARK.check(PARAMS, AUC, Counts(private=1))
    with pytest.raises(ParameterError, match="no private rows"):
        MARK.check(PARAMS, AUC, Counts(public=5))


@pytest.mark.parametrize(
    ("raw", "field"),
    [
        ({"mark": "1.1"}, "mark"),
        ({"mark": "1/10007"}, "mark"),
        ({"budget": "1", "team_share": "2"}, "team_share"),
        ({"questions": "0"}, "questions"),
    ],
)
def test_impossible_parameters_are_refused(raw: dict[str, str], field: str) -> None:
    with pytest.raises(ParameterError) as caught:
        MARK.parse(raw)
    assert caught.value.field == field


def test_a_holdout_without_a_budget_is_not_of_this_mechanism() -> None:
    with pytest.raises(StateError):
        submit(State(HoldoutState(), TeamState()), 0)


class AgreesWithItsClaim(SparseValidate):
    """Whether the loss is further than a tenth from the reference."""

    def says_yes(self, params: SparseValidateParams, measurement: Measurement) -> bool:
        assert measurement.reference is not None
        return abs(measurement.holdout.units - measurement.reference.units) > 10


def test_any_other_question_has_the_same_books() -> None:
    params = MARK.parse({"questions": "3", "budget": "1", "team_share": "1"})
    other = AgreesWithItsClaim()
    state = State(other.initial_holdout(params), TeamState())
    kinds = []
    for units in (40, 61, 70):
        measurement = Measurement(Mean(units, 100, 1), Mean(50, 100, 1))
        state, answer = other.step(params, state, measurement, NO_NOISE)
        kinds.append(answer.kind)
    assert kinds == ["fail", "pass", "exhausted"]
    assert (state.holdout.asked, state.holdout.answered) == (3, 1)
