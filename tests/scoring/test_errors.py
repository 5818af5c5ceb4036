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

PROBLEM = Problem(
    "not_a_number", "Line 3, column score: expected a number.", 3, "score", "x", "a number"
)


def test_a_problem_survives_json() -> None:
    assert Problem.from_json(json.loads(json.dumps(PROBLEM.to_json()))) == PROBLEM


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
