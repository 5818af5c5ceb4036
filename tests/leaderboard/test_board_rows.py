"""What boards show beside a score: baselines that are no teams, change of place, curves."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser
from rest_framework.test import APIClient

from leaderboard import queries
from leaderboard.ledger import levels
from leaderboard.models import DayStart, Standing, Team
from leaderboard.organize.teams import change_team
from leaderboard.pipeline.final_places import store_places
from leaderboard.queries.board_csv import board_csv
from tests import ending
from tests.cast import World, make_user, predictions

NOBODY = AnonymousUser()


def join(world: World, **wrong: int) -> dict[str, Team]:
    """Let teams send a file each, with so many mistakes."""
    teams = {name: world.join(make_user(name), name) for name in wrong}
    for name, count in wrong.items():
        world.score(teams[name], predictions(range(8, 8 + count)))
    return teams


def shown(world: World, **asked: Any) -> list[tuple[str, int | None]]:
    return [(row.team, row.rank) for row in queries.board(world.board, NOBODY, **asked).rows]


@pytest.fixture
def teams(world: World) -> dict[str, Team]:
    """Three teams, of which `base` is marked as a baseline once it stands between the others."""
    teams = join(world, ann=4, base=8, zoe=12)
    change_team(teams["base"], world.organizer, is_baseline=True)
    return teams


def test_a_baseline_stands_between_the_rows_without_a_rank_and_counts_nowhere(
    world: World, teams: dict[str, Team]
) -> None:
    page = queries.board(world.board, teams["base"].captain)
    assert shown(world) == [("ann", 1), ("base", None), ("zoe", 2)]
    assert (page.total, page.teams, page.my_row) == (2, 2, None)
    lines = b"".join(board_csv(queries.whole_board(world.board, NOBODY))).decode().splitlines()
    assert [line.split(",")[0] for line in lines[1:]] == ["1", "", "2"]
    answer = APIClient().get("/api/v1/competitions/digits/leaderboard/").json()
    assert answer["count"] == 2
    assert [row["rank"] for row in answer["results"]] == [1, None, 2]
    assert queries.competition_head(world.digits, NOBODY).teams == 2
    assert [team.name for team in queries.team_rows(world.digits, NOBODY)[0]] == ["ann", "zoe"]


@pytest.mark.parametrize("search", ["", "e"])
def test_each_baseline_is_on_one_page_wherever_pages_begin(
    world: World, teams: dict[str, Team], search: str
) -> None:
    for size in (1, 2, 3):
        asked: dict[str, Any] = {"page_rows": size, "search": search}
        pages = range(1, queries.board(world.board, NOBODY, **asked).pages + 1)
        rows = [each for number in pages for each in shown(world, page=number, **asked)]
        whole = [("ann", 1)] * (not search) + [("base", None), ("zoe", 2)]
        assert rows == whole


def test_a_team_that_is_no_baseline_any_more_has_its_rank_again(
    world: World, teams: dict[str, Team]
) -> None:
    change_team(teams["base"], world.organizer, is_baseline=False)
    assert shown(world) == [("ann", 1), ("base", 2), ("zoe", 3)]


def test_baselines_take_no_final_place(world: World, teams: dict[str, Team]) -> None:
    ending.reveal(world.digits)
    page = queries.final_board(world.round, NOBODY)
    rows = [(row.team, row.rank, row.best_place, row.worst_place) for row in page.rows]
    assert rows == [("ann", 1, 1, 2), ("base", None, None, None), ("zoe", 2, 1, 2)]
    assert (page.total, page.facts.teams, page.facts.baselines) == (2, 2, 1)
    assert [row.team for row in queries.whole_final_board(world.round, NOBODY)] == [
        "ann", "base", "zoe",
    ]  # fmt: skip
    assert [(each.team, each.after) for each in queries.moved(world.round, NOBODY, 5)] == [
        ("ann", 1), ("zoe", 2),
    ]  # fmt: skip


def test_equal_final_scores_are_marked_over_the_edges_of_pages(world: World) -> None:
    join(world, ann=4, bea=4, zoe=12)
    ending.score(world.digits)
    store_places(world.board)
    pages = [queries.final_board(world.round, NOBODY, page=n, page_rows=1).rows for n in (1, 2, 3)]
    assert [(row.rank, row.tied) for (row,) in pages] == [(1, True), (1, True), (3, False)]


def test_change_of_place_is_since_the_day_began(world: World) -> None:
    teams = join(world, ann=4, bea=8, cyd=12)
    yesterday = DayStart.objects.get(board=world.board).day - timedelta(days=1)
    DayStart.objects.update(day=yesterday)
    Standing.objects.update(moved_on=yesterday)
    changes = queries.board(world.board, NOBODY).rows
    assert [row.change for row in changes] == [0, 0, 0]
    world.score(teams["cyd"], predictions(range(8, 14)))
    world.score(teams["cyd"], predictions(range(8, 9)))
    join(world, dot=5)
    rows = queries.board(world.board, NOBODY).rows
    assert [(row.team, row.change) for row in rows] == [
        ("cyd", 2), ("ann", -1), ("dot", None), ("bea", -2),
    ]  # fmt: skip


def test_a_curve_has_the_best_scores_so_far(world: World) -> None:
    team = world.join(world.alice)
    for wrong in (20, 24, 10):
        world.score(team, predictions(range(8, 8 + wrong)))
    (row,) = queries.board(world.board, NOBODY).rows
    losses = [loss for _, loss in row.curve]
    assert len(losses) == 2
    assert losses == sorted(losses, reverse=True)


def test_a_long_curve_keeps_its_beginning_and_its_end(world: World) -> None:
    world.score(world.join(world.alice))
    standing = Standing.objects.get()
    for loss in range(100, 0, -1):
        standing.loss = loss / 100
        levels.draw_curve(standing)
    assert len(standing.curve) == levels.CURVE
    assert (standing.curve[1][1], standing.curve[-1][1]) == (0.59, 0.01)


def test_who_could_be_first_follows_from_intervals_that_hold_at_once(world: World) -> None:
    teams = join(world, ann=4, bea=8, cyd=12)
    assert queries.contenders(world.board, NOBODY) is None
    for name, low, high in (("ann", 0.0, 0.2), ("bea", 0.1, 0.3), ("cyd", 0.25, 0.5)):
        standing = Standing.objects.get(team=teams[name])
        Standing.objects.filter(pk=standing.pk).update(low=low)
        assert standing.best is not None
        type(standing.best).objects.filter(pk=standing.best.pk).update(low=low, high=high)
    found = queries.contenders(world.board, NOBODY)
    assert found is not None
    assert (found.could_be_first, found.teams, found.contenders) == (2, 3, ("ann", "bea"))
