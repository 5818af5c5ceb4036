"""The end through the API: closing, final scores, reveal, publication."""

import pytest
from rest_framework.test import APIClient

from leaderboard.models import Scope
from leaderboard.organize.people import add_organizer
from tests import ending
from tests.api.organize.conftest import DIGITS
from tests.api.test_scopes import token_client
from tests.cast import World, make_user, predictions


@pytest.fixture
def stage(world: World) -> World:
    world.score(world.join(world.alice), predictions([10]))
    return world


def test_a_competition_is_closed_before_its_time(stage: World, organizer: APIClient) -> None:
    closed = organizer.post(f"{DIGITS}close/").json()
    assert (closed["phase"], closed["stage"]) == ("closed", "choosing")
    assert closed["announced_closes_at"]
    assert organizer.post(f"{DIGITS}close/").json()["code"] == "not_open"


def test_finals_start_only_after_closing(stage: World, organizer: APIClient) -> None:
    assert organizer.post(f"{DIGITS}finals/start/").json()["code"] == "not_closed"
    organizer.post(f"{DIGITS}close/")
    started = organizer.post(f"{DIGITS}finals/start/", {"accept_failed": True}, format="json")
    assert started.json()["stage"] == "scoring"


def test_the_end_is_followed_and_revealed(
    stage: World, organizer: APIClient, anonymous: APIClient
) -> None:
    assert organizer.post(f"{DIGITS}finals/reveal/").json()["code"] == "finals_not_scored"
    ending.score(stage.digits)
    progress = organizer.get(f"{DIGITS}finals/").json()
    assert (progress["entered"], progress["scored"], progress["stage"]) == (1, 1, "scoring")
    assert anonymous.get("/api/v1/competitions/digits/final/").status_code == 404
    assert organizer.get(f"{DIGITS}finals/board/").json()["count"] == 1
    assert organizer.post(f"{DIGITS}finals/reveal/").json()["stage"] == "revealed"
    assert anonymous.get("/api/v1/competitions/digits/final/").json()["count"] == 1


def test_the_unrevealed_board_comes_as_csv_and_only_to_who_sees_the_solution(
    stage: World, organizer: APIClient
) -> None:
    ending.score(stage.digits)
    olga = make_user("olga", is_organizer=True)
    add_organizer(stage.digits, olga, "judge", by=stage.organizer)
    judge = token_client(olga, Scope.ORGANIZE)
    assert judge.get(f"{DIGITS}finals/board/").json()["code"] == "not_allowed"
    csv = organizer.get(f"{DIGITS}finals/board/?format=csv")
    assert b"team alice" in b"".join(csv.streaming_content)  # type: ignore[attr-defined]


def test_before_the_scores_are_there_there_is_no_board(stage: World, organizer: APIClient) -> None:
    assert organizer.get(f"{DIGITS}finals/board/").json()["code"] == "finals_not_scored"


def test_a_draft_has_no_end(draft: str, organizer: APIClient) -> None:
    assert organizer.get(f"{draft}finals/").json()["code"] == "competition_not_open"


def test_solution_and_secret_are_published_after_the_reveal(
    stage: World, organizer: APIClient
) -> None:
    where = f"{DIGITS}publication/"
    assert organizer.post(where).json()["code"] == "not_ended"
    assert "Reveal the final scores" in organizer.get(where).json()["refused"]
    ending.reveal(stage.digits)
    ordered = organizer.post(where).json()
    assert ordered["ordered_at"]
    assert ordered["publications"] == []
