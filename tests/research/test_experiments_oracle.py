"""Programs before oracles: a plain one is overfitted, Guard and gates keep what they promise."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from research.experiments import oracle
from research.experiments.oracle_answers import GATES, ORACLES
from research.experiments.oracle_models import SEARCHES, Sizes, Task, draw_task

DOCS = Path(__file__).parents[2] / "docs"
DRAWN = json.loads((DOCS / "figures" / "oracle.json").read_text())
SMALL = Sizes(training=600, public=1200, private=300, fresh=2000, exceptions=600, calls=800)
ROWS = Sizes(public=1000, private=1000)
KEPT = ("guard", "gate")


@pytest.fixture(scope="module")
def small() -> list[oracle.Outcome]:
    return oracle.play_run(SMALL, 3, 0)


@pytest.mark.parametrize("search", SEARCHES)
def test_programs_overfit_a_plain_oracle_and_not_guard_or_gates(
    small: list[oracle.Outcome], search: str
) -> None:
    gaps = {name: oracle.gaps(small, search, name)[0] for name in ORACLES}
    assert gaps["plain"] > 0.15
    assert all(gaps["plain"] > 2 * gaps[name] for name in KEPT)
    for name in ("ladder", *KEPT):
        assert all(
            claim.holds for each in oracle.chosen(small, search, name) for claim in each.claims
        )


def test_an_oracle_says_far_less_than_a_plain_one(small: list[oracle.Outcome]) -> None:
    for search in SEARCHES:
        nats = {name: oracle.chosen(small, search, name)[0].nats for name in ORACLES}
        assert max(nats[name] for name in ("ladder", *KEPT)) < nats["plain"] / 50
        assert nats["gate"] <= GATES * math.log(2)


def test_a_call_beyond_the_declared_gates_asks_nothing() -> None:
    gates = ORACLES["gate"](ROWS)
    answers = [gates.answer(800 - 20 * call, private=900) for call in range(GATES)]
    assert {answer.shown for answer in answers} == {None}
    assert gates.nats == pytest.approx(GATES * math.log(2))
    beyond = gates.answer(0, private=0)
    assert (beyond.shown, beyond.guide) == (None, 0)
    assert gates.nats == pytest.approx(GATES * math.log(2))


def test_a_gate_that_is_passed_may_be_claimed_and_no_more() -> None:
    gates = ORACLES["gate"](ROWS)
    first, same, next_one = (gates.answer(public, private=100) for public in (400, 398, 390))
    assert (first.shown, same.shown, next_one.shown) == (0.4, None, 0.39)
    high = next_one.bound()
    assert high is not None
    assert high > 0.39


def test_models_are_functions_of_the_patch() -> None:
    task = draw_task(SMALL, np.random.default_rng(1))
    other = Task(task.sizes, ~task.truth, task.start, task.exceptions, task.inherited)
    model, same = (each.change(each.start, np.random.default_rng(2)) for each in (task, other))
    assert np.array_equal(model, same)


def test_the_seed_decides_everything() -> None:
    tiny = Sizes(training=200, public=200, private=100, fresh=200, exceptions=60, calls=50)
    assert oracle.run(1, 3, tiny).to_json() == oracle.run(1, 3, tiny).to_json()
    assert oracle.run(1, 3, tiny).to_json() != oracle.run(1, 4, tiny).to_json()


# --- As drawn -------------------------------------------------------------------------------------


def drawn(search: str, name: str) -> list[dict[str, Any]]:
    return [row for row in DRAWN["rows"] if (row["search"], row["oracle"]) == (search, name)]


def gap(row: dict[str, Any]) -> float:
    return float(row["shown"] - row["fresh"])


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("name", KEPT)
def test_all_runs_as_drawn_stay_within_their_guarantee_and_a_plain_one_is_far_off(
    search: str, name: str
) -> None:
    rows, plain = drawn(search, name), drawn(search, "plain")
    assert len(rows) == len(plain) == 50
    for row in rows:
        assert row["always_within"]
        assert row["guarantee"] is not None
        assert gap(row) <= row["guarantee"]
    assert sum(map(gap, plain)) >= 5 * sum(map(gap, rows))


@pytest.mark.parametrize("place", range(len(SEARCHES)))
def test_the_page_has_the_table(place: int) -> None:
    text = (DOCS / "agents.md").read_text()
    for name, shown, fresh, mean, largest, guarantee, *_ in DRAWN["tables"][place]["rows"]:
        numbers = " | ".join(f"{value:.3f}" for value in (shown, fresh, mean, largest))
        promised = "none" if guarantee is None else f"{guarantee:.3f}"
        assert f"| {name} | {numbers} | {promised} |" in text
