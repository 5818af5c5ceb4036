"""Places, pages and counts of the board against a slow reference, after random changes."""

import math
import random
from datetime import datetime, timedelta
from typing import NamedTuple

import pytest
from django.contrib.auth.models import AnonymousUser
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from leaderboard import queries
from leaderboard.ledger import levels
from leaderboard.ledger.merging import merge_rows
from leaderboard.models import FinalScore, LevelCount, Release, Standing, Team
from leaderboard.pipeline.final_places import store_places
from leaderboard.queries import boards
from tests import ending
from tests.cast import World, ledger_of, make_user, predictions

NOBODY = AnonymousUser()
PAGE = 4


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let levels be counted in parts of two to four teams."""
    monkeypatch.setattr(levels, "PART", 2)


@pytest.fixture(params=[1, 1000])
def few(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Find teams by their names with each row, or first of all."""
    monkeypatch.setattr(boards, "_FEW_FOUND", request.param)


class Row(NamedTuple):
    """A row of the reference, in the order of the board."""

    unscored: bool
    loss: float
    reached_at: datetime
    key: int
    team: str


def reference(world: World) -> list[Row]:
    """Sort all rows in Python."""
    return sorted(
        Row(each.loss is None, each.loss or 0.0, each.reached_at, each.pk, each.team.name)
        for each in world.board.standings.select_related("team")
    )


def test_final_places_and_pages_are_those_of_the_sorted_scores(world: World) -> None:
    """Scores, drawn anew after the end, tie often; the earlier board decides who stands first."""
    draw = random.Random(3)
    for name in "abcdefg":
        world.score(world.join(make_user(name), name), predictions(range(8, draw.randrange(9, 30))))
    ending.score(world.digits)
    for score in FinalScore.objects.all():
        FinalScore.objects.filter(pk=score.pk).update(units=draw.randrange(3) * score.resolution)
    FinalScore.objects.update(place=None, position=None)
    store_places(world.board)
    before = [row.team for row in reference(world)]
    scores = {score.team.name: score.loss for score in FinalScore.objects.select_related("team")}
    order = sorted(before, key=lambda name: (scores[name], before.index(name)))
    ranked = [(1 + sum(each < scores[n] for each in scores.values()), n) for n in order]
    me = world.digits.memberships.get(team__name="d").user
    shown = list[tuple[int | None, str]]()
    for number in (1, 2, 3):
        page = queries.final_board(world.round, me, page=number, page_rows=3)
        assert (page.total, page.pages) == (7, 3)
        assert page.my_row is not None
        assert (page.my_row.rank, page.my_page) == (
            ranked[order.index("d")][0], order.index("d") // 3 + 1,
        )  # fmt: skip
        shown += [(row.rank, row.team) for row in page.rows]
    assert shown == ranked
    whole = list(queries.whole_final_board(world.round, NOBODY))
    assert [(row.rank, row.team) for row in whole] == ranked
    released = {row.team: row.rank for row in queries.whole_board(world.board, NOBODY)}
    assert [row.released_rank for row in whole] == [released[name] for name in order]
    found = queries.final_board(world.round, NOBODY, search="D").rows
    assert [row.team for row in found] == ["d"]


def play(world: World, seed: int, changes: int = 60) -> None:
    """Make random moves: new rows, better scores, rows that lose theirs, merged teams."""
    draw = random.Random(seed)
    first = world.score(world.join(world.alice, "alice")).release
    assert first is not None
    began = timezone.now().replace(microsecond=0)
    for number in range(changes):
        rows = list(Standing.objects.filter(board=world.board).order_by("pk"))
        what = draw.choice(["new", "new", "move", "move", "clear", "merge"])
        at = began + timedelta(seconds=draw.randrange(12))
        if what == "merge" and len(rows) > 3:
            into, gone = draw.sample(rows, 2)
            if gone.team.name != "alice":
                merge_rows(gone.team, into.team, [ledger_of(world.digits)], 0)
            continue
        standing = draw.choice(rows)
        if what == "new":
            team = Team.objects.create(
                competition=world.digits, captain=world.alice, name=f"team {number}"
            )
            standing = Standing(board=world.board, team=team, last=first, entries=1)
        before = levels.spot(standing)
        standing.loss = None if what == "clear" else draw.randrange(4) / 20
        standing.best = None if what == "clear" else first
        standing.reached_at = at
        standing.save()
        levels.move(world.board.pk, before, levels.spot(standing))


