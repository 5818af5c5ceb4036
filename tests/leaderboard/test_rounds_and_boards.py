"""Several boards and rounds on the rows of one ledger, and teams that become one."""

from datetime import timedelta
from io import BytesIO

import pytest
from django.test import Client
from django.utils import timezone

from leaderboard import organize, queries
from leaderboard.errors import Refused
from leaderboard.ledger import watermark
from leaderboard.models import (
    Board,
    BoardState,
    Competition,
    Event,
    EventKind,
    FileRole,
    LedgerNote,
    Membership,
    NoteKind,
    Release,
    Round,
    Standing,
    TeamState,
)
from leaderboard.operate.verification import verify_ledger
from leaderboard.participate import membership, quotas, selection
from leaderboard.pipeline import finalize
from scoring.verification.run import verify
from tests import ending, snapshots
from tests.cast import (
    CHECKED_PUBLIC_ROWS,
    CHECKED_ROWS,
    LADDER,
    THRESHOLDOUT,
    World,
    add_column,
    ledger_of,
    make_competition,
    predictions,
    set_round,
    solution,
    upload,
)


@pytest.fixture
@snapshots.kept
def columns(world: World) -> Competition:
    """A competition whose round has a Ladder, which ranks, and a Thresholdout beside it."""
    competition = make_competition(
        "columns", world.organizer, rows=CHECKED_ROWS, public=CHECKED_PUBLIC_ROWS
    )
    return add_column(competition, world.organizer)


def wrong(first: int) -> bytes:
    """A file that is right on the rows before `first` alone."""
    return predictions(wrong=range(first, CHECKED_ROWS), rows=CHECKED_ROWS)


def test_every_board_answers_a_file_in_one_ledger(world: World, columns: Competition) -> None:
    team = world.join(world.alice, competition=columns)
    submission = world.score(team, wrong(50))
    ranking, column = columns.current_round.boards.all()
    answers = list(Release.objects.filter(submission=submission).order_by("number"))
    assert [answer.board for answer in answers] == [ranking, column]
    assert [answer.number for answer in answers] == [1, 2]
    assert answers[1].previous_hash == answers[0].hash
    assert submission.release == answers[0]
    ledger = ledger_of(columns)
    assert (ledger.asked, ledger.entries, ledger.head_hash) == (2, 2, answers[1].hash)


def test_two_boards_never_share_an_answer(world: World, columns: Competition) -> None:
    team = world.join(world.alice, competition=columns)
    world.score(team, wrong(50))
    world.score(team, wrong(50))
    tags = dict[str, set[str]]()
    for entry in Release.objects.select_related("board"):
        tags.setdefault(entry.board.uid, set()).add(entry.predictions_tag)
    first, second = tags.values()
    assert not first & second
    repeats = Release.objects.filter(repeat_of__isnull=False).select_related("repeat_of")
    assert repeats
    assert all(entry.board_id == entry.repeat_of.board_id for entry in repeats if entry.repeat_of)


def test_each_board_has_its_own_budget_and_firings(world: World, columns: Competition) -> None:
    team = world.join(world.alice, competition=columns)
    for first in (90, 20, 60):
        world.score(team, wrong(first))
    ladder, thresholdout = BoardState.objects.order_by("board__position").filter(
        ledger=ledger_of(columns)
    )
    assert ladder.budget_left is None
    assert thresholdout.budget_left is not None
    fired = Release.objects.filter(board=thresholdout.board, kind="corrected").count()
    assert thresholdout.firings == fired


def test_everybody_can_verify_a_ledger_of_two_boards(world: World, columns: Competition) -> None:
    for user in (world.alice, world.bob):
        team = world.join(user, competition=columns)
        for first in (50, 60, 60, 90):
            world.score(team, wrong(first))
    ledger = ledger_of(columns)
    report = verify(BytesIO(b"".join(queries.ledger_lines(ledger))))
    assert report.difference is None
    assert report.entries == 16
    checked = verify_ledger(ledger)
    assert checked.report.difference is None


def test_a_changed_answer_of_the_second_board_is_found(world: World, columns: Competition) -> None:
    team = world.join(world.alice, competition=columns)
    world.score(team, wrong(50))
    column = Release.objects.get(board__position=1)
    Release.objects.filter(pk=column.pk).update(width=0.25)
    difference = verify_ledger(ledger_of(columns)).report.difference
    assert difference is not None
    assert difference.number == column.number


