"""Repeats: a file that a team had sent before takes no quota, and brings no answer beyond it."""

from typing import Any

import pytest
from django.utils import timezone

from leaderboard.errors import Refused
from leaderboard.models import Release, Round, Status, Submission, Team
from leaderboard.participate import quotas
from leaderboard.pipeline import intake
from leaderboard.pipeline.queue import requeue_failed
from leaderboard.queries import quota, submission_row
from leaderboard.tasks import score_submission
from leaderboard.words import summary
from tests.cast import World, predictions

FILE, OTHER = predictions([9]), predictions([10])


@pytest.fixture
def alice(world: World) -> Team:
    """A team that has its best score and may send two more files."""
    team = world.join(world.alice)
    Round.objects.update(total_limit=3)
    team.competition.refresh_from_db()
    world.score(team)
    return team


def left(team: Team) -> int:
    return quota(Team.objects.get(pk=team.pk)).left


def other_order(content: bytes) -> bytes:
    """Write the same predictions with the rows in another order."""
    header, *rows = content.splitlines()
    return b"\n".join([header, *reversed(rows)]) + b"\n"


def score(submission: Submission) -> Submission:
    score_submission(submission_id=submission.pk)
    submission.refresh_from_db()
    return submission


def fail(submission: Submission) -> None:
    Submission.objects.filter(pk=submission.pk).update(
        status=Status.FAILED, finished_at=timezone.now()
    )


def answers(team: Team) -> int:
    """Count the answers that are no repeats."""
    return Release.objects.filter(team=team, repeat_of__isnull=True).count()


def test_the_same_bytes_take_no_quota(world: World, alice: Team) -> None:
    world.score(alice, FILE)
    assert world.submit(alice, FILE).takes_quota is False
    assert left(alice) == 1


def test_the_same_bytes_are_taken_when_no_quota_is_left(world: World, alice: Team) -> None:
    world.score(alice, FILE)
    world.score(alice, OTHER)
    assert left(alice) == 0
    assert world.score(alice, FILE).status == Status.RELEASED


def test_the_same_predictions_give_their_unit_back(world: World, alice: Team) -> None:
    world.score(alice, FILE)
    again = world.submit(alice, other_order(FILE))
    assert (again.takes_quota, left(alice)) == (True, 0)
    assert score(again).takes_quota is False
    assert left(alice) == 1


def test_the_same_bytes_of_another_team_take_quota(world: World, alice: Team) -> None:
    world.score(alice, FILE)
    assert world.submit(world.join(world.bob), FILE).takes_quota is True


def test_the_same_bytes_as_a_file_that_waits_take_no_quota(world: World, alice: Team) -> None:
    world.submit(alice, FILE)
    assert world.submit(alice, FILE).takes_quota is False


@pytest.mark.parametrize("status", [Status.FAILED, Status.REJECTED])
def test_the_same_bytes_as_a_file_without_an_answer_take_quota(
    status: Status, world: World, alice: Team
) -> None:
    first = world.submit(alice, FILE)
    Submission.objects.filter(pk=first.pk).update(status=status, finished_at=timezone.now())
    assert world.submit(alice, FILE).takes_quota is True


def test_of_two_equal_uploads_at_once_one_takes_the_last_unit(
    world: World, alice: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.submit(alice, OTHER)
    store = intake._store

    def meanwhile_the_other_is_taken(*args: Any) -> str:
        monkeypatch.setattr(intake, "_store", store)
        world.submit(alice, FILE)
        return store(*args)

    monkeypatch.setattr(intake, "_store", meanwhile_the_other_is_taken)
    assert world.submit(alice, FILE).takes_quota is False
    assert left(alice) == 0


def test_a_repeat_of_a_file_that_failed_takes_its_unit_with_its_answer(
    world: World, alice: Team
) -> None:
    first, repeat = world.submit(alice, FILE), world.submit(alice, FILE)
    fail(first)
    assert score(repeat).takes_quota is True
    assert left(alice) == 0


def test_a_repeat_of_a_file_that_failed_gets_no_answer_beyond_the_quota(
    world: World, alice: Team
) -> None:
    first, repeat = world.submit(alice, FILE), world.submit(alice, FILE)
    fail(first)
    world.score(alice, OTHER)
    assert score(repeat).status == Status.REJECTED
    assert "has no answer to repeat" in summary(submission_row(repeat))
    assert answers(alice) == 2


def test_a_file_that_is_scored_after_its_repeat_gives_its_unit_back(
    world: World, alice: Team
) -> None:
    first, repeat = world.submit(alice, FILE), world.submit(alice, FILE)
    fail(first)
    score(repeat)
    requeue_failed(Submission.objects.filter(pk=first.pk))
    assert score(first).takes_quota is False
    assert (answers(alice), left(alice)) == (2, 1)


def test_a_repeat_of_a_rejected_file_is_rejected_and_free(world: World, alice: Team) -> None:
    first, repeat = (world.submit(alice, b"id,label\n") for _ in range(2))
    assert {score(each).status for each in (first, repeat)} == {Status.REJECTED}
    assert left(alice) == 2


def test_however_often_it_is_sent_a_file_gets_one_answer(world: World, alice: Team) -> None:
    sent = [world.submit(alice, FILE) for _ in range(5)]
    for each in reversed(sent):
        score(each)
    assert answers(alice) == 2
    assert [each.takes_quota for each in sent] == [False] * 4 + [True]


def test_what_takes_no_quota_is_limited_for_the_day(
    world: World, alice: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quotas, "FREE_PER_DAY", 1)
    world.score(alice, FILE)
    world.score(alice, FILE)
    with pytest.raises(Refused) as refused:
        world.submit(alice, FILE)
    assert refused.value.code == "too_many_rejected"


def test_the_answer_names_the_submission_that_it_repeats(world: World, alice: Team) -> None:
    world.score(alice, FILE)
    text = summary(submission_row(world.score(alice, FILE)))
    assert text.endswith(
        "Same predictions as submission 2, so the same result. It took none of your quota."
    )
