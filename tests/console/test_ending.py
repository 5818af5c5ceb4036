"""The tab "Finals": who starts and reveals, what is shown on the way, what it fixes."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from leaderboard.models import Competition, Event, EventKind, Round, Status, Submission, User
from leaderboard.participate import selection
from tests import ending, snapshots
from tests.cast import World, make_competition, predictions
from tests.console.conftest import SignIn
from tests.console.pages import at, settings_of
from tests.web.pages import text


@pytest.fixture
@snapshots.kept
def played(world: World) -> World:
    """Give alice and bob answers; bob's released place is the second."""
    world.score(world.join(world.alice), predictions(range(8, 10)))
    world.score(world.join(world.bob), predictions(range(8, 14)))
    return world


def test_an_open_competition_shows_what_is_to_come(played: World, organizer: Client) -> None:
    shown = text(organizer.get(at("finals", played.digits)))
    assert "It closes in" in shown
    assert "2 submissions would be entered" in shown
    organizer.post(at("finals-start", played.digits))
    played.digits.refresh_from_db()
    assert played.round.finals_started_at is None


def test_it_says_how_many_teams_have_chosen(played: World, organizer: Client) -> None:
    ending.close(played.digits)
    page = at("finals", played.digits)
    assert "0 of 2 teams with an answer have chosen so far." in text(organizer.get(page))
    alice = played.digits.teams.get(name="team alice")
    selection.select(team=alice, user=played.alice, numbers=[1])
    assert "1 of 2 teams with an answer has chosen so far." in text(organizer.get(page))
    bob = played.digits.teams.get(name="team bob")
    selection.select(team=bob, user=played.bob, numbers=[1])
    assert "Every team with an answer has chosen." in text(organizer.get(page))


def test_closing_early_is_asked_once_more_logged_and_shown_to_everybody(
    played: World, organizer: Client
) -> None:
    digits = played.digits
    closes_at = played.round.closes_at
    assert closes_at is not None
    announced = f"{closes_at.day} {closes_at:%B %Y, %H:%M} UTC"
    assert "Close it early" in text(organizer.get(at("finals", digits)))
    assert "Close it now?" in text(organizer.get(at("finals-close", digits)))
    digits.refresh_from_db()
    assert played.round.announced_closes_at is None
    assert "The competition is closed." in text(
        organizer.post(at("finals-close", digits), follow=True)
    )
    closed = Event.objects.get(kind=EventKind.CLOSED)
    assert (closed.actor, closed.competition) == (played.organizer, digits)
    assert f"before its time: announced for {announced}" in text(Client().get("/c/digits/"))
    detail = Client().get("/api/v1/competitions/digits/").json()
    assert detail["announced_closes_at"][:16] == f"{closes_at:%Y-%m-%dT%H:%M}"


def test_what_was_closed_early_is_not_opened_again(played: World, organizer: Client) -> None:
    organizer.post(at("finals-close", played.digits))
    played.digits.refresh_from_db()
    closed_at = played.round.closes_at
    later = f"{timezone.now() + timedelta(days=9):%Y-%m-%dT%H:%M}"
    organizer.post(at("settings", played.digits), settings_of(played.digits, closes_at=later))
    played.digits.refresh_from_db()
    assert played.round.closes_at == closed_at
    assert "not open" in text(organizer.get(at("finals-close", played.digits)))


def test_the_settings_close_no_open_competition_in_silence(
    played: World, organizer: Client
) -> None:
    announced = played.round.closes_at
    past = f"{timezone.now() - timedelta(hours=1):%Y-%m-%dT%H:%M}"
    shown = organizer.post(
        at("settings", played.digits), settings_of(played.digits, closes_at=past)
    )
    assert "use the page “Finals”" in text(shown)
    played.digits.refresh_from_db()
    assert played.round.closes_at == announced


def test_a_draft_has_no_end(world: World, organizer: Client) -> None:
    Competition.objects.update(opened_by_organizer_at=None)
    assert "The competition has not begun" in text(organizer.get(at("finals", world.digits)))


def test_the_way_from_closing_to_the_reveal(played: World, organizer: Client) -> None:
    digits = ending.close(played.digits)
    shown = text(organizer.post(at("finals-start", digits), follow=True))
    assert "The final scoring has begun" in shown
    assert "0 of 2" in shown
    assert organizer.get(at("finals-csv", digits)).status_code == 404
    ending.measure(digits)
    shown = text(organizer.get(at("finals", digits)))
    assert "What will be revealed" in shown
    assert "1 team alice 0.94" in shown
    assert "Reveal the final scores?" in text(organizer.get(at("finals-reveal", digits)))
    assert Round.objects.filter(revealed_at__isnull=True).exists()
    assert "are revealed" in text(organizer.post(at("finals-reveal", digits), follow=True))
    assert not Round.objects.filter(revealed_at__isnull=True).exists()
    ends = (EventKind.FINALS_STARTED, EventKind.REVEALED)
    events = Event.objects.filter(kind__in=ends, actor=played.organizer)
    assert list(events.order_by("number").values_list("kind", flat=True)) == list(ends)


