"""Gates over the API: listed, asked by name, made and retired by organizers."""

from __future__ import annotations

from typing import Any

import pytest
from rest_framework.test import APIClient

from leaderboard.models import Competition, Scope, Team
from leaderboard.tasks import score_submission
from tests.api.conftest import API, As, file
from tests.api.test_scopes import token_client
from tests.cast import World
from tests.leaderboard.test_gates import make, make_gated, wrong
from tests.snapshots import kept

GATED = f"{API}competitions/gated/"
CONSOLE = f"{API}organize/competitions/gated/gates/"


@pytest.fixture
@kept
def gated(world: World) -> Competition:
    return make_gated(world, "gated")


@pytest.fixture
def alice(world: World, gated: Competition) -> Team:
    return world.join(world.alice, competition=gated)


@pytest.fixture
def organizer(world: World) -> APIClient:
    return token_client(world.organizer, Scope.ORGANIZE)


def ask(client: APIClient, content: bytes, gate: str = "ci") -> Any:
    body = {"file": file(content), "gate": gate}
    return client.post(f"{GATED}submissions/", body, format="multipart")


def scored(client: APIClient, team: Team, number: int) -> Any:
    score_submission(submission_id=team.submissions.get(number=number).pk)
    return client.get(f"{GATED}submissions/{number}/").json()


def test_a_file_is_sent_to_a_gate_and_says_whether_it_passed(
    world: World, gated: Competition, alice: Team, as_: As
) -> None:
    make(gated, world)
    client = as_(world.alice)
    sent = ask(client, wrong(10)).json()
    assert (sent["gate"], sent["passed"], sent["receipt"] is not None) == ("ci", None, True)
    found = scored(client, alice, sent["number"])
    assert (found["status"], found["passed"], found["release"]) == ("released", True, None)
    assert found["gate_answer"]["left"] == 5
    assert not found["gate_answer"]["is_repeat"]
    again = scored(client, alice, ask(client, wrong(10)).json()["number"])
    assert again["gate_answer"]["is_repeat"]


def test_gates_are_listed_with_what_they_promise(
    world: World, gated: Competition, anonymous: APIClient
) -> None:
    make(gated, world)
    (row,) = anonymous.get(f"{GATED}gates/").json()["results"]
    assert row == anonymous.get(f"{GATED}gates/ci/").json()
    assert (row["kind"], row["bound"], row["left"], row["limit"]) == ("mark", 0.8, 6, 6)
    assert row["high"] < 0.8 < row["low"]
    assert row["asks"] == "Is the score at least 0.8?"
    assert anonymous.get(f"{GATED}gates/other/").status_code == 404


def test_an_unknown_gate_names_the_field(gated: Competition, alice: Team, as_: As) -> None:
    refused = ask(as_(alice.captain), wrong(1), "other")
    assert refused.status_code == 422
    assert [each["field"] for each in refused.json()["errors"]] == ["gate"]
    assert not alice.submissions.exists()


def test_an_organizer_makes_promotes_and_retires_a_gate(
    world: World, gated: Competition, alice: Team, as_: As, organizer: APIClient
) -> None:
    first = world.score(alice, wrong(60))
    body = {"name": "ci", "kind": "not_worse", "tolerance": 0.02, "differing": 0.5}
    in_use = {"team": alice.uid, "submission": first.number}
    made = organizer.post(CONSOLE, body | in_use, format="json")
    assert (made.status_code, made.json()["in_use"], made.json()["left"]) == (201, 1, 6)
    passed = world.score(alice, wrong(20), gate="ci")
    better = {"team": alice.uid, "submission": passed.number}
    after = organizer.post(f"{CONSOLE}ci/promote/", better, format="json")
    assert (after.status_code, after.json()["in_use"]) == (200, passed.number)
    assert after.json()["uid"] != made.json()["uid"]
    assert organizer.delete(f"{CONSOLE}ci/").status_code == 204
    assert organizer.get(CONSOLE).json()["count"] == 0


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"name": "ci", "kind": "beter"}, "kind"),
        ({"name": "ci", "kind": "mark"}, "mark"),
        ({"name": "ci", "kind": "better", "team": "x"}, "submission"),
        ({"name": "ci", "kind": "mark", "mark": 0.8, "board": 7}, "board"),
        ({"name": "../x", "kind": "mark", "mark": 0.8}, "name"),
    ],
)
def test_an_odd_gate_names_the_field(
    gated: Competition, organizer: APIClient, body: dict[str, Any], field: str
) -> None:
    refused = organizer.post(CONSOLE, body, format="json")
    assert refused.status_code == 422
    assert [each["field"] for each in refused.json()["errors"]] == [field]
