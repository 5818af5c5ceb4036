"""The end: what may be entered, when it starts, that it resumes, and that nobody can go back."""

import contextlib
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.conf import settings
from django.db import OperationalError
from django.utils import timezone

from leaderboard import organize, queries, tasks, vault
from leaderboard.errors import Refused
from leaderboard.models import (
    Board,
    Competition,
    FinalScore,
    Holdout,
    Phase,
    Release,
    Round,
    Selection,
    Standing,
    Status,
    Submission,
)
from leaderboard.participate import selection
from leaderboard.pipeline import finalize, heartbeat, intake, queue
from leaderboard.pipeline.final_places import store_places
from leaderboard.pipeline.final_tests import compare_entries
from leaderboard.pipeline.parse import parse
from scoring.errors import StateError
from tests import ending
from tests.cast import (
    ROWS,
    THRESHOLDOUT,
    World,
    make_checked,
    make_competition,
    make_user,
    predictions,
    set_round,
    truth,
    upload,
)

HIDDEN = range(8, ROWS)


def wrong(count: int) -> bytes:
    """A file with so many errors among the 32 hidden rows."""
    return predictions(HIDDEN[:count])


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """The tasks of the finals that were put on the queue."""
    messages = list[tuple[str, int]]()

    def take(task: str, queue: str = "", **ids: int) -> bool:
        if task != "fan_out":  # the deliveries of events
            messages.extend((task, key) for key in ids.values())
        return True

    monkeypatch.setattr(queue, "_send", take)
    return messages


def numbers(competition: Competition) -> list[tuple[str, int, bool]]:
    """What is entered: team, number, and whether it was chosen."""
    found = selection.entered(competition.current_round).order_by("team__name", "number")
    return [(each.team.name, each.number, each.is_chosen) for each in found]  # type: ignore[attr-defined]  # annotated


def scores(competition: Competition) -> dict[str, tuple[int, int, bool]]:
    """The stored final scores by submission: errors, rows, chosen."""
    found = FinalScore.objects.filter(team__competition=competition).order_by("pk")
    return {str(each.submission): (each.units, each.rows, each.chosen) for each in found}


# --- Choosing -------------------------------------------------------------------------------------


def test_a_team_s_choice_replaces_the_one_before(world: World) -> None:
    team = world.join(world.alice)
    for count in (9, 6, 3):
        world.score(team, wrong(count))
    selection.select(team=team, user=world.alice, numbers=[1, 2])
    selection.select(team=team, user=world.alice, numbers=[2, 3])
    assert numbers(world.digits) == [("team alice", 2, True), ("team alice", 3, True)]
    selection.withdraw(team=team, user=world.alice, number=3)
    selection.enter(team=team, user=world.alice, number=1)
    assert numbers(world.digits) == [("team alice", 1, True), ("team alice", 2, True)]


def test_without_a_choice_the_best_released_score_stands_in(world: World) -> None:
    alice, bob = world.join(world.alice), world.join(world.bob)
    for team, counts in ((alice, (9, 3, 12)), (bob, (5,))):
        for count in counts:
            world.score(team, wrong(count))
    assert numbers(world.digits) == [("team alice", 2, False), ("team bob", 1, False)]


def test_without_a_released_score_the_best_public_score_is_entered(world: World) -> None:
    """Of 8 Public rows the files err on 3, 1, 1 and 2: the second is the first of the best."""
    team = world.join(world.alice)
    for public in (3, 1, 1, 2):
        world.score(team, predictions([*range(public), *HIDDEN[:9]]))
    Standing.objects.update(best=None, loss=None)
    assert numbers(world.digits) == [("team alice", 2, False)]
    assert queries.choice(team).stand_in == 2


