"""Whose file a worker takes, what it says of the wait, and who takes over from the dead."""

from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.utils import timezone

from leaderboard import queries, tasks
from leaderboard.models import Status, Submission
from leaderboard.pipeline import heartbeat
from leaderboard.platform.broker import LONG, QUEUE
from tests.cast import ROWS, World, make_competition, predictions, set_round


def deliver(queue: str = QUEUE, message: str = "one", **delivery: Any) -> None:
    """Deliver a message of a queue; it names a submission that there is not."""
    task = tasks.score_submission
    delivery_info = {"routing_key": queue, **delivery}
    task.push_request(delivery_info=delivery_info, id=message)  # type: ignore[call-arg]
    try:
        task.run(submission_id=10**9)
    finally:
        task.pop_request()


def served() -> list[str]:
    """Return whose files workers took, in order."""
    taken = Submission.objects.filter(claimed_at__isnull=False).order_by("claimed_at")
    return [f"{each.team.competition.slug} {each.team.captain} {each.number}" for each in taken]


@pytest.fixture
def three(world: World) -> list[Submission]:
    """Alice has sent three files; then Bob sends one, and Alice one to another competition."""
    alice, bob = world.join(world.alice), world.join(world.bob)
    other = make_competition("other", world.organizer)
    sent = [world.submit(alice, predictions({number})) for number in range(3)]
    elsewhere = world.join(world.alice, competition=other)
    return [*sent, world.submit(bob), world.submit(elsewhere)]


def test_competitions_take_turns_and_teams_within_them(three: list[Submission]) -> None:
    for _ in three:
        deliver()
    assert served() == [
        "digits alice 1",
        "other alice 1",
        "digits bob 1",
        "digits alice 2",
        "digits alice 3",
    ]


def test_the_place_that_is_shown_is_the_turn_that_comes(world: World, three: Any) -> None:
    places = {}
    for each in three:
        wait = queries.wait_of(each.user, each)
        assert wait is not None
        assert wait.seconds is None
        places[wait.place] = f"{each.team.competition.slug} {each.user} {each.number}"
    for _ in three:
        deliver()
    assert [places[place] for place in sorted(places)] == served()


def test_the_wait_follows_from_the_time_of_the_files_before(
    world: World, three: list[Submission]
) -> None:
    deliver()
    done = Submission.objects.filter(finished_at__isnull=False)
    done.update(claimed_at=timezone.now() - timedelta(seconds=9), finished_at=timezone.now())
    wait = queries.wait_of(world.bob, three[3])
    assert wait is not None
    assert (wait.place, wait.seconds) == (2, 19)


def test_a_file_of_a_board_that_is_hidden_says_nothing_of_its_wait(
    world: World, three: list[Submission]
) -> None:
    set_round(world.digits, is_hidden=True)
    three[0].refresh_from_db()
    assert queries.wait_of(world.alice, three[0]) is None
    assert queries.wait_of(AnonymousUser(), three[0]) is None


def test_a_file_elsewhere_does_not_tell_of_those_of_a_hidden_board(
    world: World, three: list[Submission]
) -> None:
    set_round(world.digits, is_hidden=True)
    wait = queries.wait_of(world.alice, three[4])
    assert wait is not None
    assert wait.place == 1


def test_a_long_file_has_a_queue_of_its_own(world: World, settings: Any) -> None:
    alice, short_one = world.join(world.alice), predictions()
    settings.LONG_FILE = len(short_one) * ROWS
    long = world.submit(alice, short_one + b"\n")
    short = world.submit(alice, short_one)
    assert (long.is_long, short.is_long) == (True, False)
    deliver()
    deliver()
    assert served() == ["digits alice 2"]
    deliver(LONG)
    assert served() == ["digits alice 2", "digits alice 1"]


def test_what_a_dead_child_held_is_taken_up_at_once_by_its_message(
    world: World, three: list[Submission]
) -> None:
    held = Submission.objects.filter(pk=three[1].pk)
    held.update(status=Status.SCORING, claimed_at=timezone.now(), claimed_by="one", attempts=1)
    deliver(message="another", redelivered=True)
    three[1].refresh_from_db()
    assert three[1].status == Status.SCORING
    deliver(message="one", redelivered=True)
    three[1].refresh_from_db()
    assert three[1].status == Status.RELEASED


def test_what_gives_no_sign_of_life_is_abandoned_long_before_its_lease_ends(
    world: World, three: list[Submission]
) -> None:
    now = timezone.now()
    silent = now - timedelta(seconds=heartbeat.MISSED * settings.HEARTBEAT_SECONDS + 1)
    Submission.objects.update(status=Status.SCORING, claimed_at=silent, seen_at=now)
    Submission.objects.filter(pk=three[2].pk).update(seen_at=silent)
    assert list(heartbeat.abandoned()) == [three[2]]


def test_a_team_that_waits_is_not_overtaken_by_another_that_goes_on_sending(
    world: World, three: list[Submission]
) -> None:
    for number in range(6):
        deliver()
        world.submit(three[3].team, predictions({number, number + 10}))
    assert "digits alice 3" in served()


@pytest.mark.parametrize(("seconds", "pause"), [(None, 1), (2, 1), (20, 6), (600, 15)])
def test_a_file_that_waits_long_is_asked_for_less_often(seconds: int | None, pause: int) -> None:
    assert queries.Wait(place=1, seconds=seconds).pause == pause
