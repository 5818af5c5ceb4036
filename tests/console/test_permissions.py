"""Who sees the console; who gets what from every address is in `tests/test_permissions.py`."""

import pytest
from django.test import Client

from leaderboard.models import User
from tests.cast import World, make_competition
from tests.console.conftest import SignIn
from tests.console.pages import at, text


@pytest.fixture
def stage(world: World) -> World:
    """Set a competition with a team, a submission and a release."""
    world.score(world.join(world.alice))
    return world


def test_who_lost_the_role_loses_the_pages(stage: World, sign_in: SignIn) -> None:
    stage.organizer.is_organizer = False
    stage.organizer.save()
    assert sign_in(stage.organizer).get(at("settings", stage.digits)).status_code == 403


def test_a_file_of_another_competition_is_not_removed_through_one_s_own(
    stage: World, rival: User, sign_in: SignIn
) -> None:
    own = make_competition("mine", rival)
    other = stage.round.files.get(name="train.csv")
    response = sign_in(rival).post(at("file-remove", own, other.pk))
    assert response.status_code == 404
    assert stage.round.files.filter(pk=other.pk).exists()


def test_a_co_organizer_sees_the_competition(stage: World, rival: User, sign_in: SignIn) -> None:
    stage.digits.organizers.add(rival)
    assert sign_in(rival).get(at("settings", stage.digits)).status_code == 200


def test_signing_in_leads_back_to_the_console(client: Client, db: None) -> None:
    response = client.get("/organize/", follow=True)
    assert response.redirect_chain[-1][0].startswith("/account/login/?next=/organize/")


def test_who_lacks_the_role_is_told_how_to_get_it(world: World, sign_in: SignIn) -> None:
    response = sign_in(world.alice).get("/organize/")
    assert response.status_code == 403
    assert "An operator of this site can grant it" in text(response)