def test_without_any_score_the_last_answer_is_entered(world: World) -> None:
    team = world.join(world.alice)
    for count in (9, 3):
        world.score(team, wrong(count))
    Standing.objects.update(best=None, loss=None)
    Release.objects.update(reference_level=None)
    assert numbers(world.digits) == [("team alice", 2, False)]
    assert queries.choice(team).stand_in == 2


def test_a_claimed_score_is_no_public_one(world: World) -> None:
    team = world.join(world.alice)
    for public in (0, 3):
        world.score(team, predictions([*range(public), *HIDDEN[:9]]))
    Standing.objects.update(best=None, loss=None)
    claims = THRESHOLDOUT | {"reference": "claim"}
    Board.objects.update(mechanism="thresholdout", mechanism_parameters=claims)
    world.digits.refresh_from_db()
    assert Board.objects.get().takes_claims
    assert numbers(world.digits) == [("team alice", 2, False)]


def test_fewer_than_allowed_are_all_that_counts(world: World) -> None:
    team = world.join(world.alice)
    for count in (3, 9):
        world.score(team, wrong(count))
    selection.select(team=team, user=world.alice, numbers=[2])
    assert numbers(world.digits) == [("team alice", 2, True)]


def test_a_file_without_an_answer_is_not_entered(world: World) -> None:
    world.submit(world.join(world.alice))
    world.score(world.join(world.bob), b"id,label\nr0,0\n")
    assert numbers(world.digits) == []


@pytest.mark.parametrize(
    ("chosen", "code"),
    [([1, 2, 3], "too_many_finals"), ([4], "not_released"), ([1, 99], "not_released")],
)
def test_a_choice_that_cannot_be_granted_changes_nothing(
    world: World, chosen: list[int], code: str
) -> None:
    team = world.join(world.alice)
    for count in (9, 6, 3):
        world.score(team, wrong(count))
    world.submit(team)
    selection.select(team=team, user=world.alice, numbers=[3])
    with pytest.raises(Refused) as refused:
        selection.select(team=team, user=world.alice, numbers=chosen)
    assert refused.value.code == code
    assert numbers(world.digits) == [("team alice", 3, True)]


def test_a_submission_whose_file_was_lost_is_not_chosen(world: World) -> None:
    team = world.join(world.alice)
    world.score(team)
    team.submissions.update(file="")
    with pytest.raises(Refused, match="The file of submission 1 was lost with a restored backup"):
        selection.select(team=team, user=world.alice, numbers=[1])


def test_only_members_choose(world: World) -> None:
    team = world.join(world.alice)
    world.score(team)
    with pytest.raises(Refused, match="Join the competition"):
        selection.select(team=team, user=world.bob, numbers=[1])


def test_the_choice_is_open_after_closing_and_fixed_by_the_start(world: World) -> None:
    team = world.join(world.alice)
    world.score(team)
    ending.close(world.digits)
    selection.select(team=team, user=world.alice, numbers=[1])
    finalize.start_finals(world.round)
    with pytest.raises(Refused) as refused:
        selection.select(team=team, user=world.alice, numbers=[])
    assert refused.value.code == "finals_started"
    assert Selection.objects.count() == 1


# --- Starting -------------------------------------------------------------------------------------


def test_an_open_competition_does_not_end(world: World) -> None:
    world.score(world.join(world.alice))
    with pytest.raises(Refused) as refused:
        finalize.start_finals(world.round)
    assert refused.value.code == "not_closed"


def test_what_waits_is_scored_first_and_counted_in_the_refusal(world: World) -> None:
    team = world.join(world.alice)
    world.score(team)
    world.submit(team)
    world.submit(team)
    with pytest.raises(Refused, match="2 submissions are still on the way"):
        ending.start(world.digits)
    Submission.objects.filter(number=3).update(status=Status.REJECTED, finished_at=timezone.now())
    with pytest.raises(Refused, match="1 submission is still on the way"):
        finalize.start_finals(world.round)
    assert world.round.finals_started_at is None