def test_it_says_from_when_the_final_scoring_can_start(
    played: World, organizer: Client, settings: Any
) -> None:
    settings.UPLOAD_SECONDS = 300
    page = at("finals", ending.close(played.digits))
    answer = organizer.get(page)
    assert "Uploads that began in time have arrived They may take until" in text(answer)
    assert b"<button disabled>Start the final scoring" in answer.content
    settings.UPLOAD_SECONDS = 0
    assert b"<button>Start the final scoring" in organizer.get(page).content


def test_what_failed_has_to_be_accepted_with_a_tick(played: World, organizer: Client) -> None:
    failed = played.submit(played.digits.teams.get(name="team bob"))
    Submission.objects.filter(pk=failed.pk).update(status=Status.FAILED, finished_at=timezone.now())
    digits = ending.close(played.digits)
    assert "team bob #2 got no answer" in text(organizer.get(at("finals", digits)))
    assert "failed on our side" in text(organizer.post(at("finals-start", digits), follow=True))
    organizer.post(at("finals-start", digits), {"accept_failed": "on"})
    digits.refresh_from_db()
    assert played.round.finals_started_at is not None
    shown = organizer.post(at("requeue-all", digits), follow=True)
    assert "The organizer has started the final scoring" in text(shown)
    failed.refresh_from_db()
    assert failed.status == Status.FAILED


def test_a_final_score_that_fails_is_named_with_its_place(played: World, organizer: Client) -> None:
    ending.start(played.digits)
    Submission.objects.filter(team__name="team bob").update(failure="Final score: E at f.py:1")
    shown = text(organizer.get(at("finals", played.digits)))
    assert "team bob #1 Final score: E at f.py:1" in shown
    assert "Reveal" not in shown
    shown = text(organizer.post(at("finals-reveal", played.digits), follow=True))
    assert "Some final scores are missing" in shown


def test_what_a_custom_metric_could_not_score_is_named(played: World, organizer: Client) -> None:
    ending.score(played.digits)
    Submission.objects.filter(team__name="team bob").update(failure="Final score: Own: E at m.py:1")
    shown = text(organizer.get(at("finals", played.digits)))
    assert "Counted as the worst" in shown
    assert "team bob #1 Final score: Own: E at m.py:1" in shown


def test_the_end_fixes_times_and_limits(played: World, organizer: Client) -> None:
    digits = ending.score(played.digits)
    before, round_before = Competition.objects.values().get(), Round.objects.values().get()
    later = f"{timezone.now() + timedelta(days=9):%Y-%m-%dT%H:%M}"
    changed = settings_of(
        digits, closes_at=later, finals_limit="5", daily_limit="99", title="Renamed"
    )
    organizer.post(at("settings", digits), changed)
    assert Competition.objects.values().get() == before | {"title": "Renamed"}
    assert Round.objects.values().get() == round_before


def test_the_limit_of_entries_is_a_setting_before(played: World, organizer: Client) -> None:
    organizer.post(at("settings", played.digits), settings_of(played.digits, finals_limit="5"))
    played.digits.refresh_from_db()
    assert played.round.finals_limit == 5


@pytest.mark.parametrize("who", ["rival", "participant"])
def test_nobody_else_starts_reveals_or_looks(
    played: World, rival: User, sign_in: SignIn, who: str
) -> None:
    make_competition("other", rival)
    digits = ending.score(played.digits)
    client = sign_in(rival if who == "rival" else played.alice)
    for name in ("finals", "finals-reveal", "finals-csv"):
        response = client.get(at(name, digits))
        assert response.status_code in {403, 404}
        assert "0.94" not in text(response)
    for name in ("finals-start", "finals-reveal", "finals-close"):
        client.post(at(name, digits))
    digits.refresh_from_db()
    assert digits.current_round.revealed_at is None


@pytest.mark.parametrize("role", ["judge", "viewer"])
def test_judges_and_viewers_see_no_final_score_before_the_reveal(
    played: World, rival: User, sign_in: SignIn, role: str
) -> None:
    played.digits.roles.create(user=rival, role=role)
    digits = ending.score(played.digits)
    client = sign_in(rival)
    shown = text(client.get(at("finals", digits)))
    assert "All final scores are there" in shown
    assert "0.94" not in shown
    assert client.get(at("finals-csv", digits)).status_code == 404
    ending.reveal(digits)
    assert "0.94" in text(client.get(at("finals", digits)))


def test_the_csv_is_the_organizers_before_the_reveal(played: World, organizer: Client) -> None:
    digits = ending.score(played.digits)
    lines = organizer.get(at("finals-csv", digits)).getvalue().decode().splitlines()
    assert [line.split(",")[4:6] for line in lines[1:]] == [
        ["team alice", "0.94"],
        ["team bob", "0.81"],
    ]
