"""The planner: proposals that their mechanisms accept, certificates that theirs would be."""

import json
import math
from fractions import Fraction
from typing import Any

import pytest

from scoring import plan
from scoring.errors import ParameterError
from scoring.guarantees.ledger import ledger_width
from scoring.guarantees.planner import (
    certificate_after,
    plain_board_certificate,
    propose,
)
from scoring.guarantees.rehearsal import attack, attack_on_plain_board, normal
from scoring.mechanisms import MECHANISMS
from scoring.mechanisms.needs import Need

CLASS = Need(rows=2000, teams=20, submissions=30, public=1000)
CHALLENGE = Need(rows=100_000, teams=20, submissions=50, public=50_000, tolerance=Fraction(1, 10))


def proposal(need: Need, mechanism: str) -> Any:
    return next(each for each in propose(need) if each.mechanism == mechanism)


@pytest.mark.parametrize("need", [CLASS, CHALLENGE], ids=["class", "challenge"])
def test_every_mechanism_accepts_what_is_proposed_for_it(need: Need) -> None:
    assert {each.mechanism for each in propose(need)} == MECHANISMS.keys()
    for each in propose(need):
        mechanism = MECHANISMS[each.mechanism]
        mechanism.check(mechanism.parse(each.parameters), need, need)
        assert each.refusal is None


def test_what_cannot_fit_says_why() -> None:
    ladder, guard, other, mark = propose(Need(rows=3000, teams=5, submissions=10, metric="set"))
    assert (ladder.mechanism, other.mechanism) == ("ladder", "thresholdout")
    assert "means over rows" in str(guard.refusal)
    assert "means over rows" in str(other.refusal)
    assert ladder.normal is mark.normal is None
    assert ladder.rows_needed is None


def test_a_ladder_has_the_finest_steps_within_the_tolerance() -> None:
    found = proposal(CHALLENGE, "ladder")
    assert found.normal <= 0.1
    steps = int(found.parameters["steps"])
    finer = {**found.parameters, "steps": str(steps + 5)}
    answers = CHALLENGE.teams * (1 + math.ceil((steps + 5) / 5))
    wider = certificate_after(CHALLENGE, "ladder", finer, answers)
    assert wider is None or wider > 0.1


def test_a_certificate_is_that_of_the_ledger() -> None:
    found = certificate_after(CHALLENGE, "ladder", {"steps": "20"}, 100)
    width = ledger_width(100_000, 1000, 100, 100 * math.log(21), math.log(0.05))
    assert found == pytest.approx(width + 0.025)


def test_a_pass_has_one_value_so_that_the_mark_does_not_change_a_certificate() -> None:
    raw = {"questions": "1000", "budget": "100", "team_share": "5"}
    width = ledger_width(100_000, 1000, 100, 0.0, math.log(0.05))
    for mark in ("0.25", "0.1"):
        found = certificate_after(CHALLENGE, "sparse_validate", raw | {"mark": mark}, 100)
        assert found == pytest.approx(width)


@pytest.mark.parametrize("mechanism", ["ladder", "sparse_validate"])
@pytest.mark.parametrize("submissions", [1, 3])
def test_no_number_of_answers_leaves_a_wider_certificate_than_the_worst(
    mechanism: str, submissions: int
) -> None:
    need = Need(rows=5000, teams=12, submissions=submissions)
    found = proposal(need, mechanism)
    after = [
        certificate_after(need, mechanism, found.parameters, answers)
        for answers in range(found.worst_answers + 1)
    ]
    certified = [each for each in after if each is not None]
    assert len(certified) == len(after)
    assert found.worst == max(certified)


def test_the_rows_needed_are_enough_and_a_little_fewer_are_not() -> None:
    for mechanism in MECHANISMS:
        rows = proposal(CLASS, mechanism).rows_needed
        assert proposal(CLASS.with_rows(rows), mechanism).normal <= CLASS.tolerance
        fewer = proposal(CLASS.with_rows(round(rows * 0.97)), mechanism).normal
        assert fewer is None or fewer > CLASS.tolerance


