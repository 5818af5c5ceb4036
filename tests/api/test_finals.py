"""Choosing final entries, and the final board once it is revealed."""

import csv
from io import StringIO
from typing import Any

import pytest
from rest_framework.test import APIClient

from leaderboard.models import FinalTests, Selection
from tests import ending, snapshots
from tests.api.conftest import DIGITS, As
from tests.cast import World, predictions

FINALS, FINAL = f"{DIGITS}finals/", f"{DIGITS}final/"


@pytest.fixture
@snapshots.kept
def played(world: World) -> World:
    """Alice has three answers, bob one."""
    alice, bob = world.join(world.alice), world.join(world.bob)
    for count in (9, 6, 3):
        world.score(alice, predictions(range(8, 8 + count)))
    world.score(bob, predictions(range(8, 12)))
    return world


def _put(client: APIClient, numbers: Any) -> Any:
    return client.put(FINALS, {"numbers": numbers}, format="json")


def test_without_a_choice_the_stand_in_is_told(played: World, as_: As) -> None:
    assert as_(played.alice).get(FINALS).json() == {
        "limit": 2,
        "numbers": [],
        "stand_in": 3,
        "entered": [3],
        "may_change": True,
        "summary": "Nothing is chosen yet: submission 3, your best so far, will be used unless you "
        "select others.",
    }


def test_a_choice_replaces_the_one_before(played: World, as_: As) -> None:
    client = as_(played.alice)
    assert _put(client, [1]).json()["entered"] == [1]
    answer = _put(client, [3, 2])
    assert (answer.status_code, answer.json()["numbers"]) == (200, [2, 3])
    assert _put(client, []).json()["entered"] == [3]
    assert not Selection.objects.exists()


@pytest.mark.parametrize(
    ("numbers", "status", "code"),
    [
        ([1, 2, 3], 422, "too_many_finals"),
        ([4], 422, "not_released"),
        ([0], 422, "invalid"),
        (["x"], 422, "invalid"),
        (None, 422, "invalid"),
    ],
)
def test_a_wrong_choice_changes_nothing_and_says_why(
    played: World, as_: As, numbers: Any, status: int, code: str
) -> None:
    client = as_(played.alice)
    _put(client, [1])
    answer = _put(client, numbers)
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert client.get(FINALS).json()["numbers"] == [1]


def test_the_start_fixes_the_choice(played: World, as_: As) -> None:
    client = as_(played.alice)
    ending.start(played.digits)
    answer = _put(client, [1])
    assert (answer.status_code, answer.json()["code"]) == (409, "finals_started")
    assert client.get(FINALS).json()["may_change"] is False


@pytest.mark.parametrize("reveal", [False, True])
def test_a_submission_has_its_exact_score_from_the_reveal_on(
    played: World, as_: As, reveal: bool
) -> None:
    client = as_(played.alice)
    _put(client, [1, 3])
    (ending.reveal if reveal else ending.score)(played.digits)
    one = client.get(f"{DIGITS}submissions/3/").json()["final"]
    rows = client.get(f"{DIGITS}submissions/").json()["results"]
    assert [bool(row["final"]) for row in rows] == ([True, False, True] if reveal else [False] * 3)
    assert rows[0]["final"] == one
    if reveal:
        assert (one["score"], one["loss_numerator"], one["loss_denominator"]) == (29 / 32, 3, 32)


@pytest.mark.parametrize("who", ["anonymous", "member", "organizer"])
@pytest.mark.parametrize("query", ["", "?format=csv"])
def test_there_is_no_final_board_before_the_reveal(
    played: World, as_: As, who: str, query: str
) -> None:
    ending.score(played.digits)
    people = {"member": played.alice, "organizer": played.organizer}
    client = as_(people[who]) if who in people else APIClient()
    answer = client.get(FINAL + query)
    assert (answer.status_code, answer.json()["code"]) == (404, "finals_not_revealed")


def test_the_final_board_has_both_ranks_and_the_exact_loss(played: World, as_: As) -> None:
    _put(as_(played.alice), [1, 2])
    ending.reveal(played.digits)
    answer = as_(played.alice).get(FINAL).json()
    assert answer["facts"]["rows"] == "private"
    assert answer["facts"]["finalists"] == 3
    first, second = answer["results"]
    assert (first["team"], first["rank"], first["released_rank"], first["move"]) == (
        "team bob", 1, 2, 1,
    )  # fmt: skip
    assert (first["best"]["loss_numerator"], first["best"]["loss_denominator"]) == (1, 8)
    assert first["best"]["is_chosen"] is False
    assert (second["team"], second["rank"], second["move"]) == ("team alice", 2, -1)
    assert [second["best"]["number"], second["others"][0]["number"]] == [2, 1]
    assert (second["best_place"], second["worst_place"], second["could_be_first"]) == (1, 2, True)
    assert answer["me"] == second
    interval = second["best"]["interval"]
    assert interval["low"] < second["best"]["score"] < interval["high"]


def test_the_csv_has_every_row(played: World, anonymous: APIClient) -> None:
    ending.reveal(played.digits)
    answer = anonymous.get(f"{FINAL}?format=csv")
    assert answer["Content-Disposition"] == 'attachment; filename="digits-final.csv"'
    rows = list(csv.DictReader(StringIO(answer.getvalue().decode())))
    assert [(row["rank"], row["team"], row["submission"]) for row in rows] == [
        ("1", "team alice", "3"),
        ("2", "team bob", "1"),
    ]


def test_the_competition_says_how_far_its_end_is(played: World, anonymous: APIClient) -> None:
    before = anonymous.get(DIGITS).json()
    assert (before["finals_limit"], before["finals_started_at"], before["revealed_at"]) == (
        2, None, None,
    )  # fmt: skip
    ending.reveal(played.digits)
    after = anonymous.get(DIGITS).json()
    assert after["finals_started_at"]
    assert after["revealed_at"]
    assert "scored" not in str(sorted(after))


def test_the_tests_behind_the_places_can_be_checked(played: World, anonymous: APIClient) -> None:
    assert anonymous.get(f"{FINAL}tests/").json()["code"] == "finals_not_revealed"
    ending.reveal(played.digits)
    answer = anonymous.get(f"{FINAL}tests/").json()
    teams = dict(played.digits.teams.values_list("name", "uid"))
    assert answer["entries"] == [[teams["team alice"], 3], [teams["team bob"], 1]]
    assert (answer["form"], answer["hypotheses"], answer["better"]) == ("betting", 2, [])
    assert answer["places"] == [[1, 2], [1, 2]]
    FinalTests.objects.all().delete()
    assert anonymous.get(f"{FINAL}tests/").json()["code"] == "finals_not_tested"
