"""The final board's numbers: ranks, moves, digits, and intervals against hand computations."""

import math
from fractions import Fraction
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser
from django.test import Client

from leaderboard import organize, queries, tasks
from leaderboard.ledger.accounts import read_account
from leaderboard.ledger.entries import terms_of
from leaderboard.models import Board, Competition, FinalScore, FinalTests, Submission, Team
from leaderboard.organize import revisions
from leaderboard.participate import selection
from leaderboard.pipeline import final_tests
from leaderboard.pipeline.final_places import store_places
from leaderboard.pipeline.final_tests import entry_order
from leaderboard.pipeline.parse import parse
from scoring.guarantees import rank_sets
from scoring.guarantees.intervals import bonferroni_width, kl_divergence
from tests import ending
from tests.cast import (
    ROWS,
    World,
    ledger_of,
    make_checked,
    make_competition,
    make_user,
    predictions,
    said,
    set_round,
    truth,
    upload,
)
from tests.web.pages import text

NOBODY = AnonymousUser()


def solution(usage: list[str], weights: list[int] | None = None) -> bytes:
    """The small competition's solution with these usages, and weights if any."""
    head = "id,label,Usage" + (",weight" if weights else "")
    lines = [f"r{row},{truth(row)},{usage[row]}" for row in range(ROWS)]
    if weights:
        lines = [f"{line},{weight}" for line, weight in zip(lines, weights, strict=True)]
    return "\n".join([head, *lines, ""]).encode()


def board(competition: Competition) -> queries.FinalBoard:
    return queries.final_board(competition.current_round, NOBODY)


def reaches(entry: queries.FinalEntry, rows: int) -> tuple[float, float]:
    """rows * kl(mean || end) at both ends of an accuracy's interval."""
    assert entry.interval is not None
    loss = float(entry.loss)
    low, high = 1 - entry.interval.high, 1 - entry.interval.low
    return rows * kl_divergence(loss, low), rows * kl_divergence(loss, high)


def test_on_the_holdout_each_entry_has_what_its_own_question_was_charged(world: World) -> None:
    alice, bob = world.join(world.alice), world.join(world.bob)
    world.score(alice, predictions(range(8, 24)))
    second = said(world.score(bob, predictions(range(8, 13))))
    third = said(world.score(alice, predictions(range(8, 12))))
    selection.select(team=alice, user=world.alice, numbers=[2])
    ending.reveal(world.digits)
    for row, asked in zip(board(world.digits).rows, (third, second), strict=True):
        assert asked.length is not None
        assert reaches(row.best, 32) == pytest.approx((asked.length / 10**6,) * 2)


def test_on_final_rows_all_entries_share_half_of_beta_equally(world: World) -> None:
    usage = ["Public"] * 4 + ["Private"] * 26 + ["Final"] * 10
    organize.install_solution(world.round, upload(solution(usage)), by=world.organizer)
    for name, wrong in (("a", 2), ("b", 5)):
        world.score(world.join(make_user(name)), predictions(range(30, 30 + wrong)))
    ending.reveal(world.digits)
    shown = board(world.digits)
    facts = shown.facts
    assert (facts.rows, facts.count, facts.effective, facts.finalists) == ("final", 10, 10, 2)
    assert facts.width == pytest.approx(bonferroni_width(10, 2, 0.05 / 2))
    assert facts.percent == "95 %"
    for row in shown.rows:
        assert reaches(row.best, 10) == pytest.approx((math.log(2 * 2 / (0.05 / 2)),) * 2)


def test_weighted_rows_count_as_what_they_are(world: World) -> None:
    """Weights 1 to 4: 25 of 10 rows at most 4 each count as 6 plain ones."""
    weights = [1] * 30 + [1, 2, 3, 4, 1, 2, 3, 4, 1, 4]
    usage = ["Public"] * 4 + ["Private"] * 26 + ["Final"] * 10
    organize.install_solution(world.round, upload(solution(usage, weights)), by=world.organizer)
    world.score(world.join(world.alice), predictions([33]))
    ending.reveal(world.digits)
    shown = board(world.digits)
    assert (shown.facts.count, shown.facts.effective) == (10, 6)
    (row,) = shown.rows
    assert float(row.best.loss) == pytest.approx(4 / 25, abs=1e-6)
    assert reaches(row.best, 6)[1] == pytest.approx(math.log(2 / (0.05 / 2)))


