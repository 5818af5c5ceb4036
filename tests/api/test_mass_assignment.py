"""Participants write exactly the fields that are theirs; every other one is refused by name."""

from typing import Any

import pytest
from django.core.cache import cache
from django.db.models import Model

from leaderboard.models import Membership, Submission, Team, User
from tests.api.conftest import API, DIGITS, As, file
from tests.cast import World

OWN = {
    "join": {"accept_rules", "team_name", "invitation"},
    "rename": {"name"},
    "submit": {"file", "message", "claimed_score", "campaign", "gate"},
    "login": {
        *("username", "password", "scopes", "name"),
        *("days", "competition", "campaign", "quota"),
    },
    "choose finals": {"numbers"},
}


def _fields(*models: type[Model]) -> set[str]:
    """Names of all columns and relations of these models: what an attacker would try."""
    return {field.name for model in models for field in model._meta.get_fields()}


ATTEMPTS = sorted(
    _fields(Submission, Team, Membership, User)
    | {"id", "pk", "score", "release", "problems", "is_verified", "team_id", "user_id", "__class__"}
)


def _operations(world: World, as_: As) -> dict[str, Any]:
    alice, bob = as_(world.alice), as_(world.bob)
    return {
        "join": lambda more: bob.post(f"{DIGITS}join/", {"accept_rules": True} | more, "json"),
        "rename": lambda more: alice.patch(f"{DIGITS}team/", {"name": "New"} | more, "json"),
        "submit": lambda more: alice.post(
            f"{DIGITS}submissions/", {"file": file()} | more, "multipart"
        ),
        "choose finals": lambda more: alice.put(f"{DIGITS}finals/", {"numbers": []} | more, "json"),
        "login": lambda more: alice.post(
            f"{API}auth/login/", {"username": "alice", "password": "alice-password"} | more, "json"
        ),
    }


@pytest.mark.parametrize("operation", OWN)
def test_a_field_that_is_not_theirs_is_refused_by_name(
    operation: str, world: World, as_: As
) -> None:
    team = world.join(world.alice)
    ask = _operations(world, as_)[operation]
    for name in set(ATTEMPTS) - OWN[operation]:
        cache.clear()
        response = ask({name: "1"})
        assert response.status_code == 422, name
        error = response.json()["errors"][0]
        assert (error["code"], error["field"]) == ("unknown_field", name)
    team.refresh_from_db()
    assert team.name == "team alice"
    assert not Submission.objects.exists()
    assert Membership.objects.count() == 1


@pytest.mark.parametrize("method", ["put", "delete", "post", "patch"])
@pytest.mark.parametrize(
    "path",
    [
        "me/",
        "competitions/",
        "competitions/digits/",
        "competitions/digits/files/",
        "competitions/digits/files/train.csv/",
        "competitions/digits/leaderboard/",
        "competitions/digits/ledger/",
        "competitions/digits/final/",
        "competitions/digits/teams/",
        "competitions/digits/submissions/1/file/",
    ],
)
def test_what_is_read_cannot_be_written(path: str, method: str, world: World, as_: As) -> None:
    world.submit(world.join(world.alice))
    response = getattr(as_(world.alice), method)(f"{API}{path}", {"status": "released"})
    assert response.status_code == 405


def test_of_a_submission_the_note_alone_can_be_changed(world: World, as_: As) -> None:
    submission = world.submit(world.join(world.alice))
    body = {"message": "new", "status": "released"}
    response = as_(world.alice).patch(f"{DIGITS}submissions/1/", body, "json")
    assert response.json()["errors"][0]["field"] == "status"
    submission.refresh_from_db()
    assert (submission.status, submission.message) == ("queued", "")


def test_several_unknown_fields_are_all_named(world: World, as_: As) -> None:
    body = {"accept_rules": True, "status": "x", "captain": "bob"}
    document = as_(world.bob).post(f"{DIGITS}join/", body, "json").json()
    assert [error["field"] for error in document["errors"]] == ["captain", "status"]
    assert document["detail"] == "2 things are wrong with what was sent."
