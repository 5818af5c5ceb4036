"""Practice after the reveal: entries of the ledger that change no board and no place."""

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from leaderboard import organize, queries
from leaderboard.errors import Refused
from leaderboard.models import (
    Competition,
    Event,
    EventKind,
    FinalScore,
    LevelCount,
    Standing,
    Status,
    Submission,
)
from leaderboard.operate.verification import verify_ledger
from leaderboard.organize.bundles import clone
from leaderboard.participate import quotas, selection
from leaderboard.pipeline import publish, queue
from leaderboard.tasks import publish_holdout
from tests import ending
from tests.cast import (
    World,
    ledger_of,
    make_checked,
    make_user,
    predictions,
    set_round,
    solution,
    upload,
)
from tests.snapshots import kept

PERFECT = predictions()


def stored(competition: Competition) -> list[object]:
    """Return all that ranks: boards, their counts, and final scores."""
    models = (Standing, LevelCount, FinalScore)
    return [list(model.objects.order_by("pk").values()) for model in models]


@pytest.fixture
def ended(world: World) -> World:
    """Reveal the finals of two teams' imperfect files."""
    _reveal(world)
    world.digits.refresh_from_db()
    return world


@kept
def _reveal(world: World) -> None:
    for user, errors in ((world.alice, 12), (world.bob, 20)):
        world.score(world.join(user), predictions(wrong=range(8, 8 + errors)))
    ending.reveal(world.digits)


@pytest.fixture
def practising(ended: World) -> World:
    organize.change_practice(ended.digits.current_round, is_open=True, by=ended.organizer)
    ended.digits.refresh_from_db()
    return ended


def test_without_practice_nothing_is_taken_after_the_reveal(ended: World) -> None:
    with pytest.raises(Refused) as caught:
        ended.submit(ended.digits.teams.order_by("pk")[0])
    assert caught.value.code == "deadline_passed"


def test_practice_and_a_clone_do_not_answer_on_the_same_rows(ended: World) -> None:
    made = clone(ended.digits, slug="digits-2", by=ended.organizer)
    organize.install_solution(made.current_round, upload(solution()), by=ended.organizer)
    round = Competition.objects.get(pk=ended.digits.pk).current_round
    organize.change_practice(round, is_open=True, by=ended.organizer)
    with pytest.raises(Refused, match="answers on these rows"):
        organize.open_competition(made, by=ended.organizer)
    organize.change_practice(round, is_open=False, by=ended.organizer)
    organize.open_competition(made, by=ended.organizer)
    with pytest.raises(Refused, match="answers on these rows"):
        organize.change_practice(round, is_open=True, by=ended.organizer)


def test_practice_is_answered_in_the_ledger_and_changes_no_place(practising: World) -> None:
    team = practising.digits.teams.order_by("pk")[1]
    before, entries = stored(practising.digits), ledger_of(practising.digits).entries
    submission = practising.score(team, PERFECT)
    assert (submission.status, submission.is_practice) == (Status.RELEASED, True)
    assert submission.release is not None
    assert submission.release.level == 0
    assert ledger_of(practising.digits).entries == entries + 1
    assert stored(practising.digits) == before


def test_a_team_that_never_submitted_gets_no_row_by_practice(practising: World) -> None:
    team = practising.join(make_user("carol"))
    practising.score(team, PERFECT)
    assert not Standing.objects.filter(team=team).exists()


def test_ledger_and_finals_are_verified_with_practice_in_between(practising: World) -> None:
    for team in practising.digits.teams.order_by("pk"):
        practising.score(team, PERFECT)
    verified = verify_ledger(ledger_of(practising.digits))
    assert verified.report.difference is None


def test_finals_are_verified_though_answers_of_a_checked_board_followed(world: World) -> None:
    competition = make_checked("checked", world.organizer)
    for user, errors in ((world.alice, 12), (world.bob, 20)):
        own = world.join(user, competition=competition)
        world.score(own, predictions(wrong=range(30, 30 + errors), rows=100))
    team = competition.teams.order_by("pk")[0]
    ending.reveal(competition)
    organize.change_practice(competition.current_round, is_open=True, by=world.organizer)
    for errors in (1, 5, 40):
        world.score(team, predictions(wrong=range(20, 20 + errors), rows=100))
    assert verify_ledger(ledger_of(competition)).report.difference is None


def test_practice_is_nothing_to_select_and_no_stand_in(practising: World) -> None:
    team = practising.digits.teams.order_by("pk")[0]
    before = [each.pk for each in selection.entered(practising.round)]
    practising.score(team, PERFECT)
    assert [each.pk for each in selection.entered(practising.round)] == before