def test_what_failed_is_named_and_has_to_be_accepted(world: World) -> None:
    team = world.join(world.alice)
    world.score(team)
    failed = world.submit(team)
    Submission.objects.filter(pk=failed.pk).update(status=Status.FAILED, finished_at=timezone.now())
    with pytest.raises(Refused, match="team alice #2 failed"):
        ending.start(world.digits)
    finalize.start_finals(world.round, accept_failed=True)
    assert world.round.finals_started_at is not None
    with pytest.raises(Refused) as refused:
        queue.requeue_failed(Submission.objects.all())
    assert refused.value.code == "finals_started"
    assert ending.statuses(world.digits) == ["released", "failed"]


def test_who_chose_under_a_higher_limit_chooses_anew_before_the_start(world: World) -> None:
    Round.objects.update(finals_limit=3)
    team = world.join(world.alice)
    for count in (9, 6, 3):
        world.score(team, wrong(count))
    selection.select(team=team, user=world.alice, numbers=[1, 2, 3])
    Round.objects.update(finals_limit=1)
    world.digits.refresh_from_db()
    with pytest.raises(Refused, match="team alice") as refused:
        ending.start(world.digits)
    assert refused.value.code == "selections_over_limit"
    for number in (1, 2):
        selection.withdraw(team=team, user=world.alice, number=number)
    ending.start(world.digits)
    assert numbers(world.digits) == [("team alice", 3, True)]


def test_a_competition_without_answers_has_no_finals(world: World) -> None:
    world.join(world.alice)
    with pytest.raises(Refused, match="no final board to make"):
        ending.start(world.digits)


def test_starting_twice_is_starting_once(world: World) -> None:
    world.score(world.join(world.alice))
    first = ending.start(world.digits).current_round.finals_started_at
    finalize.start_finals(world.round)
    assert world.round.finals_started_at == first


def test_no_submission_follows_whatever_becomes_of_the_deadline(world: World) -> None:
    team = world.join(world.alice)
    world.score(team)
    ending.start(world.digits)
    Round.objects.update(closes_at=timezone.now() + timedelta(days=1))
    with pytest.raises(Refused) as refused:
        intake.submit(team=team, user=world.alice, upload=upload(predictions()))
    assert refused.value.code == "deadline_passed"


