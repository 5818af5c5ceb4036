"""The planner: proposals that mechanisms accept, rehearsed by the ledger's rule, in score units."""

import json
import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from scoring.errors import ParameterError
from scoring.guarantees import planner
from scoring.guarantees.planner import Plan, Proposal, plan
from scoring.laws.books import Account
from scoring.mechanisms import MECHANISMS
from scoring.mechanisms.needs import Need

CLASS = Need(rows=3000, teams=12, submissions=25)


@pytest.fixture(scope="module")
def planned() -> Plan:
    return plan(CLASS)


@pytest.fixture(scope="module")
def tiny() -> Plan:
    return plan(Need(rows=24, teams=5, submissions=10))


def test_a_class_gets_a_guard_board_with_a_useful_guarantee(planned: Plan) -> None:
    best = planned.boards[0]
    assert best.mechanism == "guard"
    assert best.half_width is not None
    assert 0.06 < best.half_width < 0.14
    assert best.objections == ()
    assert [each.mechanism for each in planned.boards[1:]] == ["thresholdout", "ladder"]


def test_every_proposal_is_accepted_by_its_mechanism(planned: Plan) -> None:
    split = planned.splits[0]
    need = replace(CLASS, public=split.public, final=split.final)
    for each in planned.boards:
        mechanism = MECHANISMS[each.mechanism]
        mechanism.check(mechanism.parse(each.parameters), need, need.counts)


def test_no_board_is_proposed_whose_steps_hide_a_sampling_error(planned: Plan) -> None:
    for each in planned.boards:
        assert each.objections or each.step <= planned.sampling_error
        assert each.objections or each.shown_error <= 1


def test_splits_use_all_rows_and_the_best_comes_first(planned: Plan) -> None:
    for each in planned.splits:
        assert each.public + each.private + each.final == CLASS.rows
        assert each.separated is not None
    best = planned.splits[0]
    most = max(each.separated or 0 for each in planned.splits)
    assert (best.separated or 0) >= most - planner.NEARLY


def test_a_split_that_is_given_is_kept() -> None:
    found = plan(replace(CLASS, public=1000, final=500))
    assert [(s.public, s.private, s.final) for s in found.splits] == [(1000, 1500, 500)]


def test_none_decides_nothing() -> None:
    """Which board comes first must not matter where several certify nothing."""
    least = proposal(title="tells least", nats=5.0)
    assert min([proposal(nats=900.0), least], key=lambda each: each.order) is least
    final = proposal(separated=0.4, nats=900.0)
    assert min([least, final], key=lambda each: each.order) is final
    certified = proposal(half_width=0.49, nats=900.0)
    assert min([final, certified], key=lambda each: each.order) is certified
    refused = proposal(half_width=0.01, objections=("A step hides a sampling error.",))
    assert min([refused, least], key=lambda each: each.order) is least


def proposal(**changes: Any) -> Proposal:
    """Return a board that certifies nothing."""
    facts: dict[str, Any] = {
        "mechanism": "ladder",
        "title": "Ladder",
        "parameters": {},
        "question_limit": 100,
        "nats_limit": None,
        "half_width": None,
        "shown_error": 0.5,
        "step": 0.01,
        "corrections": 0,
        "nats": 100.0,
        "length": 1,
        "separated": None,
        "objections": (),
    }
    return Proposal(**(facts | changes))


def test_where_nothing_is_certified_the_plan_says_so(tiny: Plan) -> None:
    assert all(each.half_width is None for each in tiny.boards)
    assert "Nothing is certified" in tiny.reasons[0]
    most = max(each.separated or 0 for each in tiny.splits)
    assert tiny.splits[0].separated == most


def test_a_function_of_all_rows_gets_a_ladder_and_rows_for_the_end() -> None:
    found = plan(replace(CLASS, metric="set"))
    assert [each.mechanism for each in found.boards] == ["ladder"]
    assert found.boards[0].half_width is None
    assert found.splits[0].final == max(each.final for each in found.splits)
    assert found.splits[0].public == 0
    assert "no guarantee that is known" in found.reasons[0]


