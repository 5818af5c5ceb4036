"""Boards of earlier rounds, and columns, as participants see them."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import AnonymousUser
from django.test import Client
from django.utils import timezone

from leaderboard import access, organize, queries
from leaderboard.errors import Refused
from leaderboard.models import (
    Board,
    Competition,
    Event,
    EventKind,
    FileRole,
    Holdout,
    Ledger,
    Release,
    Round,
)
from leaderboard.operate.verification import verify_ledger
from tests import ending
from tests.cast import (
    CHECKED_PUBLIC_ROWS,
    CHECKED_ROWS,
    World,
    add_column,
    make_competition,
    predictions,
    set_round,
    solution,
    upload,
)
from tests.console.pages import text

SAMPLE = "id,label\n" + "".join(f"r{row},0\n" for row in range(40))


def add_rows(world: World, *, begun: bool = True) -> Round:
    """Close the first round, and add one on rows of its own, with its sample and solution."""
    now = timezone.now()
    set_round(world.digits, opens_at=now - timedelta(days=2), closes_at=now - timedelta(hours=1))
    round = organize.add_round(
        world.digits,
        by=world.organizer,
        opens_at=now + timedelta(days=1),
        closes_at=None,
        title="Spring",
    )
    file = upload(SAMPLE.encode(), "sample_submission.csv")
    organize.add_file(round, file, role=FileRole.SAMPLE, by=world.organizer)
    organize.install_solution(round, upload(solution()), by=world.organizer)
    if begun:
        Round.objects.filter(pk=round.pk).update(opens_at=now - timedelta(minutes=1))
    world.digits.refresh_from_db()
    return Round.objects.get(pk=round.pk)


@pytest.fixture
def benchmark(world: World) -> World:
    """A benchmark whose first round has a row of alice, and whose second, without end, of bob."""
    world.score(world.join(world.alice, "Old"), predictions(wrong=range(10, 20)))
    add_rows(world)
    world.score(world.join(world.bob, "New"), predictions(wrong=range(10, 15)))
    return world


def test_new_rows_begin_a_ledger_of_their_own_without_an_end(benchmark: World) -> None:
    first, second = Round.objects.select_related("ledger").order_by("number")
    assert second.ledger != first.ledger
    assert second.closes_at is None
    for round in (first, second):
        assert round.ledger is not None
        assert round.ledger.entries == 1
        assert verify_ledger(round.ledger).report.difference is None


def test_the_old_board_is_kept_and_linked(benchmark: World, client: Client) -> None:
    now = client.get("/c/digits/leaderboard/").content.decode()
    assert 'href="/c/digits/leaderboard/?round=1"' in now
    assert "New</span>" in now
    assert "Old</span>" not in now
    old = client.get("/c/digits/leaderboard/?round=1").content.decode()
    assert "Old</span>" in old
    assert "New</span>" not in old
    assert 'href="/c/digits/leaderboard.csv?round=1"' in old


def test_the_csv_is_that_of_the_round(benchmark: World, client: Client) -> None:
    rows = text(client.get("/c/digits/leaderboard.csv?round=1"))
    assert "Old" in rows
    assert "New" not in rows


def test_an_old_final_board_stays_while_a_new_round_runs(world: World, client: Client) -> None:
    world.score(world.join(world.alice, "Old"), predictions(wrong=range(10, 20)))
    ending.reveal(world.digits)
    add_rows(world)
    old = client.get("/c/digits/leaderboard/?round=1").content.decode()
    assert "Final scores" in old
    assert 'href="/c/digits/leaderboard/released/?round=1"' in old


@pytest.mark.parametrize("query", ["round=3", "round=x", "round=", "round=1&board=7", "board=-1"])
def test_what_is_no_round_or_board_is_not_found(
    benchmark: World, client: Client, query: str
) -> None:
    assert client.get(f"/c/digits/leaderboard/?{query}").status_code == 404


def test_a_coming_round_has_no_board_yet(world: World, client: Client) -> None:
    add_rows(world, begun=False)
    assert "round=" not in client.get("/c/digits/leaderboard/").content.decode()
    assert client.get("/c/digits/leaderboard/?round=2").status_code == 404


def test_an_old_board_that_still_hides_its_teams_is_not_shown(
    benchmark: World, client: Client
) -> None:
    Round.objects.filter(number=1).update(is_hidden=True)
    assert client.get("/c/digits/leaderboard/?round=1").status_code == 404


def test_a_coming_round_that_was_sealed_is_removed_with_all_that_it_brought(world: World) -> None:
    round = add_rows(world, begun=False)
    organize.remove_round(round, by=world.organizer)
    assert (Round.objects.count(), Ledger.objects.count(), Holdout.objects.count()) == (1, 1, 1)
    assert Event.objects.filter(kind=EventKind.ROUND_REMOVED, subjects__round=2).exists()


def test_rounds_are_removed_from_the_last_one_on(world: World) -> None:
    middle = add_rows(world, begun=False)
    Round.objects.filter(pk=middle.pk).update(closes_at=timezone.now() + timedelta(days=5))
    world.digits.refresh_from_db()
    later = timezone.now() + timedelta(days=9)
    organize.add_round(world.digits, by=world.organizer, opens_at=later)
    with pytest.raises(Refused, match="Another round follows"):
        organize.remove_round(middle, by=world.organizer)


def test_what_the_ledger_began_with_is_fixed_for_a_round_on_the_same_rows(world: World) -> None:
    now = timezone.now()
    round = organize.add_round(
        world.digits, by=world.organizer, continues=True, opens_at=now + timedelta(days=31)
    )
    with pytest.raises(Refused) as caught:
        organize.change_round(round, by=world.organizer, question_limit=5)
    assert "question_limit" in caught.value.fields


def test_a_round_that_has_begun_is_neither_changed_nor_removed(benchmark: World) -> None:
    round = benchmark.digits.current_round
    with pytest.raises(Refused, match="has not begun"):
        organize.change_round(round, by=benchmark.organizer, daily_limit=1)
    with pytest.raises(Refused, match="has not begun"):
        organize.remove_round(round, by=benchmark.organizer)


def test_a_changed_deadline_of_a_coming_round_is_told(world: World) -> None:
    round = add_rows(world, begun=False)
    organize.change_round(
        round, by=world.organizer, opens_at=timezone.now() + timedelta(days=3), daily_limit=2
    )
    kinds = Event.objects.filter(subjects__round=2).values_list("kind", flat=True)
    assert {EventKind.DEADLINE_CHANGED, EventKind.LIMIT_CHANGED} <= set(kinds)


def test_an_open_round_never_loses_its_solution_to_a_coming_one(world: World) -> None:
    """A round on the same rows shares the solution: its boards can't be changed any more."""
    organize.add_round(
        world.digits,
        by=world.organizer,
        continues=True,
        opens_at=timezone.now() + timedelta(days=31),
    )
    coming = Round.objects.get(number=2)
    board = vars(organize.Scoring("error_rate", {}, "ladder", {"steps": "20"}))
    with pytest.raises(Refused) as caught:
        organize.add_board(coming, by=world.organizer, **board)
    assert caught.value.code == "not_a_draft"
    assert world.round.active_holdout is not None