# --- Rounds ---------------------------------------------------------------------------------------


def further_round(world: World, *, continues: bool = True) -> Round:
    """Close the first round, and add one that is open now."""
    now = timezone.now()
    set_round(world.digits, opens_at=now - timedelta(days=2), closes_at=now - timedelta(hours=1))
    round = organize.add_round(
        world.digits,
        by=world.organizer,
        continues=continues,
        opens_at=now - timedelta(minutes=30),
        closes_at=now + timedelta(days=7),
    )
    world.digits.refresh_from_db()
    return round


def test_a_round_that_goes_on_with_the_rows_goes_on_with_their_ledger(world: World) -> None:
    team = world.join(world.alice)
    world.score(team, predictions(wrong=range(10, 20)))
    before = ledger_of(world.digits)
    round = further_round(world)
    world.score(team, predictions(wrong=range(10, 15)))
    ledger = ledger_of(world.digits)
    assert ledger.pk == before.pk
    assert ledger.asked == before.asked + 1
    assert verify_ledger(ledger).report.difference is None
    assert [row.board.round_id for row in Standing.objects.order_by("pk")] == [
        round.competition.rounds.get(number=1).pk,
        round.pk,
    ]


def test_a_new_round_has_a_new_quota(world: World) -> None:
    team = world.join(world.alice)
    set_round(world.digits, total_limit=1)
    world.score(team)
    round = further_round(world)
    left = quotas.quota(team, round, timezone.now())
    assert (left.total_limit, left.total_left) == (1, 1)


def test_a_round_with_rows_that_an_earlier_one_asked_begins_no_ledger_of_its_own(
    world: World,
) -> None:
    test = b"id,x\nr0,1\n"
    organize.add_file(world.round, upload(test, "test.csv"), role=FileRole.TEST, by=world.organizer)
    world.score(world.join(world.alice))
    round = further_round(world, continues=False)
    for role, content in ((FileRole.TEST, test), (FileRole.SAMPLE, predictions())):
        organize.add_file(round, upload(content, f"{role}.csv"), role=role, by=world.organizer)
    with pytest.raises(Refused, match="An earlier round has answered on these rows"):
        organize.install_solution(round, upload(solution()), by=world.organizer)


def test_rounds_on_the_same_rows_have_one_end(world: World) -> None:
    team = world.join(world.alice)
    world.score(team)
    first = world.digits.current_round
    last = further_round(world)
    with pytest.raises(Refused, match="has closed"):
        finalize.start_finals(first)
    past = timezone.now() - timedelta(minutes=1)
    Round.objects.filter(pk=last.pk).update(closes_at=past)
    first.refresh_from_db()
    with pytest.raises(Refused, match="Rounds on the same rows have one end"):
        finalize.start_finals(first)
    finalize.start_finals(Round.objects.get(pk=last.pk))
    assert Round.objects.get(pk=last.pk).finals_started_at is not None


def test_rows_whose_end_has_begun_are_not_asked_again(world: World) -> None:
    team = world.join(world.alice)
    world.score(team)
    now = timezone.now()
    round = set_round(world.digits, closes_at=now - timedelta(hours=1))
    finalize.start_finals(round)
    with pytest.raises(Refused, match="needs new rows"):
        organize.add_round(
            world.digits, by=world.organizer, continues=True, opens_at=now, closes_at=None
        )


def test_a_round_may_have_no_end(world: World) -> None:
    round = set_round(world.digits, closes_at=None)
    far = timezone.now() + timedelta(days=20_000)
    assert round.phase(far) == "open"
    team = world.join(world.alice)
    assert world.score(team).status == "released"


# --- Teams ----------------------------------------------------------------------------------------


def test_a_merged_team_frees_nothing_and_the_ledger_stays_valid(world: World) -> None:
    set_round(world.digits, total_limit=5)
    ours, theirs = world.join(world.alice), world.join(world.bob)
    world.score(ours, predictions(wrong=range(10, 20)))
    world.score(theirs, predictions(wrong=range(10, 14)))
    world.score(theirs, predictions(wrong=range(10, 13)))
    membership.merge(team=theirs, into=ours, by=world.organizer)
    round = world.digits.current_round
    assert quotas.quota(ours, round, timezone.now()).total_left == 2
    world.score(ours, predictions(wrong=range(10, 11)))
    ledger = ledger_of(world.digits)
    assert LedgerNote.objects.get().kind == NoteKind.MERGE
    assert verify_ledger(ledger).report.difference is None
    assert watermark.read(ledger.uid) == watermark.Head(ledger.entries, ledger.head_hash)
    standing = Standing.objects.get()
    assert (standing.team, standing.entries) == (ours, 4)
    assert {each.user for each in ours.memberships.active()} == {world.alice, world.bob}


