"""`holdfast plan`: a proposal with its reasons, without any server."""

import json

import pytest

from holdfast.plan import _loss, _number
from tests.holdfast.conftest import Run, Server

ARGUMENTS = ("plan", "--rows", "600", "--teams", "5", "--submissions", "8")


def test_it_prints_a_proposal_with_reasons_and_sends_nothing(run: Run, server: Server) -> None:
    ran = run(*ARGUMENTS)
    assert ran.code == 0
    assert ran.out.startswith("Proposed: Guard, with ")
    for said in ("sampling error", "Thresholdout", "Ladder", "sybils", "question limit 42"):
        assert said in ran.out
    assert server.requests == []


def test_it_prints_json_in_units_of_the_score(run: Run) -> None:
    ran = run(*ARGUMENTS, "--worst", "60", "--best", "0", "--good", "15", "--format", "json")
    document = json.loads(ran.out)
    assert document["need"]["good"] == "1/4"
    assert document["boards"][0]["half_width"] > 5
    assert {"splits", "boards", "reasons", "sampling_error"} <= document.keys()


def test_it_refuses_what_is_no_competition(run: Run) -> None:
    ran = run("plan", "--rows", "0", "--teams", "5", "--submissions", "20")
    assert (ran.code, "Give at least 1." in ran.err) == (2, True)
    assert run(*ARGUMENTS, "--best", "high").code == 2
    assert run(*ARGUMENTS, "--worst", "1").code == 2


@pytest.mark.parametrize(
    ("score", "worst", "best", "loss"), [("0.8", "0", "1", "1/5"), ("15", "60", "0", "1/4")]
)
def test_scores_become_losses(score: str, worst: str, best: str, loss: str) -> None:
    ends = _number("worst", worst), _number("best", best)
    assert str(_loss(_number("good", score), *ends)) == loss