# --- Columns --------------------------------------------------------------------------------------


@pytest.fixture
def columns(world: World) -> Competition:
    competition = make_competition(
        "columns", world.organizer, rows=CHECKED_ROWS, public=CHECKED_PUBLIC_ROWS
    )
    competition = add_column(competition, world.organizer)
    Board.objects.filter(round__competition=competition, position=1).update(title="Checked")
    team = world.join(world.alice, "Alice", competition=competition)
    world.score(team, predictions(wrong=range(50, 100), rows=CHECKED_ROWS))
    return Competition.objects.get(pk=competition.pk)


def test_further_boards_are_columns_of_the_first(columns: Competition, client: Client) -> None:
    ranking, column = columns.current_round.boards.all()
    page = client.get("/c/columns/leaderboard/").content.decode()
    (row,) = queries.board(column, AnonymousUser()).rows
    assert '<th scope="col" role="columnheader" class="other">Checked</th>' in page
    assert f'data-title="Checked">{row.score or "–"}</td>' in page
    assert ranking != column


def test_a_column_has_a_page_of_its_own_with_its_gauge(
    columns: Competition, client: Client
) -> None:
    page = client.get("/c/columns/leaderboard/?board=1").content.decode()
    assert "Thresholdout" in page
    assert 'aria-current="page">Checked</a>' in page


def test_both_boards_charge_one_ledger(columns: Competition) -> None:
    assert Release.objects.filter(holdout__ledger=columns.current_round.ledger).count() == 2


def test_the_api_has_the_boards_and_ledgers_of_earlier_rounds(world: World, client: Client) -> None:
    world.score(world.join(world.alice))
    add_rows(world)
    base = "/api/v1/competitions/digits"
    listed = client.get(f"{base}/").json()["rounds"]
    assert [(each["number"], len(each["boards"])) for each in listed] == [(1, 1), (2, 1)]
    assert client.get(f"{base}/leaderboard/").json()["count"] == 0
    assert client.get(f"{base}/leaderboard/?round=1&board=0").json()["count"] == 1
    for wrong in ("round=3", "round=1&board=1"):
        assert client.get(f"{base}/leaderboard/?{wrong}").status_code == 404
    assert client.get(f"{base}/leaderboard/?round=one").status_code == 422
    assert client.get(f"{base}/ledger/?round=1").json()["count"] == 1
    lines = client.get("/c/digits/ledger.jsonl?round=1").getvalue()
    assert len(lines.splitlines()) == 2
    assert "ledger/?round=1" in client.get("/c/digits/ledger/").content.decode()


def test_a_round_that_is_hidden_until_the_end_hides_its_teams_also_once_another_has_begun(
    world: World,
) -> None:
    world.join(world.bob)
    add_rows(world)
    assert access.may_see_others(world.alice, world.digits)
    Round.objects.filter(number=1).update(is_hidden=True, team_limit=9)
    world.digits.refresh_from_db()
    assert not access.may_see_others(world.alice, world.digits)
    with pytest.raises(Refused, match="is hidden in this competition until"):
        access.check_sees_others(world.alice, world.digits)
    Round.objects.filter(number=1).update(revealed_at=timezone.now())
    world.digits.refresh_from_db()
    assert access.may_see_others(world.alice, world.digits)
