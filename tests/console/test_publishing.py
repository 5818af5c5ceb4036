"""The organizer's word to publish solution and secret."""

import pytest
from django.test import Client
from django.utils import timezone

from leaderboard.models import Competition, Holdout, Round, User
from leaderboard.tasks import publish_holdout
from tests.cast import World, set_round
from tests.console.conftest import SignIn
from tests.console.pages import at


@pytest.fixture
def ended(world: World) -> Competition:
    now = timezone.now()
    set_round(
        world.digits, closes_at=now, finals_started_at=now, finals_scored_at=now, revealed_at=now
    )
    return world.digits


def is_ordered() -> bool:
    return Round.objects.get().publication_at is not None


def test_the_page_says_what_becomes_public(ended: Competition, organizer: Client) -> None:
    content = organizer.get(at("publication", ended)).content.decode()
    assert "The true labels of all rows" in content
    assert "can’t be undone" in content


def test_before_the_end_there_is_no_button(world: World, organizer: Client) -> None:
    content = organizer.get(at("publication", world.digits)).content.decode()
    assert "Reveal the final scores first" in content
    assert "Publish the labels" not in content
    organizer.post(at("publication", world.digits), {"slug": "digits"})
    assert not is_ordered()


def test_the_short_name_confirms_it(ended: Competition, organizer: Client) -> None:
    assert "It is “digits”." in organizer.get(at("publication", ended)).content.decode()
    refused = organizer.post(at("publication", ended), {"slug": "digit"})
    assert "Type “digits” to confirm." in refused.content.decode()
    assert not is_ordered()
    organizer.post(at("publication", ended), {"slug": "digits"})
    assert is_ordered()
    assert "Workers are measuring" in organizer.get(at("publication", ended)).content.decode()


def test_afterwards_the_page_has_the_files(ended: Competition, organizer: Client) -> None:
    organizer.post(at("publication", ended), {"slug": "digits"})
    publish_holdout(holdout_id=Holdout.objects.get().pk)
    content = organizer.get(at("publication", ended)).content.decode()
    assert "/c/digits/publications/1.zip" in content
    assert "Publish the labels" not in content


def test_another_organizer_finds_no_such_page(
    ended: Competition, rival: User, sign_in: SignIn
) -> None:
    client = sign_in(rival)
    assert client.get(at("publication", ended)).status_code == 404
    assert client.post(at("publication", ended), {"slug": "digits"}).status_code == 404
    assert not is_ordered()


def test_looking_changes_nothing(ended: Competition, organizer: Client) -> None:
    organizer.get(at("publication", ended), {"slug": "digits"})
    assert not is_ordered()
