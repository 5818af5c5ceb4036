"""A board that is open asks whether there is something new."""

import pytest
from django.test import Client

from tests.cast import World, make_competition, predictions
from tests.web.pages import browser


def version(client: Client, path: str) -> str:
    html = client.get(path).content.decode()
    return html.partition('data-version="')[2].partition('"')[0]


def test_it_is_sent_nothing_until_there_is_something_new(world: World) -> None:
    team, client, path = world.join(world.alice), browser(), "/c/digits/leaderboard/"
    world.score(team, predictions(range(8, 20)))
    known = version(client, path)
    answer = client.get(path, headers={"Board-Version": known})
    assert (answer.status_code, answer.content) == (204, b"")
    world.score(team, predictions(range(8, 12)))
    assert client.get(path, headers={"Board-Version": known}).status_code == 200


@pytest.mark.parametrize("end", ["leaderboard/", "leaderboard/released/"])
def test_on_a_hidden_board_it_learns_nothing_of_others(world: World, end: str) -> None:
    hidden = {"is_hidden": True, "team_limit": 9, "question_limit": 900}
    secret = make_competition("secret", world.organizer, **hidden)
    mine, other = (world.join(each, competition=secret) for each in (world.alice, world.bob))
    world.score(mine, predictions(range(8, 12)))
    client, path = browser(world.alice), f"/c/secret/{end}"
    known = version(client, path)
    world.score(other, predictions(range(8, 9)))
    assert client.get(path, headers={"Board-Version": known}).status_code == 204
    world.score(mine, predictions(range(8, 10)))
    assert client.get(path, headers={"Board-Version": known}).status_code == 200
