"""Gates of a local oracle: one bit each, of a number that was fixed."""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from holdfast import Failure
from holdfast.errors import Refused
from holdfast.oracle import report
from scoring.verification.run import verify
from tests.holdfast.oracles import Place, guess

GATES = (("good", "mark:0.7"), ("kept", "not_worse:0.02:0.5"), ("better", "better"))


@pytest.fixture
def place() -> Iterator[Place]:
    """A folder whose path is short enough for a socket."""
    with tempfile.TemporaryDirectory(prefix="oracle-") as folder:
        yield Place(Path(folder))


def chosen(place: Place, **own: Any) -> dict[str, Any]:
    in_use = place.folder / "in_use.csv"
    in_use.write_bytes(guess(100))
    return {"gates": 5, "order_gates": GATES, "in_use": in_use} | own


def test_gates_answer_one_bit_and_the_ledger_verifies(place: Place) -> None:
    with place.serve(**chosen(place)) as (oracle, _):
        oracle.ask(guess(90))
        passed = [
            oracle.gate(name, guess(wrong)).passed
            for name, wrong in (("good", 20), ("good", 150), ("kept", 101), ("better", 0))
        ]
        again = oracle.gate("good", guess(20))
        lines = oracle.ledger().splitlines(keepends=True)
    assert passed == [True, False, True, True]
    assert (again.is_repeat, again.left.gates) == (True, 1)
    found = verify(lines)
    assert found.difference is None
    assert found.entries == 5
    told = report.read(place.ledger)
    assert (told["questions"], told["gates"], told["left"]["gates"]) == (1, 4, 1)


def test_beyond_those_that_were_declared_no_gate_answers(place: Place) -> None:
    with place.serve(**chosen(place, gates=1)) as (oracle, _):
        oracle.gate("good", guess(20))
        with pytest.raises(Refused, match="All 1 gates that were declared are used"):
            oracle.gate("good", guess(21))
        with pytest.raises(Refused, match="There is no gate 'god'; there is good, kept, better"):
            oracle.gate("god", guess(21))


@pytest.mark.parametrize(
    ("metric", "own", "expected"),
    [
        ("accuracy", {"gates": None}, "say with --gates how many"),
        ("accuracy", {"in_use": None}, "name it with --in-use"),
        ("accuracy", {"order_gates": (("a", "mark"),)}, "mark:SCORE"),
        ("f1", {}, "no guarantee"),
    ],
)
def test_gates_that_can_not_be_asked_are_refused_at_the_start(
    place: Place, metric: str, own: dict[str, Any], expected: str
) -> None:
    with pytest.raises(Failure, match=expected), place.serve(metric, **chosen(place, **own)):
        pass