def test_an_exhausted_team_s_entry_is_certified_by_its_own_question(world: World) -> None:
    checked = make_checked("checked", world.organizer, team_share="1", budget="1")
    team = world.join(world.alice, competition=checked)
    for count in (60, 50, 40):
        world.score(team, predictions(range(20, 20 + count), 100))
    selection.select(team=team, user=world.alice, numbers=[3])
    ending.reveal(checked)
    (row,) = board(checked).rows
    entry = Submission.objects.get(team=team, number=3).release
    assert entry is not None
    assert entry.kind == "exhausted"
    assert reaches(row.best, 80) == pytest.approx((2 * 80 * entry.width**2,) * 2)


def test_an_entry_that_was_not_asked_since_a_revision_is_one_more_question(
    world: World,
) -> None:
    alice, bob = world.join(world.alice), world.join(world.bob)
    world.score(alice, predictions(range(8, 12)))
    world.score(bob, predictions(range(8, 14)))
    usage = ["Public"] * 8 + ["Private"] * 32
    repaired = upload(solution(usage))
    revisions.revise_solution(
        world.round, repaired, by=world.organizer, reason="A label was wrong.", rescore="none"
    )
    tasks.sweep()
    ending.reveal(world.digits)
    first, second = board(world.digits).rows
    ledger = ledger_of(world.digits)
    for ahead, row in ((1, first), (2, second)):
        length = terms_of(ledger).next_length(read_account(ledger, None), Fraction(1, 20), ahead)
        assert reaches(row.best, 32) == pytest.approx((length / 10**6,) * 2)


def test_a_metric_that_is_no_mean_has_no_interval_and_says_why(world: World) -> None:
    macro = make_competition("macro", world.organizer, metric="f1_macro")
    team = world.join(world.alice, competition=macro)
    world.score(team, predictions(range(8, 12)))
    ending.reveal(macro)
    shown = board(macro)
    assert shown.rows[0].best.interval is None
    assert shown.rows[0].best_place is None
    assert "isn't a mean over rows" in shown.facts.reason


# --- Places that a team could have ----------------------------------------------------------------

LARGE, LARGE_PUBLIC, LARGE_PRIVATE = 460, 20, 40
LARGE_FINAL = range(LARGE_PUBLIC + LARGE_PRIVATE, LARGE)


@pytest.fixture
def large(world: World) -> Competition:
    """A competition with 400 Final rows, beside 20 Public and 40 Private ones."""
    large = make_competition("large", world.organizer, rows=LARGE)
    usage = ["Public"] * LARGE_PUBLIC + ["Private"] * LARGE_PRIVATE + ["Final"] * len(LARGE_FINAL)
    lines = [f"r{row},{truth(row)},{usage[row]}" for row in range(LARGE)]
    content = "\n".join(["id,label,Usage", *lines, ""]).encode()
    organize.install_solution(large.current_round, upload(content), by=world.organizer)
    return large


def enter(world: World, competition: Competition, name: str, *wrong: int) -> Team:
    """Make a team whose files are wrong on so many of the first Final rows, and enter them all."""
    user = make_user(name)
    team = world.join(user, name, competition)
    for count in wrong:
        world.score(team, predictions(LARGE_FINAL[:count], LARGE))
    selection.select(team=team, user=user, numbers=range(1, len(wrong) + 1))
    return team


def places(competition: Competition) -> list[tuple[str, int | None, int | None, int | None]]:
    """Team, place, and the best and worst place that it could have."""
    return [
        (row.team, row.rank, row.best_place, row.worst_place) for row in board(competition).rows
    ]


def test_places_cover_what_the_tests_leave(world: World, large: Competition) -> None:
    """Errors are nested, so a gap of 40 rows is 40 rows on which one is right and the other not."""
    for name, wrong in (("best", 0), ("near", 3), ("far", 60), ("farther", 62)):
        enter(world, large, name, wrong)
    ending.reveal(large)
    assert places(large) == [
        ("best", 1, 1, 2), ("near", 2, 1, 2), ("far", 3, 3, 4), ("farther", 4, 3, 4),
    ]  # fmt: skip
    facts = board(large).facts
    assert (facts.tests, facts.could_be_first, facts.contenders) == (
        "betting", 2, ("best", "near"),
    )  # fmt: skip


