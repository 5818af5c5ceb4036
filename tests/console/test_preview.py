"""A draft previewed as a participant: the real pages, and nothing of it stays."""

import pytest
from django.test import Client

from leaderboard.models import BoardState, Competition, Event, Team, User
from tests.cast import World
from tests.console.pages import at, text
from tests.leaderboard import dropped


@pytest.fixture
def draft(world: World) -> Competition:
    from leaderboard.organize.quick import create_from_files

    files = dropped.files(dropped.binary())
    return create_from_files(by=world.organizer, files=files, title="Churn")


@pytest.mark.parametrize("name", ["competition", "data", "rules", "leaderboard", "submit"])
def test_pages_are_those_of_a_participant(organizer: Client, draft: Competition, name: str) -> None:
    page = text(organizer.get(at("participant", draft, name)))
    assert "This is what a participant will see" in page
    assert f"/organize/{draft.slug}/preview/data/" in page
    assert f'href="/c/{draft.slug}/data/"' not in page


def test_a_participant_could_upload_there(organizer: Client, draft: Competition) -> None:
    page = text(organizer.get(at("participant", draft, "submit")))
    assert "Upload file" in page
    assert "left today" in page


def test_nothing_of_a_preview_stays(organizer: Client, draft: Competition) -> None:
    before = Event.objects.count(), User.objects.count()
    organizer.get(at("participant", draft, "leaderboard"))
    draft.refresh_from_db()
    assert draft.opened_by_organizer_at is None
    assert not Team.objects.filter(competition=draft).exists()
    assert not BoardState.objects.filter(board__round__competition=draft).exists()
    assert (Event.objects.count(), User.objects.count()) == before


def test_nothing_can_be_sent_from_a_preview(organizer: Client, draft: Competition) -> None:
    response = organizer.post(at("participant", draft, "submit"), follow=True)
    assert "nothing can be sent from it" in text(response)


def test_a_draft_that_is_not_ready_says_so(organizer: Client, draft: Competition) -> None:
    Competition.objects.filter(pk=draft.pk).update(rules="")
    response = organizer.get(at("participant", draft, "rules"), follow=True)
    assert "once the draft could open" in text(response)