def check(world: World) -> None:
    """Compare pages, places, the own row, a search and the CSV with the reference."""
    rows = reference(world)
    expected = [row.team for row in rows]
    levels = [(row.unscored, row.loss) for row in rows]
    ranked = [(1 + levels.index(level), name) for level, name in zip(levels, expected, strict=True)]
    pages = math.ceil(len(expected) / PAGE)
    shown = list[tuple[int | None, str]]()
    for number in range(1, pages + 1):
        page = queries.board(world.board, world.alice, page=number, page_rows=PAGE)
        assert (page.page, page.pages, page.total) == (number, pages, len(expected))
        assert page.my_row is not None
        assert page.my_row.rank == ranked[expected.index("alice")][0]
        assert page.my_page == math.ceil((expected.index("alice") + 1) / PAGE)
        shown += [(row.rank, row.team) for row in page.rows]
    assert shown == ranked
    assert [(r.rank, r.team) for r in queries.whole_board(world.board, NOBODY)] == ranked
    found = queries.board(world.board, NOBODY, search="TEAM", page_rows=200)
    assert [(row.rank, row.team) for row in found.rows] == [r for r in ranked if r[1] != "alice"]
    assert found.total == len(found.rows)


def check_counts(world: World) -> None:
    """Count each part's rows; parts are in order and small."""
    for loss in set(world.board.standings.values_list("loss", flat=True)):
        level = {"loss__isnull": True} if loss is None else {"loss": loss}
        counts = list(world.board.level_counts.filter(**level).order_by("since"))
        ends = [count.since for count in counts[1:]] + [None]
        for count, end in zip(counts, ends, strict=True):
            rows = world.board.standings.filter(reached_at__gte=count.since, **level)
            if end is not None:
                rows = rows.filter(reached_at__lt=end)
            assert count.teams == rows.count()
    assert sum(world.board.level_counts.values_list("teams", flat=True)) == (
        world.board.standings.count()
    )


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("seed", range(4))
def test_places_and_pages_are_those_of_the_sorted_rows(world: World, seed: int) -> None:
    play(world, seed)
    check_counts(world)
    check(world)


def test_counting_anew_changes_no_place(world: World) -> None:
    play(world, seed=7)
    LevelCount.objects.all().delete()
    levels.recount(world.board.pk)
    check_counts(world)
    check(world)


def test_answers_keep_the_counts(world: World) -> None:
    for name in "abcde":
        team = world.join(make_user(name), name)
        for _ in range(2):
            world.score(team)
    check_counts(world)
    assert LevelCount.objects.count() == 2


def test_counts_that_were_not_kept_are_made_with_the_next_change(world: World) -> None:
    play(world, seed=8)
    LevelCount.objects.all().delete()
    standing = world.board.standings.get(team__name="alice")
    before = levels.spot(standing)
    standing.reached_at += timedelta(seconds=1)
    standing.save()
    levels.move(world.board.pk, before, levels.spot(standing))
    check_counts(world)
    check(world)


def test_queries_of_a_page_don_t_grow_with_teams_or_levels(world: World) -> None:
    def count() -> int:
        with CaptureQueriesContext(connection) as captured:
            queries.board(world.board, world.alice, page_rows=200)
            queries.board(world.board, world.alice, search="team", page_rows=200)
            queries.leading_steps(world.board, NOBODY)
            queries.contenders(world.board, NOBODY)
            list(queries.whole_board(world.board, world.alice))
        return len(captured)

    play(world, seed=1)
    few = count()
    grow(world)
    assert count() == few


def grow(world: World) -> None:
    """Add many teams with scores of their own."""
    first = Release.objects.earliest("pk")
    for number in range(20):
        team = Team.objects.create(
            competition=world.digits, captain=world.alice, name=f"team more {number}"
        )
        standing = Standing.objects.create(
            board=world.board, team=team, last=first, best=first, loss=number / 20,
            reached_at=timezone.now(),
        )  # fmt: skip
        levels.move(world.board.pk, None, levels.spot(standing))
