"""Gates on pages: what they ask, what a team was told, and the console that makes them."""

from __future__ import annotations

import pytest
from django.test import Client

from leaderboard.models import Competition, Gate, Team
from tests.cast import World
from tests.leaderboard.test_gates import compare_with, make, make_gated, wrong
from tests.snapshots import kept
from tests.web.pages import browser, text

PAGE = "/c/gated/gates/"
CONSOLE = "/organize/gated/gates/"


@pytest.fixture
@kept
def gated(world: World) -> Competition:
    return make_gated(world, "gated")


@pytest.fixture
def alice(world: World, gated: Competition) -> Team:
    return world.join(world.alice, competition=gated)


def test_the_page_says_what_a_pass_and_a_fail_promise(world: World, gated: Competition) -> None:
    row = make(gated, world)
    shown = text(Client().get(PAGE))
    assert "6 of 6 answers are left" in shown
    assert "Is the score at least 0.8?" in shown
    assert f"holdfast gate {row.name} -c gated -f predictions.csv" in shown
    assert PAGE in Client().get("/c/gated/").content.decode()


def test_a_competition_without_gates_has_no_tab(world: World) -> None:
    assert "/c/digits/gates/" not in Client().get("/c/digits/").content.decode()


def test_a_team_reads_its_gate_s_answer(world: World, gated: Competition, alice: Team) -> None:
    make(gated, world)
    world.score(alice, wrong(10), gate="ci")
    client = browser(world.alice)
    shown = text(client.get("/c/gated/submissions/1/"))
    assert "Passed the gate “ci”. Its true score is at least" in shown
    assert "Passed" in text(client.get("/c/gated/submissions/"))


def test_an_organizer_makes_a_gate_and_reads_what_it_promises(
    world: World, gated: Competition
) -> None:
    client = browser(world.organizer)
    made = client.post(CONSOLE, {"name": "ci", "kind": "mark", "mark": "0.8"}, follow=True)
    assert "The gate ci is made. Its true score is at least" in text(made)
    assert Gate.objects.get().bound == "1/5"
    refused = client.post(CONSOLE, {"name": "ci", "kind": "mark"})
    assert {*refused.context["form"].errors} == {"name", "mark"}


def test_a_file_that_passed_is_put_in_use(world: World, gated: Competition, alice: Team) -> None:
    compare_with(gated, world, kind="not_worse", tolerance=0.02)
    passed = world.score(alice, wrong(20), gate="ci")
    client = browser(world.organizer)
    assert f"Put {alice.name} #2 in use" in text(client.get(CONSOLE))
    client.post(f"{CONSOLE}ci/promote/{passed.pk}/")
    assert Gate.objects.open().get().in_use == passed
    client.post(f"{CONSOLE}ci/retire/")
    assert not Gate.objects.open().exists()