def test_a_merged_team_enters_its_best_file_whoever_sent_it(world: World) -> None:
    ours, theirs = world.join(world.alice), world.join(world.bob)
    world.score(ours, predictions(wrong=range(10, 20)))
    best = world.score(theirs)
    membership.merge(team=theirs, into=ours, by=world.organizer)
    assert [each.pk for each in selection.entered(world.digits.current_round)] == [best.pk]


def test_shares_of_a_budget_add_up_as_they_are_left(world: World, columns: Competition) -> None:
    ours = world.join(world.alice, competition=columns)
    theirs = world.join(world.bob, competition=columns)
    for team in (ours, theirs):
        world.score(team, wrong(20))
    states = TeamState.objects.filter(board__position=1)
    before = sum(state.share_left or 0 for state in states)
    membership.merge(team=theirs, into=ours, by=world.organizer)
    merged = TeamState.objects.get(board__position=1)
    assert (merged.team, merged.share_left) == (ours, before)


@pytest.mark.parametrize("case", ["itself", "another competition", "merged before"])
def test_what_can_t_be_merged_is_refused(world: World, case: str) -> None:
    ours, theirs = world.join(world.alice), world.join(world.bob)
    into = {"itself": theirs, "merged before": ours}.get(case)
    if case == "another competition":
        other = make_competition("other", world.organizer)
        into = world.join(world.alice, competition=other)
    if case == "merged before":
        membership.merge(team=theirs, into=ours, by=world.organizer)
    assert into is not None
    with pytest.raises(Refused, match="can be merged"):
        membership.merge(team=theirs, into=into, by=world.organizer)


def test_nobody_wins_quota_back_by_leaving(world: World) -> None:
    team = world.join(world.alice)
    world.add(world.bob, team)
    world.score(team)
    membership.leave(team=team, user=world.bob)
    with pytest.raises(Refused, match="stays used"):
        world.join(world.bob, "another")
    assert Membership.objects.get(user=world.bob).left_at is not None


def test_who_leaves_before_submitting_may_join_another_team(world: World) -> None:
    team = world.join(world.alice)
    membership.leave(team=team, user=world.alice)
    assert world.join(world.alice, "another").memberships.active().count() == 1


def test_who_left_may_join_another_team_in_the_next_round(world: World) -> None:
    team = world.join(world.alice)
    world.add(world.bob, team)
    world.score(team)
    membership.leave(team=team, user=world.bob)
    further_round(world)
    assert world.join(world.bob, "another").captain == world.bob


# --- Permanent ids and events ---------------------------------------------------------------------


def test_no_database_key_is_in_the_public_ledger(world: World) -> None:
    """All keys are far from the counts that entries hold, so that one would be seen."""
    team = world.join(world.alice)
    world.score(team)
    lines = b"".join(queries.ledger_lines(ledger_of(world.digits))).decode()
    assert f'"team":"{team.uid}"' in lines
    assert f'"board":"{world.digits.current_round.board.uid}"' in lines


def test_events_are_numbered_without_gaps_and_name_what_happened(world: World) -> None:
    team = world.join(world.alice)
    world.score(team)
    world.score(team, b"id,label\n")
    membership.rename_team(team=team, user=world.alice, name="Renamed")
    found = list(Event.objects.filter(competition=world.digits).order_by("number"))
    assert [each.number for each in found] == list(range(1, len(found) + 1))
    kinds = [each.kind for each in found if each.kind != EventKind.LEADERS_CHANGED]
    assert kinds[-6:] == [
        EventKind.TEAM_CREATED,
        EventKind.SUBMISSION_ACCEPTED,
        EventKind.SUBMISSION_RELEASED,
        EventKind.SUBMISSION_ACCEPTED,
        EventKind.SUBMISSION_REJECTED,
        EventKind.TEAM_RENAMED,
    ]


