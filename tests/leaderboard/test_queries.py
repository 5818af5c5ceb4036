"""Queries: the board's order, ranks, pages and digits; nothing that was not released."""

from datetime import datetime, timedelta

from django.contrib.auth.models import AnonymousUser
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from leaderboard import queries
from leaderboard.ledger import levels
from leaderboard.models import Release, Standing, Submission, Team
from leaderboard.participate import membership
from leaderboard.words import said
from scoring import metrics
from tests.cast import World, make_user, predictions


def _with_teams(world: World, wrong: dict[str, int]) -> None:
    for name, count in wrong.items():
        world.score(world.join(make_user(name), name), predictions(wrong=range(8, 8 + count)))


def test_the_best_released_score_leads(world: World) -> None:
    _with_teams(world, {"low": 16, "high": 0, "middle": 9})
    page = queries.board(world.board, AnonymousUser())
    assert [(row.rank, row.team, row.score) for row in page.rows] == [
        (1, "high", "1.00"),
        (2, "middle", "0.70"),
        (3, "low", "0.50"),
    ]


def test_a_team_without_a_released_score_stands_last(world: World) -> None:
    _with_teams(world, {"scored": 20, "unscored": 0})
    Standing.objects.filter(team__name="unscored").update(loss=None, best=None)
    levels.recount(world.board.pk)
    last = queries.board(world.board, AnonymousUser()).rows[-1]
    assert (last.team, last.score, last.rank) == ("unscored", None, 2)


def test_my_row_is_in_reach_from_every_page(world: World) -> None:
    _with_teams(world, {"a": 0, "b": 5, "c": 10})
    world.score(world.join(world.alice), predictions(wrong=range(8, 38)))
    page = queries.board(world.board, world.alice, page_rows=2)
    assert page.my_row is not None
    assert (page.my_row.rank, page.my_page, page.my_row.mine) == (4, 2, True)
    assert page.my_row == queries.board_row(world.board, world.alice)
    assert page.my_row in queries.board(world.board, world.alice, page=2, page_rows=2).rows


def test_a_search_keeps_the_ranks(world: World) -> None:
    _with_teams(world, {"alpha": 0, "beta": 5, "alphabet": 10})
    page = queries.board(world.board, AnonymousUser(), search="ALPHA")
    assert [(row.rank, row.team) for row in page.rows] == [(1, "alpha"), (3, "alphabet")]


def test_a_page_past_the_end_is_the_last_one(world: World) -> None:
    _with_teams(world, {"a": 0})
    assert queries.board(world.board, AnonymousUser(), page=99).page == 1


def test_the_csv_has_the_ranks_of_the_page(world: World) -> None:
    _with_teams(world, {"a": 3, "b": 0})
    rows = queries.whole_board(world.board, AnonymousUser())
    assert tuple(rows) == queries.board(world.board, AnonymousUser()).rows


def test_intervals_hold_the_score_and_the_certificate_is_wider(world: World) -> None:
    _with_teams(world, {"a": 9})
    row = queries.board(world.board, AnonymousUser()).rows[0]
    assert row.sampling is not None
    assert row.certificate is not None
    assert row.value is not None
    assert row.certificate.low < row.sampling.low < row.value < row.sampling.high


def test_the_history_has_a_step_for_each_new_best(world: World) -> None:
    team = world.join(world.alice)
    for count in (16, 17, 10):
        world.score(team, predictions(wrong=range(8, 8 + count)))
    steps = queries.leading_steps(world.board, world.alice)
    assert [step.score for step in steps] == ["0.50", "0.70"]


def test_queries_of_a_board_page_do_not_grow_with_its_rows(world: World) -> None:
    _with_teams(world, {"a": 0, "b": 5})
    few = _count_queries(world)
    _with_teams(world, dict.fromkeys("cdefgh", 7))
    assert _count_queries(world) == few


def test_the_quota_says_when_it_renews(world: World) -> None:
    team = world.join(world.alice)
    world.submit(team)
    left = queries.quota(team)
    assert left.daily_left == world.round.daily_limit - 1
    assert timezone.now() < left.renews_at <= timezone.now() + timedelta(days=1)


def test_the_ledger_lists_every_release_with_its_hash(world: World) -> None:
    _with_teams(world, {"a": 0, "b": 5})
    page = queries.ledger(world.round, world.alice)
    assert [entry["number"] for entry in page.entries] == [2, 1]
    assert page.entries[0]["previous_hash"] == page.entries[1]["hash"]
    assert page.head_hash == page.entries[0]["hash"]


