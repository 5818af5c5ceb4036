"""What a ledger's terms promise: limits, caps, baselines, accounts, and one answer for a file."""

from datetime import timedelta
from io import BytesIO
from typing import Any

import pytest
from django.utils import timezone

from leaderboard import organize, queries
from leaderboard.errors import Refused
from leaderboard.ledger import watermark
from leaderboard.models import (
    BoardState,
    Competition,
    Ledger,
    Membership,
    Rescore,
    Standing,
    Submission,
    Team,
    TeamAccount,
    TeamState,
)
from leaderboard.operate.verification import verify_ledger
from leaderboard.organize.revisions import revise_solution
from leaderboard.tasks import score_submission
from scoring.verification.run import verify
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
    solution,
    upload,
)


def begin_with(competition: Competition, **limits: Any) -> None:
    """Open a competition again, with limits."""
    organize.return_to_draft(competition)
    set_round(competition, **limits)
    organize.open_competition(competition)
    competition.refresh_from_db()


def wrong(count: int) -> bytes:
    return predictions(wrong=range(ROWS - count, ROWS))


def assert_verified(competition: Competition) -> None:
    verified = verify_ledger(ledger_of(competition))
    assert verified.report.difference is None
    assert verified.report.lost == 0


def test_a_board_at_its_limit_says_so_to_everybody(world: World) -> None:
    begin_with(world.digits, question_limit=2)
    alice, bob = world.join(world.alice), world.join(world.bob)
    world.score(alice, wrong(20))
    world.score(bob, wrong(15))
    refused = world.score(bob, wrong(2))
    assert (said(refused).kind, said(refused).length, said(refused).certificate) == (
        "limit",
        None,
        None,
    )
    assert_verified(world.digits)


def test_a_file_that_met_the_limit_has_no_stored_answer(world: World) -> None:
    begin_with(world.digits, question_limit=1)
    team = world.join(world.alice)
    world.score(team, wrong(20))
    world.score(team, wrong(2))
    assert said(world.score(team, wrong(2))).repeat_of is None
    assert said(world.score(team, wrong(20))).repeat_of is not None
    assert_verified(world.digits)


def test_behind_the_limit_a_revision_scores_again_what_was_answered(world: World) -> None:
    begin_with(world.digits, question_limit=1)
    team = world.join(world.alice)
    answered, late = world.score(team, wrong(20)), world.score(team, wrong(2))
    labels = upload(solution().replace(b"r39,3,", b"r39,0,"), "solution.csv")
    revise_solution(
        world.digits.current_round,
        labels,
        reason="A label.",
        rescore=Rescore.ALL,
        by=world.organizer,
    )
    for submission in (answered, late):
        score_submission(submission_id=submission.pk)
        submission.refresh_from_db()
    assert said(answered).kind == "improved"
    assert said(late).kind == "limit"
    assert_verified(world.digits)


def test_a_team_that_has_cost_its_nats_is_exhausted(world: World) -> None:
    begin_with(world.digits, nats_limit=1)
    alice, bob = world.join(world.alice), world.join(world.bob)
    kinds = [said(world.score(alice, wrong(count))).kind for count in (30, 24, 18, 12, 6)]
    assert kinds[-1] == "exhausted"
    assert said(world.score(bob, wrong(20))).kind == "improved"
    assert_verified(world.digits)


def test_a_baseline_takes_nothing_from_the_budget(world: World) -> None:
    checked = make_checked("checked", world.organizer, budget="1", team_share="1")
    baseline = world.join(world.alice, competition=checked)
    Team.objects.filter(pk=baseline.pk).update(is_baseline=True)
    honest = world.join(world.bob, competition=checked)
    files = [predictions(wrong=range(first, 100), rows=100) for first in (20, 24)]
    teams = [baseline, baseline, honest]
    answers = [said(world.score(*each)) for each in zip(teams, [*files, files[0]], strict=True)]
    assert [answer.kind for answer in answers] == ["corrected"] * 3
    assert_verified(checked)