def test_what_is_refused_leaves_no_event(world: World) -> None:
    team = world.join(world.alice)
    before = Event.objects.count()
    set_round(world.digits, closes_at=timezone.now() - timedelta(hours=1))
    with pytest.raises(Refused):
        world.submit(team)
    assert Event.objects.count() == before


def test_the_second_board_takes_the_parameters_that_it_was_given(columns: Competition) -> None:
    first, second = columns.current_round.boards.all()
    assert first.mechanism_parameters == LADDER
    assert second.mechanism_parameters.items() >= THRESHOLDOUT.items()


def test_the_finals_of_the_last_round_score_files_of_earlier_ones(world: World) -> None:
    alice, bob = world.join(world.alice), world.join(world.bob)
    world.score(alice)
    further_round(world)
    world.score(bob, predictions(wrong=range(10, 20)))
    final = ending.reveal(world.digits)
    rows = queries.final_board(final.current_round, world.alice).rows
    assert [(row.rank, row.team) for row in rows] == [(1, alice.name), (2, bob.name)]


def test_only_scores_of_one_metric_are_compared_for_a_default_entry(world: World) -> None:
    """Alice's first file has the lower loss, but by the first board of another metric."""
    team = world.join(world.alice)
    first = world.score(team, predictions(wrong=range(10, 14)))
    round = further_round(world)
    second = world.score(team, predictions(wrong=range(10, 20)))
    assert [each.pk for each in selection.entered(round)] == [first.pk]
    Board.objects.filter(round=first.round).update(metric="error_rate")
    for competition in (round.competition, team.competition):
        competition.refresh_from_db()
    assert [each.pk for each in selection.entered(round)] == [second.pk]
    assert queries.choice(team).stand_in == second.number
    Standing.objects.filter(board__round=round).delete()
    assert [each.pk for each in selection.entered(round)] == [first.pk]


def test_the_board_of_a_round_that_has_the_last_round_s_metric_is_compared(world: World) -> None:
    team = world.join(world.alice)
    first = world.score(team, predictions(wrong=range(10, 14)))
    board = first.round.board
    Board.objects.create(
        round=first.round,
        position=1,
        metric=board.metric,
        metric_parameters=board.metric_parameters,
        mechanism=board.mechanism,
        mechanism_parameters=board.mechanism_parameters,
    )
    round = further_round(world)
    second = world.score(team, predictions(wrong=range(10, 16)))
    Standing.objects.filter(board=board).update(board=first.round.boards.get(position=1))
    Board.objects.filter(pk=board.pk).update(metric="error_rate")
    assert [each.pk for each in selection.entered(round)] == [first.pk]
    assert first.pk != second.pk


def test_finals_need_no_file_in_the_last_round(world: World) -> None:
    alice = world.join(world.alice)
    world.score(alice)
    further_round(world)
    final = ending.reveal(world.digits)
    rows = queries.final_board(final.current_round, world.alice).rows
    assert [(row.rank, row.team) for row in rows] == [(1, alice.name)]


def test_a_merged_team_s_final_scores_are_not_taken_for_one_s_own(world: World) -> None:
    alice, bob = world.join(world.alice), world.join(world.bob)
    world.score(alice, predictions(wrong=range(10, 20)))
    world.score(bob)
    membership.merge(team=bob, into=alice, by=world.organizer)
    ending.reveal(world.digits)
    alice.refresh_from_db()
    assert set(queries.final_entries(alice)) == {2}


def test_a_claim_is_asked_for_by_any_board(world: World, client: Client) -> None:
    competition = make_competition(
        "claimed", world.organizer, rows=CHECKED_ROWS, public=CHECKED_PUBLIC_ROWS
    )
    add_column(competition, world.organizer, reference="claim")
    world.join(world.alice, competition=competition)
    client.force_login(world.alice)
    assert b"claimed_score" in client.get("/c/claimed/submit/").content


def test_the_interval_as_it_was_shown_is_a_part_of_the_entry(
    world: World, columns: Competition
) -> None:
    world.score(world.join(world.alice, competition=columns), wrong(10))
    entry = Release.objects.filter(bound="kl").first()
    assert entry is not None
    Release.objects.filter(pk=entry.pk).update(low=entry.high)
    found = verify_ledger(ledger_of(columns)).report.difference
    assert found is not None
    assert found.number == entry.number
