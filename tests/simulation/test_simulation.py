"""Seeded schedules of the whole pipeline: docs/simulation.md."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pytest_django.plugin import DjangoDbBlocker

from tests.simulation.faults import FAULTS, planted
from tests.simulation.stage import Stage, stage
from tests.simulation.world import play

SEEDS, OTHERS = range(8), range(100, 110)


@pytest.fixture(scope="module")
def built(vault_keys: None, django_db_blocker: DjangoDbBlocker) -> Iterator[Stage]:
    """A stage with a database of its own, for all schedules."""
    with django_db_blocker.unblock(), stage() as made:
        yield made


def test_no_schedule_breaks_a_promise(built: Stage) -> None:
    outcomes = [play(built, seed) for seed in SEEDS]
    assert {each.seed: each.violations for each in outcomes if each.violations} == {}


def test_a_seed_is_played_again_exactly(built: Stage) -> None:
    first, again = play(built, 2, tracing=True), play(built, 2, tracing=True)
    assert first.trace == again.trace


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_found(built: Stage, name: str) -> None:
    # Whatever changes the pipeline's statements changes what a seed does: then others find it.
    with planted(name):
        assert any(play(built, seed).violations for seed in (FAULTS[name].seed, *OTHERS))