def test_hidden_boards_count_each_team_by_itself(world: World) -> None:
    begin_with(world.digits, question_limit=6, team_limit=3, is_hidden=True, nats_limit=90)
    alice, bob = world.join(world.alice), world.join(world.bob)
    for count in (20, 16):
        world.score(alice, wrong(count))
    assert said(world.score(alice, wrong(2))).kind == "limit"
    first = said(world.score(bob, wrong(20)))
    assert first.length == said(alice.submissions.get(number=1)).length
    assert TeamAccount.objects.count() == 2
    assert_verified(world.digits)


@pytest.mark.parametrize("hidden", [False, True])
def test_an_account_that_was_changed_is_named(world: World, hidden: bool) -> None:
    begin_with(world.digits, question_limit=6, team_limit=3, is_hidden=hidden)
    world.score(world.join(world.alice), wrong(20))
    assert_verified(world.digits)
    rows = TeamAccount.objects if hidden else Ledger.objects
    row: Any = rows.get()
    row.account["count"]["numbered"] += 1
    row.save()
    difference = verify_ledger(ledger_of(world.digits)).report.difference
    assert difference is not None
    assert "account" in difference.field


def test_what_laws_remember_of_a_team_is_verified(world: World) -> None:
    world.score(world.join(world.alice), wrong(20))
    TeamState.objects.update(law_memory={"memories": ["3", "0"], "spent": 1})
    difference = verify_ledger(ledger_of(world.digits)).report.difference
    assert difference is not None
    assert "memory" in difference.field


def test_a_file_of_an_earlier_round_gets_its_answer_in_the_next(world: World) -> None:
    team = world.join(world.alice)
    earlier = said(world.score(team, wrong(10)))
    now = timezone.now()
    set_round(world.digits, opens_at=now - timedelta(days=2), closes_at=now - timedelta(hours=1))
    organize.add_round(
        world.digits,
        by=world.organizer,
        continues=True,
        opens_at=now - timedelta(minutes=30),
        closes_at=now + timedelta(days=7),
    )
    world.digits.refresh_from_db()
    again = said(world.score(team, wrong(10)))
    assert (again.repeat_of, again.level) == (earlier, earlier.level)
    assert again.board != earlier.board
    assert Standing.objects.get(board=again.board).loss == (earlier.level or 0) / earlier.steps
    assert said(world.score(team, wrong(4))).kind == "improved"
    assert_verified(world.digits)


# --- Raised budgets -------------------------------------------------------------------------------


@pytest.fixture
def spent(world: World) -> Competition:
    """A competition whose only correction went to alice."""
    checked = make_checked("checked", world.organizer, budget="1", team_share="1")
    team = world.join(world.alice, competition=checked)
    assert said(world.score(team, checked_file(20))).kind == "corrected"
    return checked


def checked_file(first: int) -> bytes:
    return predictions(wrong=range(first, 100), rows=100)


def test_a_raised_budget_serves_the_team_that_had_none(world: World, spent: Competition) -> None:
    late = world.join(world.bob, competition=spent)
    assert said(world.score(late, checked_file(20))).kind == "exhausted"
    organize.add_budget(spent.current_round.board, 2, by=world.organizer)
    assert said(world.score(late, checked_file(20))).kind == "corrected"
    assert BoardState.objects.get(board__round__competition=spent).budget_left == 1
    assert_verified(spent)


def test_one_team_s_share_can_be_raised_alone(world: World, spent: Competition) -> None:
    team = Team.objects.get(competition=spent)
    organize.add_budget(spent.current_round.board, 1, by=world.organizer, team=team)
    assert said(world.score(team, checked_file(24))).kind == "corrected"
    assert said(world.score(team, checked_file(28))).kind == "exhausted"
    assert_verified(spent)


