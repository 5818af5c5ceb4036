"""The tab "Submissions": what was sent, why it failed, and queueing it again."""

from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from leaderboard.models import Event, EventKind, Release, Status, Submission, User
from tests.cast import World, make_competition
from tests.console.conftest import SignIn
from tests.console.pages import at, text


def _failed(world: World) -> Submission:
    submission = world.score(world.join(world.alice))
    queued = world.submit(submission.team)
    Submission.objects.filter(pk=queued.pk).update(
        status=Status.FAILED,
        failure="MemoryError at parse.py:31",
        finished_at=timezone.now(),
        attempts=5,
    )
    return queued


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Collect the ids that are put on the queue."""
    ids: list[int] = []
    monkeypatch.setattr(
        "leaderboard.pipeline.queue.current_app.send_task",
        lambda name, kwargs, **options: ids.append(kwargs["submission_id"]),
    )
    return ids


@pytest.mark.parametrize("at_once", [False, True])
def test_what_failed_is_shown_with_its_reason_and_queued_again(
    at_once: bool,
    world: World,
    organizer: Client,
    sent: list[int],
    django_capture_on_commit_callbacks: Any,
) -> None:
    failed = _failed(world)
    sent.clear()
    assert "MemoryError at parse.py:31" in text(organizer.get(at("submissions", world.digits)))
    assert "MemoryError" in text(organizer.get(at("submission", world.digits, failed.pk)))
    button = at("requeue-all", world.digits) if at_once else at("requeue", world.digits, failed.pk)
    with django_capture_on_commit_callbacks(execute=True):
        organizer.post(button)
    failed.refresh_from_db()
    assert (failed.status, failed.failure, failed.attempts) == (Status.QUEUED, "", 0)
    assert failed.finished_at is None
    assert sent == [failed.pk]
    event = Event.objects.get(kind=EventKind.SUBMISSION_REQUEUED)
    assert (event.actor, event.subjects["submission"]) == (world.organizer, failed.number)


def test_what_is_released_is_not_scored_again(
    world: World, organizer: Client, sent: list[int], django_capture_on_commit_callbacks: Any
) -> None:
    done = world.score(world.join(world.alice))
    sent.clear()
    with django_capture_on_commit_callbacks(execute=True):
        page = organizer.post(at("requeue", world.digits, done.pk), follow=True)
    done.refresh_from_db()
    assert "0 failed submissions are queued again." in text(page)
    assert (done.status, sent) == (Status.RELEASED, [])
    assert Release.objects.count() == 1
    assert not Event.objects.filter(kind=EventKind.SUBMISSION_REQUEUED).exists()


def test_an_address_alone_queues_nothing(world: World, organizer: Client) -> None:
    failed = _failed(world)
    organizer.get(at("requeue-all", world.digits))
    organizer.get(at("requeue", world.digits, failed.pk))
    failed.refresh_from_db()
    assert failed.status == Status.FAILED


def test_another_organizer_neither_reads_nor_queues_it(
    world: World, rival: User, sign_in: SignIn
) -> None:
    failed = _failed(world)
    own = make_competition("mine", rival)
    client = sign_in(rival)
    for competition in (own, world.digits):
        assert client.get(at("submission", competition, failed.pk)).status_code == 404
        assert client.post(at("requeue", competition, failed.pk)).status_code == 404
    client.post(at("requeue-all", own))
    failed.refresh_from_db()
    assert failed.status == Status.FAILED


def test_a_viewer_reads_and_doesn_t_queue(world: World, rival: User, sign_in: SignIn) -> None:
    failed = _failed(world)
    world.digits.roles.create(user=rival, role="viewer")
    page = sign_in(rival).post(at("requeue", world.digits, failed.pk), follow=True)
    assert page.status_code == 200
    failed.refresh_from_db()
    assert failed.status == Status.FAILED


def test_a_rejected_file_shows_what_its_team_was_told(world: World, organizer: Client) -> None:
    rejected = world.score(world.join(world.alice), b"id,label\nr0,9\n")
    page = text(organizer.get(at("submission", world.digits, rejected.pk)))
    assert "not one of 0-3" in page


def test_the_list_is_narrowed_by_status_and_team(world: World, organizer: Client) -> None:
    failed = _failed(world)
    other = world.score(world.join(world.bob))
    page = at("submissions", world.digits)

    def listed(**query: str) -> list[int]:
        return [each.pk for each in organizer.get(page, query).context["found"].rows]

    assert listed(status="failed") == [failed.pk]
    assert listed(team="BOB") == [other.pk]
    assert listed(status="failed", team="bob") == []
    assert len(listed(status="nonsense")) == 3


def test_the_list_says_what_teams_were_told_and_nothing_finer(
    world: World, organizer: Client
) -> None:
    done = world.score(world.join(world.alice))
    for page in (at("submissions", world.digits), at("submission", world.digits, done.pk)):
        shown = text(organizer.get(page))
        assert "New best" in shown or "best" in shown
        assert "microsecond" not in shown


@pytest.mark.parametrize("page", ["0", "2", "99999999", "x"])
def test_pages_that_there_are_not_show_the_nearest(
    world: World, organizer: Client, page: str
) -> None:
    world.score(world.join(world.alice))
    found = organizer.get(at("submissions", world.digits), {"page": page}).context["found"]
    assert (found.page, found.pages, found.total) == (1, 1, 1)
