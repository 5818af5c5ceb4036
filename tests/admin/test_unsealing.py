"""The organizer's word to open solution and secret."""

import pytest
from django.test import Client
from django.utils import timezone

from leaderboard.models import Competition, Holdout, User
from leaderboard.tasks import open_holdout
from tests.admin.conftest import SignIn
from tests.admin.pages import at
from tests.cast import World


@pytest.fixture
def ended(world: World) -> Competition:
    now = timezone.now()
    Competition.objects.update(
        closes_at=now, finals_started_at=now, finals_scored_at=now, revealed_at=now
    )
    world.digits.refresh_from_db()
    return world.digits


def was_said() -> bool:
    return Competition.objects.get().unsealed_at is not None


def test_the_page_says_what_becomes_public(ended: Competition, organizer: Client) -> None:
    content = organizer.get(at("unsealing", ended)).content.decode()
    assert "The true labels of all rows" in content
    assert "can’t be undone" in content


def test_before_the_end_there_is_no_button(world: World, organizer: Client) -> None:
    content = organizer.get(at("unsealing", world.digits)).content.decode()
    assert "Reveal the final scores first" in content
    assert "Publish the labels" not in content
    organizer.post(at("unsealing", world.digits), {"slug": "digits"})
    assert not was_said()


def test_the_short_name_confirms_it(ended: Competition, organizer: Client) -> None:
    refused = organizer.post(at("unsealing", ended), {"slug": "digit"})
    assert "Type “digits” to confirm." in refused.content.decode()
    assert not was_said()
    organizer.post(at("unsealing", ended), {"slug": "digits"})
    assert was_said()
    assert "Workers are measuring" in organizer.get(at("unsealing", ended)).content.decode()


def test_afterwards_the_page_has_the_files(ended: Competition, organizer: Client) -> None:
    organizer.post(at("unsealing", ended), {"slug": "digits"})
    open_holdout(holdout_id=Holdout.objects.get().pk)
    content = organizer.get(at("unsealing", ended)).content.decode()
    assert "/c/digits/openings/1.zip" in content
    assert "Publish the labels" not in content


def test_another_organizer_finds_no_such_page(
    ended: Competition, rival: User, sign_in: SignIn
) -> None:
    client = sign_in(rival)
    assert client.get(at("unsealing", ended)).status_code == 404
    assert client.post(at("unsealing", ended), {"slug": "digits"}).status_code == 404
    assert not was_said()


def test_looking_changes_nothing(ended: Competition, organizer: Client) -> None:
    organizer.get(at("unsealing", ended), {"slug": "digits"})
    assert not was_said()
