"""`holdfast team` and the client's functions for it."""

import json

import pytest

from tests.holdfast.conftest import Run, Server, ok

pytestmark = pytest.mark.usefixtures("signed_in")

TEAM = "competitions/digits/team/"
MERGER = {
    "team": {"uid": "a1", "name": "Alices"}, "into": {"uid": "b2", "name": "Bobs"},
    "members": 3, "team_size": 5, "submissions": 12, "daily_left": 2, "total_left": None,
    "problem": "",
}  # fmt: skip


def test_what_merging_does_is_said_before_it_is_asked_for(server: Server, run: Run) -> None:
    server.on("GET", f"{TEAM}mergers/b2/", ok(MERGER))
    server.on("POST", f"{TEAM}mergers/b2/", ok({"asked": MERGER["into"], "asking": []}, 201))
    ran = run("team", "digits", "--merge", "b2", stdin="n\n")
    assert "“Alices” would become a part of “Bobs”, with 12 submissions" in ran.err
    assert "Nothing was done." in ran.err
    assert [each.method for each in server.requests] == ["GET"]
    assert "“Bobs” is asked" in run("team", "digits", "--merge", "b2", "--yes").out
    server.on("GET", f"{TEAM}mergers/b2/", ok(MERGER | {"problem": "Merge tomorrow."}))
    assert "Merge tomorrow." in run("team", "digits", "--accept", "b2", "--yes").err


def test_members_and_invitations_are_changed_one_at_a_time(server: Server, run: Run) -> None:
    invitation = {"token": "t", "url": "https://holdfast.example/c/digits/join/t/", "email": ""}
    server.on("POST", f"{TEAM}invitations/", ok(invitation, 201))
    server.on("PUT", f"{TEAM}captain/", ok({}, 204))
    server.on("DELETE", f"{TEAM}members/b%40b/", ok({}, 204))
    assert run("team", "digits", "--invite").out == f"{invitation['url']}\n"
    run("team", "digits", "--invite", "--email", "d@uni.example")
    assert json.loads(server.last.content) == {"email": "d@uni.example"}
    assert "bob is the captain now" in run("team", "digits", "--captain", "bob").out
    assert "joins no other one" in run("team", "digits", "--remove", "b@b", "--yes").err
    assert run("team", "digits", "--leave", "--invite").code == 2


def test_another_team_is_shown_by_its_id(server: Server, run: Run) -> None:
    result = {"is_final": True, "rank": 3, "teams": 20, "score_text": "0.91"}
    members = [{"username": "bob", "is_captain": True}]
    found = {"uid": "b2", "name": "Bobs", "members": members, "results": [result]}
    server.on("GET", "teams/b2/", ok(found))
    assert "3 of 20, 0.91 (final board)" in run("team", "--show", "b2").out
