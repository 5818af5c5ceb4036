"""The two roles of the admin, its lists, and signing in; who gets what from every address is in
`tests/test_permissions.py`."""

import pytest
from django.test import Client

from leaderboard.models import Submission, User
from tests.cast import World, make_competition, make_user, said
from tests.console.conftest import SignIn
from tests.console.pages import at, text


@pytest.fixture
def stage(world: World) -> World:
    """Set a competition with a team, a submission and a release."""
    world.score(world.join(world.alice))
    return world


def _keys(world: World) -> dict[str, int]:
    """Return the key of an object of each model, all of `world.digits`."""
    submission = Submission.objects.get()
    return {
        "competition": world.digits.pk,
        "team": submission.team_id,
        "submission": submission.pk,
        "release": said(submission).pk,
    }


@pytest.mark.parametrize("model", ["team", "submission", "release"])
def test_lists_and_objects_are_shown_to_their_organizer(
    model: str, stage: World, organizer: Client
) -> None:
    key = _keys(stage)[model]
    assert "Digits" in text(organizer.get(f"/admin/leaderboard/{model}/"))
    assert organizer.get(f"/admin/leaderboard/{model}/{key}/change/").status_code == 200
    assert organizer.get(f"/admin/leaderboard/{model}/{key}/history/").status_code == 200


def test_django_permissions_open_nothing(stage: World, sign_in: SignIn) -> None:
    """Only the two roles count, whatever permissions an account was given."""
    from django.contrib.auth.models import Permission

    stage.organizer.user_permissions.set(Permission.objects.all())
    stage.bob.is_staff = True
    stage.bob.save()
    stage.bob.user_permissions.set(Permission.objects.all())
    assert sign_in(stage.organizer).get("/admin/leaderboard/user/").status_code == 403
    assert sign_in(stage.bob).get("/admin/", follow=True).status_code == 403


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


# --- Lists ----------------------------------------------------------------------------------------


def test_filters_name_only_one_s_own_competitions(
    stage: World, rival: User, sign_in: SignIn
) -> None:
    make_competition("mine", rival)
    page = text(sign_in(rival).get("/admin/leaderboard/team/?competition=digits"))
    assert "Digits" not in page
    assert "team alice" not in page


@pytest.mark.parametrize(
    "lookup",
    ["user__password__startswith", "team__competition__title", "file__contains", "sha256"],
)
def test_lists_can_not_be_searched_by_what_is_not_shown(
    lookup: str, stage: World, organizer: Client
) -> None:
    response = organizer.get(f"/admin/leaderboard/submission/?{lookup}=a")
    assert response.status_code == 400


def test_choices_of_accounts_are_not_served(stage: World, organizer: Client) -> None:
    query = {"app_label": "leaderboard", "model_name": "team", "field_name": "captain", "term": "a"}
    assert organizer.get("/admin/autocomplete/", query).status_code in {403, 404}


# --- Signing in -----------------------------------------------------------------------------------


def test_the_site_s_own_sign_in_is_used(client: Client) -> None:
    response = client.get("/admin/", follow=True)
    assert response.redirect_chain[-1][0].startswith("/account/login/?next=/organize/")


def test_who_lacks_the_role_is_told_how_to_get_it(world: World, sign_in: SignIn) -> None:
    response = sign_in(world.alice).get("/admin/", follow=True)
    assert response.status_code == 403
    assert "An operator of this site can grant it" in text(response)


def test_signing_in_leads_to_this_site_only(world: World, sign_in: SignIn) -> None:
    response = sign_in(world.organizer).get("/admin/login/?next=https://example.com/")
    assert response["Location"] == "/admin/"


def test_an_operator_grants_the_role(world: World, sign_in: SignIn) -> None:
    operator = make_user("operator", is_superuser=True)
    form = {
        "username": "bob",
        "email": "bob@example.org",
        "is_active": "on",
        "is_organizer": "on",
    }
    sign_in(operator).post(f"/admin/leaderboard/user/{world.bob.pk}/change/", form)
    world.bob.refresh_from_db()
    assert (world.bob.is_organizer, world.bob.is_superuser) == (True, False)
    assert sign_in(world.bob).get("/admin/", follow=True).status_code == 200