def test_figures_and_steps_are_in_units_of_the_score(planned: Plan) -> None:
    minutes = plan(replace(CLASS, worst=Fraction(60), best=Fraction(0)))
    best = minutes.boards[0]
    assert best.half_width == pytest.approx(60 * (planned.boards[0].half_width or 0), rel=0.1)
    assert best.step in {0.2, 0.5, 1.0}
    assert minutes.sampling_error == pytest.approx(60 * planned.sampling_error, rel=0.1)


def test_more_teams_and_files_leave_wider_guarantees() -> None:
    def length(teams: int, submissions: int) -> int:
        found = planner._propose(  # one board, without attacks
            Need(rows=3000, teams=teams, submissions=submissions, public=1500, final=0),
            0,
            planner.HALF,
        )
        return next(each.length for each in found if each.mechanism == "ladder")

    assert length(12, 25) < length(40, 25) < length(40, 60)


def test_the_declared_limit_covers_every_file(planned: Plan) -> None:
    for each in planned.boards:
        assert CLASS.questions < each.question_limit <= 2 * CLASS.questions


def test_everyone_attacks_the_proposal_and_nobody_empties_it(planned: Plan) -> None:
    trials = {each.name: each for each in planned.boards[0].trials}
    assert trials.keys() == {"guesser", "sybils", "hill climber", "Public-score climber"}
    for trial in trials.values():
        assert trial.half_width is None or trial.half_width >= (planned.boards[0].half_width or 0)
        assert trial.fitted < 0.1
        assert trial.shown < 0.15


def test_a_guard_with_claims_where_there_are_no_public_rows() -> None:
    found = plan(replace(CLASS, public=0, final=0))
    assert found.boards[0].parameters["reference"] == "claim"


def test_a_plan_repeats_itself_and_becomes_json(planned: Plan) -> None:
    document = json.dumps(planned.to_json(), allow_nan=False)
    assert document == json.dumps(plan(CLASS).to_json(), allow_nan=False)
    assert json.loads(document)["need"]["confidence"] == "19/20"


def test_an_account_goes_on_as_it_did() -> None:
    first, last = Account(), Account()
    grown = planner._go_on(
        first, replace(last, count=replace(last.count, asked=10, numbered=10)), Fraction(3)
    )
    assert (grown.count.asked, grown.count.numbered, grown.count.answered) == (40, 40, 0)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"rows": 0}, "rows"),
        ({"rows": 10**10}, "rows"),
        ({"teams": 0}, "teams"),
        ({"submissions": 0}, "submissions"),
        ({"metric": "median"}, "metric"),
        ({"confidence": Fraction(1)}, "confidence"),
        ({"public": -1}, "public"),
        ({"public": 60, "final": 40}, "rows"),
        ({"worst": Fraction(1)}, "best"),
        ({"good": Fraction(1, 2)}, "good"),
        ({"guessing": Fraction(0)}, "guessing"),
    ],
)
def test_what_is_no_competition_is_refused(change: dict[str, Any], field: str) -> None:
    with pytest.raises(ParameterError) as caught:
        Need(**({"rows": 100, "teams": 2, "submissions": 3} | change))
    assert caught.value.field == field


@pytest.mark.parametrize("rows", [30, 2000, 100_000])
@pytest.mark.parametrize("unit", [1, 60, 1000])
def test_grids_are_round_and_hide_no_sampling_error(rows: int, unit: int) -> None:
    need = Need(rows=rows, teams=2, submissions=3, best=Fraction(unit))
    for steps in need.grids():
        assert 2 <= steps <= math.isqrt(16 * rows)
        assert 1 / steps <= need.sampling_error
        step = f"{unit / steps:.6e}"
        assert step[0] in "125"
        assert set(step[1:8]) <= {".", "0"}


def test_the_smallest_competitions_have_plans() -> None:
    assert plan(Need(rows=2, teams=1, submissions=1)).boards