def test_each_answer_is_said_in_words(world: World) -> None:
    team = world.join(world.alice)
    first = world.score(team, predictions(wrong=range(8, 18)))
    second = world.score(team, predictions(wrong=range(8, 19)))
    assert _words(first) == "New best: 0.70."
    assert _words(second) == ("Not better than 0.70 by more than 0.05. Your place is unchanged.")


def _words(submission: Submission) -> str:
    row = queries.submission_row(submission)
    assert row.released is not None
    return said(row.released)


def _count_queries(world: World) -> int:
    with CaptureQueriesContext(connection) as captured:
        queries.board(world.board, world.alice)
    return len(captured)


def test_competition_cards_count_teams_and_scored_files(world: World) -> None:
    _with_teams(world, {"a": 0, "b": 5})
    card = queries.competition_cards(world.alice)[0]
    assert (card.teams, card.submissions, card.joined) == (2, 2, False)
    assert Team.objects.count() == 2


def test_a_certificate_is_no_wider_than_the_ledger_s_width_and_tolerance(world: World) -> None:
    _with_teams(world, {"a": 0, "b": 9})
    for row in queries.board(world.board, AnonymousUser()).rows:
        entry = Release.objects.get(team=row.team_id)
        assert row.certificate is not None
        assert row.value is not None
        assert entry.certificate is not None
        assert row.value - entry.certificate <= row.certificate.low + 1e-9
        assert row.certificate.low < row.value <= row.certificate.high


def test_a_repeated_best_says_nothing_certified_of_the_new_file(world: World) -> None:
    team = world.join(world.alice)
    world.score(team, predictions(wrong=range(8, 18)))
    row = queries.submission_row(world.score(team, predictions(wrong=range(8, 19))))
    assert row.released is not None
    assert row.released.certificate is None


def test_a_repeat_names_the_submission_whose_result_it_has(world: World) -> None:
    team = world.join(world.alice)
    world.score(team, predictions(wrong=range(8, 20)))
    world.score(team)
    world.score(team)
    again, first, _ = queries.submission_rows(team)
    assert again.released is not None
    assert first.released is not None
    assert (again.released.repeats, first.released.repeats) == (2, None)
    assert said(again.released).endswith("Same predictions as submission 2, so the same result.")


def test_a_repeat_names_it_by_its_number_after_a_merge(world: World) -> None:
    ours, theirs = world.join(world.alice), world.join(world.bob)
    world.score(ours, predictions(wrong=range(8, 20)))
    world.score(theirs)
    world.score(theirs)
    membership.merge(team=theirs, into=ours, by=world.organizer)
    released = queries.submission_rows(ours)[0].released
    assert released is not None
    assert released.repeats == 2


def test_how_far_a_certificate_reaches_is_rounded_up() -> None:
    assert queries.reach(queries.Interval(0.8, 1.0), 0.9231) == "0.13"
    assert queries.reach(queries.Interval(0.95, 1.0), 0.96) == "0.040"
    assert queries.reach(queries.Interval(10.0, 150.0), 100.0) == "90"


def test_uneven_steps_are_said_as_they_are(world: World) -> None:
    reads = queries.Scale(
        metric="rmse",
        maximize=False,
        steps=50,
        decimals=0,
        worst=100.0,
        best=0.0,
        parameters=metrics.get("rmse").parse({"clip": "100"}),
        reference="public",
    )
    assert reads.text(0.0) == "< 10"
    assert reads.text(0.25) == "50"
    assert reads.step_text(0.26) == "about 2"
    assert reads.step_text(0.0) == "about 14"


def test_nobody_sees_by_fractions_of_a_second_how_long_an_answer_took(world: World) -> None:
    submission = world.score(world.join(world.alice))
    row = queries.submission_row(submission)
    assert row.released
    entry = queries.ledger(world.round, world.alice).entries[0]
    board = queries.board(world.board, AnonymousUser())
    moments = (row.read_at, row.finished_at, row.released.created_at, board.rows[0].last_at)
    assert [each and each.microsecond for each in moments] == [0, 0, 0, 0]
    assert datetime.fromisoformat(entry["created_at"]).microsecond == 0
