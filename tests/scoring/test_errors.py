"""The errors that people and programs read."""

import json
import pickle

import pytest

from scoring.errors import (
    HoldfastError,
    ParameterError,
    PredictionError,
    Problem,
    SolutionError,
)
from scoring.wording import REJECTIONS

PROBLEM = Problem("not_a_number", line=3, column="score", value="x", kind="number")


def test_a_problem_survives_json() -> None:
    assert Problem.from_json(json.loads(json.dumps(PROBLEM.to_json()))) == PROBLEM


def test_a_problem_is_stored_without_words() -> None:
    fields = {"line": 3, "column": "score", "value": "x", "kind": "number"}
    assert PROBLEM.to_json() == {"code": "not_a_number", **fields}
    assert PROBLEM.render() == {
        "code": "not_a_number",
        "message": "Line 3, column `score`: 'x' is not a number.",
        "line": 3,
        "column": "score",
        "value": "x",
        "expected": "a finite number",
    }


def test_a_problem_that_was_stored_with_its_words_keeps_them() -> None:
    """Rejections from before the catalogue had `message` and `expected`; codes come and go."""
    stored = {**PROBLEM.render(), "message": "Not {a} [number].", "expected": "one"}
    assert Problem.from_json(stored).render() == stored
    assert Problem("gone", message="It was so.").message == "It was so."
    assert Problem("ragged_row").message == REJECTIONS["ragged_row"].about


def test_what_a_file_says_is_no_template() -> None:
    odd = Problem("not_a_number", line=3, column="{p}[x|y]", value="{line}[|")
    assert odd.message == "Line 3, column `{p}[x|y]`: '{line}[|' is not a number."


def test_an_error_reads_as_one_line() -> None:
    assert str(PredictionError([PROBLEM])) == PROBLEM.message
    assert str(PredictionError([PROBLEM] * 2)) == f"{PROBLEM.message} (1 more problem)"
    assert str(SolutionError([PROBLEM], total=40)) == f"{PROBLEM.message} (39 more problems)"


def test_an_error_keeps_ten_problems_and_counts_all() -> None:
    error = PredictionError([PROBLEM] * 12)
    assert len(error.problems) == 10
    assert error.total == 12


def test_an_error_without_problems_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one"):
        PredictionError([])


@pytest.mark.parametrize("error", [PredictionError([PROBLEM], 5), ParameterError("steps", "No.")])
def test_an_error_can_travel_between_processes(error: HoldfastError) -> None:
    copy = pickle.loads(pickle.dumps(error))  # noqa: S301 (our own bytes)
    assert type(copy) is type(error)
    assert str(copy) == str(error)