def test_a_raised_budget_is_told_to_everyone_who_replays(world: World, spent: Competition) -> None:
    organize.add_budget(spent.current_round.board, 2, by=world.organizer)
    assert_verified(spent)
    BoardState.objects.filter(board__round__competition=spent).update(budget_left=9)
    difference = verify_ledger(ledger_of(spent)).report.difference
    assert difference is not None


def test_a_budget_is_raised_where_web_servers_only_read_the_watermark(
    world: World, spent: Competition, monkeypatch: pytest.MonkeyPatch
) -> None:
    def only_read(*arguments: object) -> None:
        raise watermark.WatermarkAway("Read-only file system")

    with monkeypatch.context() as patch:
        patch.setattr(watermark, "append", only_read)
        for _ in range(2):
            organize.add_budget(spent.current_round.board, 1, by=world.organizer)
    late = world.join(world.bob, competition=spent)
    assert said(world.score(late, checked_file(20))).kind == "corrected"
    assert_verified(spent)


@pytest.mark.parametrize("amount", [0, -1, 1_000_001])
def test_a_budget_is_raised_by_some_answers(world: World, spent: Competition, amount: int) -> None:
    with pytest.raises(Refused, match="Add between"):
        organize.add_budget(spent.current_round.board, amount, by=world.organizer)


def test_a_ladder_has_no_budget_to_raise(world: World) -> None:
    with pytest.raises(Refused, match="no budget"):
        organize.add_budget(world.board, 1, by=world.organizer)


def test_a_team_without_a_share_gets_none(world: World, spent: Competition) -> None:
    team = world.join(world.bob, competition=spent)
    with pytest.raises(Refused, match="not taken a share"):
        organize.add_budget(spent.current_round.board, 1, by=world.organizer, team=team)


# --- What attackers tried -------------------------------------------------------------------------


def test_a_later_claim_does_not_change_how_the_first_is_verified(world: World) -> None:
    claimed = make_checked("claimed", world.organizer, reference="claim")
    team = world.join(world.alice, competition=claimed)
    for claim in (0.7, 0.3):
        world.score(team, checked_file(80), claimed=claim)
    assert_verified(claimed)
    lines = BytesIO(b"".join(queries.ledger_lines(ledger_of(claimed))))
    assert verify(lines).difference is None


@pytest.mark.parametrize("public", [0, 8])
def test_a_revision_keeps_public_rows_or_their_absence(world: World, public: int) -> None:
    before = 8 - public
    competition = make_competition("revised", world.organizer, public=before)
    world.score(world.join(world.alice, competition=competition), wrong(10))
    with pytest.raises(Refused, match="Public rows"):
        revise_solution(
            competition.current_round,
            upload(solution(public=public), "solution.csv"),
            reason="Another split.",
            rescore=Rescore.NONE,
            by=world.organizer,
        )


def test_what_is_charged_to_all_is_charged_to_teams_that_begin_later(world: World) -> None:
    begin_with(world.digits, question_limit=60, team_limit=3, is_hidden=True)
    world.score(world.join(world.alice), wrong(20))
    first = said(Submission.objects.get()).length or 0
    labels = upload(solution().replace(b"r39,3,", b"r39,0,"), "solution.csv")
    revise_solution(
        world.round, labels, reason="A label.", rescore=Rescore.NONE, by=world.organizer
    )
    later = said(world.score(world.join(world.bob), wrong(20))).length or 0
    assert later > first
    assert_verified(world.digits)


def test_no_more_teams_have_accounts_than_share_beta(world: World) -> None:
    begin_with(world.digits, question_limit=60, team_limit=2, is_hidden=True)
    world.score(world.join(world.alice), wrong(20))
    world.score(world.join(world.bob), wrong(20))
    third = Team.objects.create(competition=world.digits, name="lost", captain=make_user("carol"))
    Membership.objects.create(
        competition=world.digits, team=third, user=third.captain, rules_version=1,
        accepted_at=timezone.now(),
    )  # fmt: skip
    assert said(world.score(third, wrong(2))).kind == "limit"
    assert_verified(world.digits)
