"""The final board's numbers: ranks, moves, digits, and intervals against hand computations."""

import math
from fractions import Fraction

import pytest
from django.contrib.auth.models import AnonymousUser

from leaderboard import organize, queries, tasks
from leaderboard.models import Competition, FinalScore, Submission
from leaderboard.organize import revisions
from leaderboard.participate import selection
from leaderboard.pipeline.final_places import store_places
from scoring.guarantees.intervals import bonferroni_width, kl_divergence
from scoring.guarantees.ledger import ledger_width
from tests import ending
from tests.cast import (
    ROWS,
    World,
    make_checked,
    make_competition,
    make_user,
    predictions,
    truth,
    upload,
)

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


def test_on_the_holdout_each_entry_has_the_width_of_its_own_question(world: World) -> None:
    """Question 2 was asked after one answer of 21 values, question 3 after two."""
    alice, bob = world.join(world.alice), world.join(world.bob)
    world.score(alice, predictions(range(8, 24)))
    world.score(bob, predictions(range(8, 13)))
    world.score(alice, predictions(range(8, 12)))
    selection.select(team=alice, user=world.alice, numbers=[2])
    ending.reveal(world.digits)
    first, second = board(world.digits).rows
    third_question = ledger_width(32, 3, 2, 2 * math.log(21), math.log(0.05))
    assert reaches(first.best, 32) == pytest.approx((2 * 32 * third_question**2,) * 2)
    second_question = ledger_width(32, 2, 1, math.log(21), math.log(0.05))
    assert reaches(second.best, 32) == pytest.approx((2 * 32 * second_question**2,) * 2)


def test_where_teams_share_the_first_place_the_widest_interval_is_the_winner_s(
    world: World,
) -> None:
    for user in (world.alice, world.bob):
        world.score(world.join(user), predictions(range(8, 12)))
    ending.reveal(world.digits)
    shown = board(world.digits)
    asked_first, asked_later = (row.best.interval for row in shown.rows)
    assert asked_first is not None
    assert asked_later is not None
    assert asked_later.high - asked_later.low > asked_first.high - asked_first.low
    assert shown.winners_interval == asked_later


def test_on_final_rows_all_entries_share_beta_equally(world: World) -> None:
    usage = ["Public"] * 4 + ["Private"] * 26 + ["Final"] * 10
    organize.install_solution(world.round, upload(solution(usage)), by=world.organizer)
    for name, wrong in (("a", 2), ("b", 5)):
        world.score(world.join(make_user(name)), predictions(range(30, 30 + wrong)))
    ending.reveal(world.digits)
    shown = board(world.digits)
    facts = shown.facts
    assert (facts.rows, facts.count, facts.effective, facts.finalists) == ("final", 10, 10, 2)
    assert facts.width == pytest.approx(bonferroni_width(10, 2, 0.05))
    assert facts.percent == "95 %"
    for row in shown.rows:
        assert reaches(row.best, 10) == pytest.approx((math.log(2 * 2 / 0.05),) * 2)


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
    assert reaches(row.best, 6)[1] == pytest.approx(math.log(2 / 0.05))


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
    # Two answers of 21 values and the revision, of one, were counted; two more are asked now.
    for question, row in ((4, first), (5, second)):
        width = ledger_width(32, question, 3, 2 * math.log(21), math.log(0.05 / 2))
        assert reaches(row.best, 32) == pytest.approx((2 * 32 * width**2,) * 2)


def test_a_metric_that_is_no_mean_has_no_interval_and_says_why(world: World) -> None:
    macro = make_competition("macro", world.organizer, metric="f1_macro")
    team = world.join(world.alice, competition=macro)
    world.score(team, predictions(range(8, 12)))
    ending.reveal(macro)
    shown = board(macro)
    assert shown.rows[0].best.interval is None
    assert shown.rows[0].with_winner is None
    assert "isn't a mean over rows" in shown.facts.reason


def test_who_overlaps_the_winner_is_not_told_apart(world: World) -> None:
    for name, wrong in (("best", 0), ("near", 3), ("far", 32)):
        world.score(world.join(make_user(name), name), predictions(range(8, 8 + wrong)))
    ending.reveal(world.digits)
    shown = board(world.digits)
    assert [(row.team, row.with_winner) for row in shown.rows] == [
        ("best", True),
        ("near", True),
        ("far", False),
    ]


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
    assert [(row.team, row.rank, row.released_rank) for row in rows] == [("b", 1, 2), ("a", 2, 1)]
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
