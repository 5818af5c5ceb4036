"""Rank sets separate no ties, and whiskers of grouped rows cover by design and not by rows."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from research.bounds.paired import p_kl
from research.experiments import groups, paired
from research.experiments.results import Result
from scoring.errors import ConditionError
from scoring.guarantees.paired import p_betting, p_binomial

VECTORS = json.loads((Path(__file__).parents[1] / "scoring" / "vectors.json").read_text())[
    "section10"
]
SMALL = groups.Flights(groups=40, size=50)


def by_quantity(result: Result) -> dict[str, float]:
    return {line.quantity: line.mean for line in result.comparisons}


def few_contests(seed: int) -> Result:
    return paired.run(6, seed, rows=200, fresh=(200,))


@pytest.mark.parametrize("vector", VECTORS["p_kl"])
def test_kl_vectors(vector: dict[str, Any]) -> None:
    assert p_kl(vector["args"]["D"], vector["args"]["x"]) == pytest.approx(vector["value"])


def test_the_kl_form_is_weaker_than_those_that_are_served() -> None:
    assert p_kl(100, 0.3) > p_binomial(100, 65)
    differences = np.concatenate([np.full(900, 0.02), np.full(100, -0.02)])
    assert p_kl(1000, float(differences.mean())) > p_betting(differences)
    assert p_kl(100, 0.0) == p_kl(100, -0.5) == 1
    with pytest.raises(ConditionError):
        p_kl(0, 0.5)
    with pytest.raises(ConditionError):
        p_kl(10, 1.5)


def test_attacks_separate_ties_only_where_answers_are_not_charged() -> None:
    result = by_quantity(paired.run(60, 5, rows=300, fresh=(4000,)))
    tied = [share for name, share in result.items() if name.startswith("tied")]
    assert len(tied) == 3
    assert max(tied) <= paired.BETA
    assert result["voted, 80 questions, level beta"] > 0.9
    assert result["voted, 80 questions, level beta exp(-code)"] <= paired.BETA


def test_paired_tests_tell_more_apart_than_intervals() -> None:
    apart = np.mean([paired.season(4000, np.random.default_rng(seed)) for seed in range(3)], axis=0)
    assert apart[0] >= 0.3
    assert apart[1] <= 0.1


def test_whiskers_cover_by_the_design_and_not_by_rows() -> None:
    result = by_quantity(groups.run(60, 5))
    assert 80 < result["design effect"] < 120
    by_rows, worst, scatter = (result[f"{way}: hold the truth"] for way in groups.WAYS)
    assert by_rows < 0.7
    assert scatter >= 0.93
    assert worst >= 0.99
    lengths = [result[f"{way}: half length"] for way in groups.WAYS]
    assert lengths[0] < lengths[2] < lengths[1]


def test_lone_rows_are_covered_by_rows() -> None:
    result = by_quantity(groups.run(40, 5, groups.Flights(groups=500, size=1, shared=0.0)))
    assert result["design effect"] == 1
    assert all(result[f"{way}: hold the truth"] > 0.93 for way in groups.WAYS)


@pytest.mark.parametrize(
    "play", [few_contests, lambda seed: groups.run(2, seed, SMALL)], ids=["paired", "groups"]
)
def test_the_seed_decides_everything(play: Callable[[int], Result]) -> None:
    assert play(3).to_json() == play(3).to_json()
    assert play(3).to_json() != play(4).to_json()
