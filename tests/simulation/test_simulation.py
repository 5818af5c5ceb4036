"""Seeded schedules of the whole pipeline: docs/simulation.md."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from itertools import count

import pytest
from pytest_django.plugin import DjangoDbBlocker

from tests.simulation.faults import FAULTS, planted
from tests.simulation.stage import Stage, stage
from tests.simulation.world import Outcome, play

# As many as the time is for, and a few however long they take.
SECONDS, FEWEST = 30, 3
OTHERS = range(120)


@pytest.fixture(scope="module")
def built(vault_keys: None, django_db_blocker: DjangoDbBlocker) -> Iterator[Stage]:
    """A stage with a database of its own, for all schedules."""
    with django_db_blocker.unblock(), stage() as made:
        yield made


def play_for_a_while(built: Stage) -> Iterator[Outcome]:
    ends = time.monotonic() + SECONDS
    for seed in count():
        if seed >= FEWEST and time.monotonic() > ends:
            return
        yield play(built, seed)


def test_no_schedule_breaks_a_promise(
    built: Stage, record_property: Callable[[str, object], None]
) -> None:
    outcomes = list(play_for_a_while(built))
    # What fits differs from machine to machine: it is reported, and nothing depends on it.
    record_property("schedules played", len(outcomes))
    assert [each.broken for each in outcomes if each.broken] == []


def test_a_seed_is_played_again_exactly(built: Stage) -> None:
    first, again = play(built, 2, tracing=True), play(built, 2, tracing=True)
    assert first.trace == again.trace


def test_a_broken_schedule_names_the_command_that_plays_it_again(built: Stage) -> None:
    with planted("sent-before-commit"):
        found = play(built, FAULTS["sent-before-commit"].seed)
    assert found.broken.endswith(f"python -m tests.simulation --seed {found.seed}")


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_found(built: Stage, name: str) -> None:
    # Whatever changes the pipeline's statements changes what a seed does: then others find it.
    with planted(name):
        assert any(play(built, seed).broken for seed in (FAULTS[name].seed, *OTHERS))