def test_an_upload_that_was_being_stored_when_the_finals_started_is_refused(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    team = world.join(world.alice)
    world.score(team)
    store = intake._store

    def slowly(*args: Any) -> str:
        ending.start(world.digits)
        Round.objects.update(closes_at=timezone.now() + timedelta(days=1))
        return store(*args)

    monkeypatch.setattr(intake, "_store", slowly)
    with pytest.raises(Refused) as refused:
        world.submit(team, predictions([3]))
    assert refused.value.code == "deadline_passed"
    assert team.submissions.count() == 1


def test_a_started_end_is_not_taken_back_to_draft(world: World) -> None:
    world.score(world.join(world.alice))
    ending.start(world.digits)
    for change in (organize.return_to_draft, organize.delete_competition):
        with pytest.raises(Refused):
            change(world.digits)


# --- Scoring --------------------------------------------------------------------------------------


def test_every_entry_gets_its_exact_score_on_the_hidden_rows(world: World) -> None:
    alice, bob = world.join(world.alice), world.join(world.bob)
    for team, counts in ((alice, (9, 8)), (bob, (7,))):
        for count in counts:
            world.score(team, wrong(count))
    selection.select(team=alice, user=world.alice, numbers=[1, 2])
    ending.score(world.digits)
    assert scores(world.digits) == {
        "team alice #1": (9, 32, True),
        "team alice #2": (8, 32, True),
        "team bob #1": (7, 32, False),
    }
    assert world.round.finals_scored_at is not None


def test_final_rows_are_measured_where_there_are_any(world: World) -> None:
    usage = ["Public"] * 4 + ["Private"] * 26 + ["Final"] * 10
    lines = [f"r{row},{truth(row)},{usage[row]}" for row in range(ROWS)]
    solution = ("id,label,Usage\n" + "\n".join(lines) + "\n").encode()
    organize.install_solution(world.round, upload(solution), by=world.organizer)
    team = world.join(world.alice)
    world.score(team, predictions([*range(8, 20), 30, 31, 32]))
    ending.score(world.digits)
    assert scores(world.digits) == {"team alice #1": (3, 10, False)}


def test_a_team_whose_share_is_used_up_gets_its_final_score(world: World) -> None:
    checked = make_checked("checked", world.organizer, team_share="1", budget="1")
    team = world.join(world.alice, competition=checked)
    for count in (60, 50, 40):
        world.score(team, predictions(range(20, 20 + count), 100))
    exhausted = team.submissions.get(number=3)
    assert exhausted.release is not None
    assert exhausted.release.kind == "exhausted"
    selection.select(team=team, user=world.alice, numbers=[3])
    ending.score(checked)
    assert scores(checked) == {"team alice #3": (40, 80, True)}


@pytest.mark.parametrize("broken", range(3))
def test_one_that_fails_does_not_hold_up_the_others(
    world: World, monkeypatch: pytest.MonkeyPatch, broken: int
) -> None:
    """And what went wrong is told by type and place, without the message."""
    submissions = [world.score(world.join(make_user(name)), wrong(4)) for name in "abc"]
    with monkeypatch.context() as breaking:
        _break(breaking, lambda count: count == broken)
        ending.score(world.digits)
    assert len(scores(world.digits)) == 2
    assert world.round.finals_scored_at is None
    submissions[broken].refresh_from_db()
    assert submissions[broken].failure.startswith("Final score: StateError at test_finalize.py:")
    assert "0.125" not in submissions[broken].failure
    ending.measure(world.digits)
    submissions[broken].refresh_from_db()
    assert submissions[broken].failure == ""
    assert world.round.finals_scored_at is not None


class Killed(BaseException):
    """As of a worker: no handler of ours catches it."""


@pytest.mark.parametrize("after", [0, 2])
@pytest.mark.parametrize(
    ("home", "place"),
    [
        (tasks, "parse"),
        (vault, "measure_final"),
        (FinalScore.objects, "get_or_create"),
        (finalize, "compare_entries"),
        (finalize, "_note_all_scored"),
    ],
)
def test_it_resumes_wherever_it_was_cut_off(
    world: World, monkeypatch: pytest.MonkeyPatch, home: Any, place: str, after: int
) -> None:
    """A worker dies while reading, measuring, writing or ending; the sweeper sends it again."""
    for name in "abc":
        world.score(world.join(make_user(name)), wrong(4))
    ending.start(world.digits)
    with monkeypatch.context() as cut:
        _kill(cut, home, place, after)
        with contextlib.suppress(Killed):
            ending.measure(world.digits)
    ending.measure(world.digits)
    assert world.round.finals_scored_at is not None
    assert list(scores(world.digits).values()) == [(4, 32, False)] * 3


def _kill(cut: pytest.MonkeyPatch, home: Any, place: str, after: int) -> None:
    """Dies in the function `place` when it has been called so often before."""
    kept, calls = getattr(home, place), list[int]()

    def dies(*args: Any, **named: Any) -> Any:
        calls.append(1)
        if len(calls) > after:
            raise Killed
        return kept(*args, **named)

    cut.setattr(home, place, dies)


def _break(monkeypatch: pytest.MonkeyPatch, when: Callable[[int], bool]) -> None:
    """Makes some calls of the vault fail, in the order of the entries."""
    measure, calls = vault.measure_final, list[int]()

    def fails(*args: Any) -> Any:
        calls.append(1)
        mean = measure(*args)
        if when(len(calls) - 1):
            raise StateError(f"the loss is {mean.units / mean.whole}")
        return mean

    monkeypatch.setattr(vault, "measure_final", fails)


def test_the_finals_wait_for_uploads_that_began_before_the_deadline(
    world: World, settings: Any
) -> None:
    world.score(world.join(world.alice))
    settings.UPLOAD_SECONDS = 90
    with pytest.raises(Refused, match="may arrive until"):
        ending.start(world.digits)  # a minute after the deadline
    settings.UPLOAD_SECONDS = 30
    ending.start(world.digits)


def test_the_sweeper_asks_for_what_is_missing_once_in_a_while(
    world: World, sent: list[tuple[str, int]]
) -> None:
    submission = world.score(world.join(world.alice))
    sent.clear()
    ending.start(world.digits)
    tasks.sweep()
    tasks.sweep()
    assert sent == [("score_final", submission.pk)]
    late = timezone.now() - timedelta(seconds=settings.REQUEUE_SECONDS + 1)
    Round.objects.update(finals_enqueued_at=late)
    tasks.sweep()
    assert len(sent) == 2


def test_the_sweeper_asks_for_the_places_that_a_dead_worker_did_not_store(
    world: World, sent: list[tuple[str, int]]
) -> None:
    world.score(world.join(world.alice))
    ending.score(world.digits)
    sent.clear()
    Round.objects.update(finals_scored_at=None, finals_enqueued_at=None)
    tasks.sweep()
    assert sent == [("place_finals", world.round.pk)]


def test_one_worker_at_a_time_compares_the_entries_until_it_gives_no_sign(world: World) -> None:
    world.score(world.join(world.alice))
    ending.start(world.digits)
    set_round(world.digits, places_claimed_at=timezone.now())
    ending.measure(world.digits)
    assert not Round.objects.filter(finals_scored_at__isnull=False).exists()
    silent = timedelta(seconds=heartbeat.MISSED * settings.HEARTBEAT_SECONDS + 1)
    set_round(world.digits, places_claimed_at=timezone.now() - silent)
    tasks.place_finals(round_id=world.round.pk)
    world.digits.refresh_from_db()
    assert world.round.finals_scored_at is not None
    assert world.round.places_claimed_at is None


def test_places_wait_for_the_last_score(world: World) -> None:
    world.score(world.join(world.alice))
    ending.start(world.digits)
    tasks.place_finals(round_id=world.round.pk)
    world.digits.refresh_from_db()
    assert (world.round.finals_scored_at, world.round.places_claimed_at) == (None, None)


def test_while_the_broker_is_away_the_sweeper_goes_on_asking(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.score(world.join(world.alice))
    ending.start(world.digits)
    monkeypatch.setattr(queue, "_send", lambda *_, **ids: False)
    tasks.sweep()
    world.digits.refresh_from_db()
    assert world.round.finals_enqueued_at is None


def test_a_database_that_is_away_leaves_it_to_the_sweeper(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    submission = world.score(world.join(world.alice))

    def away(*args: Any) -> None:
        raise OperationalError

    monkeypatch.setattr(finalize, "measure_final", away)
    ending.score(world.digits)
    submission.refresh_from_db()
    assert (submission.failure, FinalScore.objects.count()) == ("", 0)


def test_nothing_is_measured_before_the_start_or_beside_the_entries(world: World) -> None:
    team = world.join(world.alice)
    first, second = (world.score(team, wrong(count)) for count in (9, 3))
    tasks.score_final(submission_id=second.pk)
    ending.start(world.digits)
    tasks.score_final(submission_id=first.pk)
    assert not FinalScore.objects.exists()


def test_measuring_twice_writes_once(world: World) -> None:
    submission = world.score(world.join(world.alice), wrong(4))
    ending.score(world.digits)
    before = list(FinalScore.objects.values())
    finalize.measure_final(submission, parse(submission))
    tasks.score_final(submission_id=submission.pk)
    assert list(FinalScore.objects.values()) == before


def test_finals_score_released_files_of_other_competitions_never(world: World) -> None:
    other = make_competition("other", world.organizer)
    world.score(world.join(world.alice, competition=other))
    world.score(world.join(world.bob))
    ending.score(world.digits)
    assert list(scores(world.digits)) == ["team bob #1"]
    assert scores(other) == {}


# --- The reveal -----------------------------------------------------------------------------------


def test_nothing_is_revealed_before_all_scores_are_there(world: World) -> None:
    world.score(world.join(world.alice))
    ending.start(world.digits)
    with pytest.raises(Refused) as refused:
        finalize.reveal(world.round)
    assert refused.value.code == "finals_not_scored"
    assert world.round.revealed_at is None


def test_the_reveal_has_no_way_back(world: World) -> None:
    world.score(world.join(world.alice))
    first = ending.reveal(world.digits).current_round.revealed_at
    finalize.reveal(world.round)
    assert world.round.revealed_at == first
    with pytest.raises(Refused):
        organize.return_to_draft(world.digits)


# --- Closing early --------------------------------------------------------------------------------


def test_closing_early_moves_the_deadline_to_now_and_keeps_what_was_announced(world: World) -> None:
    announced = world.round.closes_at
    finalize.close_early(world.round)
    assert world.round.phase(timezone.now()) is Phase.CLOSED
    assert world.round.announced_closes_at == announced


def test_what_was_accepted_before_is_scored_and_nothing_is_taken_after(world: World) -> None:
    team = world.join(world.alice)
    waiting = world.submit(team)
    finalize.close_early(world.round)
    with pytest.raises(Refused, match="closed on"):
        world.submit(team, wrong(3))
    tasks.score_submission(submission_id=waiting.pk)
    waiting.refresh_from_db()
    assert waiting.status == Status.RELEASED
    finalize.start_finals(world.round)


def test_an_upload_under_way_counts_while_it_closes_and_is_refused_once_the_finals_start(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    team, store = world.join(world.alice), intake._store
    world.score(team)

    def meanwhile(happens: Callable[[Round], object]) -> None:
        def slowly(*arguments: Any) -> str:
            happens(world.round)
            return store(*arguments)

        monkeypatch.setattr(intake, "_store", slowly)

    meanwhile(finalize.close_early)
    tasks.score_submission(submission_id=world.submit(team, wrong(3)).pk)
    set_round(world.digits, closes_at=timezone.now() + timedelta(hours=1))
    team.refresh_from_db()
    meanwhile(lambda _: ending.start(world.digits))
    with pytest.raises(Refused, match="closed on"):
        world.submit(team, wrong(4))


PHASES: dict[str, Callable[[Competition], object]] = {
    "draft": lambda digits: Competition.objects.update(opened_by_organizer_at=None),
    "upcoming": lambda digits: Round.objects.update(opens_at=timezone.now() + timedelta(days=1)),
    "closed": ending.close,
    "closed early": lambda digits: finalize.close_early(digits.current_round),
}


@pytest.mark.parametrize("phase", PHASES)
def test_only_an_open_competition_closes_early(world: World, phase: str) -> None:
    PHASES[phase](world.digits)
    before = Round.objects.values().get()
    with pytest.raises(Refused) as refused:
        finalize.close_early(world.round)
    assert refused.value.code == "not_open"
    assert Round.objects.values().get() == before


def test_a_board_of_which_every_entered_file_was_lost_has_no_places(world: World) -> None:
    board = Board.objects.get(round=world.digits.current_round)
    holdout = Holdout.objects.get()
    assert compare_entries([board], holdout, partial(vault.contest, holdout), parse) == {}
    store_places(board)
    board.refresh_from_db()
    assert board.finalists == 0


def test_a_message_of_a_file_that_a_restored_database_lacks_does_nothing(world: World) -> None:
    tasks.score_final(submission_id=404)
    assert not FinalScore.objects.exists()