def test_more_confidence_and_more_teams_need_more_rows() -> None:
    needed = proposal(CLASS, "ladder").rows_needed
    more_teams = Need(rows=2000, teams=40, submissions=30, public=1000)
    sure = Need(rows=2000, teams=20, submissions=30, public=1000, confidence=Fraction(999, 1000))
    assert proposal(more_teams, "ladder").rows_needed > needed
    assert proposal(sure, "ladder").rows_needed > needed


def test_without_public_rows_teams_claim_their_scores() -> None:
    claims = Need(rows=2000, teams=20, submissions=30)
    assert proposal(claims, "thresholdout").parameters["reference"] == "claim"
    assert proposal(CLASS, "thresholdout").parameters["reference"] == "public"


def test_a_plain_board_certifies_nothing_after_a_while() -> None:
    assert plain_board_certificate(CLASS) is None
    assert plain_board_certificate(Need(rows=10**6, teams=1, submissions=10)) is not None
    assert plain_board_certificate(Need(rows=10**6, teams=1, submissions=1, metric="set")) is None


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"rows": 0}, "rows"),
        ({"rows": 10**10}, "rows"),
        ({"teams": 0}, "teams"),
        ({"submissions": 0}, "submissions"),
        ({"metric": "median"}, "metric"),
        ({"tolerance": Fraction(1, 2)}, "tolerance"),
        ({"confidence": Fraction(1)}, "confidence"),
        ({"public": -1}, "public"),
    ],
)
def test_what_is_no_competition_is_refused(change: dict[str, Any], field: str) -> None:
    sizes: dict[str, Any] = {"rows": 100, "teams": 2, "submissions": 3}
    with pytest.raises(ParameterError) as caught:
        Need(**{**sizes, **change})
    assert caught.value.field == field


def test_the_smallest_competition_has_proposals() -> None:
    assert len(propose(Need(rows=1, teams=1, submissions=1))) == len(MECHANISMS)


@pytest.mark.parametrize("mechanism", ["ladder", "thresholdout"])
def test_an_attacker_gains_on_a_plain_board_and_not_behind_a_mechanism(mechanism: str) -> None:
    need = Need(rows=2000, teams=4, submissions=100, public=1000)
    behind = attack(need, proposal(need, mechanism), seed=1)
    plain = attack_on_plain_board(need, seed=1)
    assert plain.fitted < 0.45
    assert behind.fitted > 0.47
    assert behind.shown is not None
    assert behind.shown > plain.fitted
    assert behind.answers <= max(1, 100 // 20)


def test_normal_teams_seldom_use_up_their_corrections() -> None:
    found = normal(CLASS, proposal(CLASS, "thresholdout"), seed=1)
    assert found.exhausted <= 2
    assert found.off is not None
    assert found.off < 0.03
    assert found.questions == 600


def test_a_rehearsal_repeats_itself() -> None:
    chosen = proposal(CLASS, "thresholdout")
    assert normal(CLASS, chosen, seed=5) == normal(CLASS, chosen, seed=5)
    assert attack(CLASS, chosen, seed=5) == attack(CLASS, chosen, seed=5)


def test_a_mark_shows_no_scores() -> None:
    chosen = proposal(CLASS, "sparse_validate")
    assert normal(CLASS, chosen, seed=1).off is None
    assert attack(CLASS, chosen, seed=1).shown is None


ARGUMENTS = ["--rows", "2000", "--public-rows", "1000", "--teams", "5", "--submissions", "20"]


def test_the_command_prints_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert plan.main(ARGUMENTS) == 0
    text = capsys.readouterr().out
    for said in (
        "Guard",
        "Thresholdout",
        "Ladder",
        "Qualification mark",
        "Plain board",
        "Proposed:",
    ):
        assert said in text
    assert max(map(len, text.split("Parameters")[0].splitlines())) <= 100


def test_the_command_prints_the_same_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert plan.main([*ARGUMENTS, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["need"]["tolerance"] == "1/20"
    assert [board["title"] for board in document["boards"]][-1] == "Plain board"
    assert document["boards"][0]["proposal"]["parameters"]["confidence"] == "19/20"


def test_the_command_refuses_what_is_no_competition(capsys: pytest.CaptureFixture[str]) -> None:
    assert plan.main(["--rows", "0", "--teams", "5", "--submissions", "20"]) == 2
    assert "rows: Give at least 1." in capsys.readouterr().err
