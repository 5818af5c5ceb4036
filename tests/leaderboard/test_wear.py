"""What a board announced when it opened, beside what is left of it."""

import pytest
from django.test import Client

from leaderboard import organize, queries
from leaderboard.models import Board, Competition
from leaderboard.organize.plan import good_loss
from leaderboard.queries.wear import Wear
from tests.cast import World, make_competition, predictions, set_board

ROWS = 2000


@pytest.fixture
def competition(world: World) -> Competition:
    return make_competition("large", world.organizer, rows=ROWS, public=400)


def wrong(first: int) -> bytes:
    return predictions(wrong=range(first, ROWS), rows=ROWS)


def test_a_board_keeps_what_it_guaranteed_at_its_opening(competition: Competition) -> None:
    board = competition.current_round.board
    found = queries.guarantee(board, usual=good_loss(board))
    assert found is not None
    assert board.announced == found.now


def test_answers_wear_the_guarantee(world: World, competition: Competition) -> None:
    board = competition.current_round.board
    team = world.join(world.alice, competition=competition)
    for first in range(500, 1900, 200):
        world.score(team, wrong(first))
    found = queries.wear(Board.objects.get(pk=board.pk))
    assert found is not None
    assert found.now is not None
    assert found.now > found.announced == board.announced


def test_until_somebody_leads_nothing_is_compared(world: World, competition: Competition) -> None:
    board = competition.current_round.board
    assert queries.wear(board) is None
    world.score(world.join(world.alice, competition=competition), wrong(1900))
    assert queries.wear(board) is not None


def test_opening_again_announces_anew(world: World, competition: Competition) -> None:
    Board.objects.filter(round__competition=competition).update(announced=9.0)
    organize.return_to_draft(competition, by=world.organizer)
    organize.open_competition(competition, by=world.organizer)
    board = Board.objects.get(round__competition=competition)
    assert board.announced is not None
    assert board.announced < 1


def test_a_board_that_announced_nothing_has_no_wear(world: World) -> None:
    assert queries.wear(set_board(world.digits, announced=None)) is None


@pytest.mark.parametrize(
    ("now", "text"),
    [
        (0.05, "Announced ±0.050, now ±0.050."),
        (0.06, "Announced ±0.050, now ±0.060, 1.2 times as wide."),
        (None, "Announced ±0.050, now none."),
    ],
)
def test_wear_is_told_in_words(now: float | None, text: str) -> None:
    assert Wear(0.05, now).text == text


def test_only_organizers_see_the_wear_beside_the_gauge(
    world: World, competition: Competition, client: Client
) -> None:
    world.score(world.join(world.alice, competition=competition), wrong(1900))
    assert "For organizers" not in client.get("/c/large/leaderboard/").content.decode()
    client.force_login(world.organizer)
    assert "For organizers: Announced ±" in client.get("/c/large/leaderboard/").content.decode()