def test_the_chart_of_the_board_has_no_practice(practising: World) -> None:
    team = practising.digits.teams.order_by("pk")[0]
    before = queries.leading_steps(practising.board, practising.alice)
    practising.score(team, PERFECT)
    assert queries.leading_steps(practising.board, practising.alice) == before


def test_practice_has_a_daily_limit_of_its_own_and_no_other(practising: World) -> None:
    round = set_round(practising.digits, daily_limit=1, total_limit=1)
    team = practising.digits.teams.order_by("pk")[0]
    left = quotas.quota(team, round, timezone.now())
    assert (left.daily_left, left.total_limit) == (1, None)
    practising.score(team, PERFECT)
    with pytest.raises(Refused, match="day"):
        practising.submit(team, predictions(wrong=[9]))


def test_practice_promises_nothing_where_final_scores_told_of_these_rows(practising: World) -> None:
    team = practising.digits.teams.order_by("pk")[0]
    row = queries.submission_row(practising.score(team, PERFECT))
    assert row.released is not None
    assert row.released.certificate is None


@pytest.mark.parametrize("case", ["before_reveal", "published", "later_round", "newer_rows"])
def test_practice_is_refused(world: World, case: str) -> None:
    team = world.join(world.alice)
    world.score(team)
    now = timezone.now()
    if case == "before_reveal":
        ending.score(world.digits)
    else:
        ending.reveal(world.digits)
    round = world.digits.current_round
    if case == "published":
        publish.publish(round, by=world.organizer)
    if case in ("later_round", "newer_rows"):
        later = organize.add_round(
            world.digits, by=world.organizer, opens_at=now + timedelta(days=1)
        )
        own = {"ledger": round.ledger} if case == "later_round" else {}
        moved = {"opens_at": now - timedelta(minutes=1), "ledger": other_ledger(world)}
        type(later).objects.filter(pk=later.pk).update(**(own or moved))
    round.refresh_from_db()
    round.competition.refresh_from_db()
    with pytest.raises(Refused) as caught:
        organize.change_practice(round, is_open=True, by=world.organizer)
    assert caught.value.code == "no_practice"


def other_ledger(world: World) -> object:
    return make_checked("rows", world.organizer).current_round.ledger


def test_publishing_the_solution_ends_practice(practising: World) -> None:
    team = practising.digits.teams.order_by("pk")[0]
    practising.score(team, PERFECT)
    publish.publish(practising.round, by=practising.organizer)
    with pytest.raises(Refused) as caught:
        practising.submit(team, predictions(wrong=[9]))
    assert caught.value.code == "deadline_passed"


def test_a_publication_with_practice_is_verified(practising: World) -> None:
    team = practising.digits.teams.order_by("pk")[0]
    practising.score(team, PERFECT)
    publish.publish(practising.round, by=practising.organizer)
    publish_holdout(holdout_id=ledger_of(practising.digits).holdouts.get().pk)
    verified = verify_ledger(ledger_of(practising.digits))
    assert verified.report.difference is None
    assert verified.means == "publication"


def test_practice_can_be_closed_and_opened_again_and_is_told(practising: World) -> None:
    round = practising.round
    organize.change_practice(round, is_open=False, by=practising.organizer)
    assert not round.takes_practice
    organize.change_practice(round, is_open=True, by=practising.organizer)
    told = Event.objects.filter(kind=EventKind.PRACTICE_CHANGED).order_by("number")
    assert [each.data["open"] for each in told] == [True, False, True]


def test_a_practice_file_that_failed_is_queued_again(practising: World) -> None:
    submission = practising.submit(practising.digits.teams.order_by("pk")[0], PERFECT)
    rows = Submission.objects.filter(pk=submission.pk)
    rows.update(status=Status.FAILED, finished_at=timezone.now())
    assert queue.requeue_failed(rows, by=practising.organizer) == 1


def test_participants_are_told_that_practice_does_not_count(
    practising: World, client: Client
) -> None:
    client.force_login(practising.alice)
    submit = client.get("/c/digits/submit/").content.decode()
    assert "Practice" in submit
    assert 'type="file"' in submit
    team = practising.digits.teams.order_by("pk")[0]
    number = practising.score(team, PERFECT).number
    listed = client.get("/c/digits/submissions/").content.decode()
    assert "Practice: doesn’t count" in listed
    one = client.get(f"/c/digits/submissions/{number}/").content.decode()
    assert "Practice: doesn’t count" in one
    assert "Your place" not in one


def test_a_hand_made_upload_during_practice_goes_the_ordinary_way(
    practising: World, client: Client
) -> None:
    client.force_login(practising.alice)
    address = "/c/digits/submit/"
    answer = client.post(address, {"file": upload(PERFECT), "message": "practice"})
    assert answer.status_code == 302
    assert Submission.objects.filter(is_practice=True, message="practice").exists()