def test_how_many_entries_were_compared_with_everyone_is_told_where_not_all_were(
    world: World, large: Competition, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, wrong in (("best", 0), ("near", 3), ("far", 60)):
        enter(world, large, name, wrong)
    ending.reveal(large)
    path = f"/c/{large.slug}/leaderboard/"
    assert "All entries were compared with each other row by row." in text(client.get(path))
    monkeypatch.setattr(rank_sets, "HEADS", 2)
    assert "The first 2 entries, in the order of the released board," in text(client.get(path))


def test_one_entry_that_beats_all_of_a_team_s_puts_it_behind(
    world: World, large: Competition
) -> None:
    enter(world, large, "two", 90, 2)
    enter(world, large, "one", 60)
    enter(world, large, "close", 5, 120)
    ending.reveal(large)
    assert places(large) == [("two", 1, 1, 2), ("close", 2, 1, 2), ("one", 3, 3, 3)]


def test_equal_entries_share_a_place_and_could_have_both(world: World, large: Competition) -> None:
    for name in ("one", "other"):
        enter(world, large, name, 7)
    ending.reveal(large)
    assert places(large) == [("one", 1, 1, 2), ("other", 1, 1, 2)]


def test_the_stored_tests_name_entries_by_permanent_ids(world: World, large: Competition) -> None:
    teams = {name: enter(world, large, name, wrong) for name, wrong in (("a", 0), ("b", 60))}
    ending.reveal(large)
    found = queries.final_tests(large.current_round)
    assert found is not None
    assert found["entries"] == [[teams["a"].uid, 1], [teams["b"].uid, 1]]
    assert (found["form"], found["hypotheses"], found["rows"]) == ("betting", 2, "final")
    assert float(found["level"]) == 0.05 / 2
    assert [pair[:2] for pair in found["better"]] == [[0, 1]]
    assert found["places"] == [[1, 1], [2, 2]]


def test_entries_are_in_the_order_of_the_released_board(world: World, large: Competition) -> None:
    """The Private rows put bob first, whatever the Final ones say."""
    private = range(LARGE_PUBLIC, LARGE_PUBLIC + LARGE_PRIVATE)
    alice, bob = (world.join(user, competition=large) for user in (world.alice, world.bob))
    world.score(alice, predictions(private[:10], LARGE))
    world.score(bob, predictions(LARGE_FINAL[:50], LARGE))
    ending.score(large)
    assert [score.team for score in entry_order(large.current_round.board)] == [bob, alice]


def test_two_classes_are_tested_by_the_binomial(world: World) -> None:
    schema = {
        "id_column": "id",
        "columns": [{"name": "label", "kind": "label", "classes": ["0", "1"]}],
    }
    lines = [f"r{row},{row % 2},{'Final' if row >= 40 else 'Private'}" for row in range(240)]
    content = "\n".join(["id,label,Usage", *lines, ""]).encode()
    coins = make_competition("coins", world.organizer, rows=240)
    organize.return_to_draft(coins)
    set_round(coins, schema=schema)
    organize.install_solution(coins.current_round, upload(content), by=world.organizer)
    organize.open_competition(coins)
    for name, wrong in (("good", 0), ("bad", 40)):
        rows = [f"r{row},{(row + (40 <= row < 40 + wrong)) % 2}" for row in range(240)]
        file = "\n".join(["id,label", *rows, ""]).encode()
        world.score(world.join(make_user(name), name, coins), file)
    ending.reveal(coins)
    assert board(coins).facts.tests == "binomial"
    assert places(coins) == [("good", 1, 1, 1), ("bad", 2, 2, 2)]


def test_rows_that_answered_have_places_only_where_a_law_bounds_what_was_said(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, wrong in (("good", 0), ("bad", 30)):
        world.score(world.join(make_user(name), name), predictions(range(8, 8 + wrong)))
    monkeypatch.setattr(final_tests, "season_code", lambda ledger: None)
    ending.score(world.digits)
    assert places(world.digits) == [("good", 1, None, None), ("bad", 2, None, None)]
    assert board(world.digits).facts.could_be_first is None
    monkeypatch.setattr(final_tests, "season_code", lambda ledger: 2.0)
    again(world.digits)
    assert places(world.digits) == [("good", 1, 1, 1), ("bad", 2, 2, 2)]
    level = float((queries.final_tests(world.round) or {})["level"])
    assert level == pytest.approx(0.05 / 2 * math.exp(-2))
    monkeypatch.setattr(final_tests, "season_code", lambda ledger: 20.0)
    again(world.digits)
    assert places(world.digits) == [("good", 1, 1, 2), ("bad", 2, 1, 2)]


def again(competition: Competition) -> None:
    """Let a worker place the entries once more."""
    set_round(competition, finals_scored_at=None)
    tasks.place_finals(round_id=competition.current_round.pk)
    competition.refresh_from_db()


def test_placing_again_gives_the_same(world: World, large: Competition) -> None:
    for name, wrong in (("a", 0), ("b", 60), ("c", 3)):
        enter(world, large, name, wrong)
    ending.score(large)

    def stored() -> list[Any]:
        return [list(model.objects.order_by("pk").values()) for model in (FinalScore, FinalTests)]

    before = stored()
    again(large)
    assert stored() == before


def test_each_file_is_read_once_for_all_boards(
    world: World, large: Competition, monkeypatch: pytest.MonkeyPatch
) -> None:
    enter(world, large, "a", 0, 5)
    enter(world, large, "b", 9)
    ending.score(large)
    board = large.current_round.board
    second = Board.objects.create(
        round=board.round,
        position=1,
        metric="error_rate",
        mechanism=board.mechanism,
        mechanism_parameters=board.mechanism_parameters,
    )
    for score in list(board.final_scores.all()):
        FinalScore.objects.create(
            submission=score.submission, board=second, team=score.team, holdout=score.holdout,
            chosen=True, units=score.units, rows=score.rows, resolution=score.resolution,
        )  # fmt: skip
    read = list[int]()

    def once(submission: Submission) -> Any:
        read.append(submission.pk)
        return parse(submission)

    monkeypatch.setattr(tasks, "parse", once)
    again(large)
    assert len(read) == len(set(read)) == 3
    assert FinalTests.objects.count() == 2


def test_a_team_stands_by_the_best_of_its_entries(world: World) -> None:
    alice, bob = world.join(world.alice), world.join(world.bob)
    for count in (9, 4):
        world.score(alice, predictions(range(8, 8 + count)))
    world.score(bob, predictions(range(8, 14)))
    selection.select(team=alice, user=world.alice, numbers=[1, 2])
    ending.reveal(world.digits)
    first, second = board(world.digits).rows
    assert (first.team, first.best.number, [each.number for each in first.others]) == (
        "team alice", 2, [1],
    )  # fmt: skip
    assert (first.best.loss, first.others[0].loss) == (Fraction(4, 32), Fraction(9, 32))
    assert (second.team, second.rank) == ("team bob", 2)


def test_exact_scores_are_ranked_where_digits_agree(world: World) -> None:
    for name in ("a", "b"):
        world.score(world.join(make_user(name), name), predictions(range(8, 10)))
    ending.score(world.digits)
    FinalScore.objects.filter(team__name="a").update(units=125001, rows=1, resolution=10**6)
    FinalScore.objects.filter(team__name="b").update(units=125000, rows=1, resolution=10**6)
    FinalScore.objects.update(place=None, position=None)
    store_places(world.board)
    rows = board(world.digits).rows
    assert [(row.team, row.rank, row.released_rank) for row in rows] == [("b", 1, 1), ("a", 2, 1)]
    assert rows[0].best.score == rows[1].best.score


def test_pages_and_search_keep_the_ranks(world: World) -> None:
    for number in range(5):
        team = world.join(make_user(f"p{number}"), f"team {number}")
        world.score(team, predictions(range(8, 8 + 3 * number)))
    ending.reveal(world.digits)
    mine = world.digits.memberships.get(team__name="team 4").user
    page = queries.final_board(world.round, mine, page=2, page_rows=2)
    assert [row.rank for row in page.rows] == [3, 4]
    assert page.my_row is not None
    assert (page.pages, page.my_page, page.my_row.rank) == (3, 3, 5)
    found = queries.final_board(world.round, mine, search="EAM 3")
    assert [(row.team, row.rank) for row in found.rows] == [("team 3", 4)]
    assert queries.final_board(world.round, mine, page=99, page_rows=2).page == 3


def test_before_the_reveal_a_team_reads_no_final_score(world: World) -> None:
    team = world.join(world.alice)
    world.score(team)
    ending.score(world.digits)
    team.refresh_from_db()
    assert queries.final_entries(team) == {}
