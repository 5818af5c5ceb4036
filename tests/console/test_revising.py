"""The organizer's page for revising a solution after releases."""

import hashlib
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from leaderboard.ledger.pauses import pause
from leaderboard.models import Competition, Holdout, Pause, Status, Submission, User
from tests.cast import World, ledger_of, predictions, set_round, solution, upload
from tests.console.conftest import SignIn
from tests.console.pages import at, text

FIXED = solution().replace(b"r39,3", b"r39,0")
REASON = "Row 39 was mislabelled."


@pytest.fixture
def played(world: World) -> Competition:
    """Play the competition up to a release."""
    world.score(world.join(world.alice), predictions(wrong=range(10, 20)))
    return world.digits


def send(client: Client, competition: Competition, content: bytes = FIXED, **fields: str) -> Any:
    given = {"reason": REASON, "rescore": "best", "solution": upload(content, "solution.csv")}
    return client.post(at("revision", competition), given | fields)


def mark_of(page: str) -> str:
    """Return the hidden field that stands for the previewed file."""
    return page.split('name="checked" value="')[1].split('"', maxsplit=1)[0]


def test_the_solution_s_page_leads_there_once_something_was_released(
    played: Competition, organizer: Client
) -> None:
    assert at("revision", played) in text(organizer.get(at("solution", played)))


def test_before_a_release_there_is_nothing_to_revise(world: World, organizer: Client) -> None:
    shown = text(organizer.get(at("revision", world.digits)))
    assert "simply replace it" in shown
    assert "Check the file" not in shown


def test_the_page_says_what_each_choice_costs(played: Competition, organizer: Client) -> None:
    shown = text(organizer.get(at("revision", played)))
    assert "What scoring again costs" in shown
    assert "All released submissions" in shown


def test_a_file_is_previewed_before_anything_changes(
    played: Competition, organizer: Client
) -> None:
    shown = text(send(organizer, played, solution(public=10)))
    assert '<th scope="row">Public</th><td class="number">8</td><td class="number">10</td>' in shown
    assert "Make it active" in shown
    assert Holdout.objects.count() == 1


def test_the_same_file_once_more_makes_it_active(played: Competition, organizer: Client) -> None:
    checked = mark_of(text(send(organizer, played)))
    assert send(organizer, played, checked=checked).status_code == 302
    holdout = Holdout.objects.get(version=2)
    assert (holdout.reason, holdout.rescored) == (REASON, 1)
    assert holdout.uploaded_by is not None
    assert Submission.objects.get().status == Status.QUEUED


def test_another_file_than_the_previewed_one_is_previewed_first(
    played: Competition, organizer: Client
) -> None:
    checked = mark_of(text(send(organizer, played)))
    shown = text(send(organizer, played, solution(public=10), checked=checked))
    assert "Make it active" in shown
    assert Holdout.objects.count() == 1


def test_the_page_tells_no_hash_of_the_labels(played: Competition, organizer: Client) -> None:
    shown = text(send(organizer, played))
    assert hashlib.sha256(FIXED).hexdigest() not in shown


@pytest.mark.parametrize(
    ("content", "fields", "says"),
    [
        (FIXED.replace(b"r5,", b"r4,"), {}, "Nothing was changed."),
        (FIXED, {"reason": " "}, "This field is required."),
        (FIXED, {"rescore": "some"}, "Select a valid choice."),
    ],
)
def test_what_is_wrong_is_shown_and_changes_nothing(
    played: Competition, organizer: Client, content: bytes, fields: dict[str, str], says: str
) -> None:
    assert says in text(send(organizer, played, content, **fields))
    assert Holdout.objects.count() == 1


def test_after_the_finals_began_it_is_refused(played: Competition, organizer: Client) -> None:
    checked = mark_of(text(send(organizer, played)))
    set_round(played, finals_started_at=timezone.now())
    send(organizer, played, checked=checked)
    assert Holdout.objects.count() == 1
    assert "Check the file" not in text(organizer.get(at("revision", played)))


def test_another_organizer_finds_no_such_page(
    played: Competition, rival: User, sign_in: SignIn
) -> None:
    assert send(sign_in(rival), played).status_code == 404
    assert Holdout.objects.count() == 1


def test_the_admin_says_why_a_competition_is_paused(played: Competition, organizer: Client) -> None:
    because = "2 rows that were Public in version 1 are Private in version 2."
    pause(ledger_of(played), Pause.MOVED_ROWS, because)
    assert "2 rows that were Public" in text(organizer.get(at("solution", played)))
