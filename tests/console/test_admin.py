"""Django's admin: for operators, who read there what the console or the pipeline writes."""

import pytest
from django.test import Client

from leaderboard.models import Release, Submission
from tests.cast import World, make_user, said
from tests.console.conftest import SignIn
from tests.console.pages import text

READ_ONLY = ("competition", "team", "submission", "release", "event")


@pytest.fixture
def operator(world: World, sign_in: SignIn) -> Client:
    """Sign in an operator of the site, where a team has a score."""
    world.score(world.join(world.alice))
    return sign_in(make_user("operator", is_superuser=True))


def _keys(world: World) -> dict[str, int]:
    submission = Submission.objects.get()
    return {
        "competition": world.digits.pk,
        "team": submission.team_id,
        "submission": submission.pk,
        "release": said(submission).pk,
        "event": 1,
    }


@pytest.mark.parametrize("model", READ_ONLY)
def test_rows_that_others_write_are_read_and_not_changed(
    model: str, world: World, operator: Client
) -> None:
    key, pages = _keys(world)[model], f"/admin/leaderboard/{model}/"
    assert operator.get(pages).status_code == 200
    assert operator.get(f"{pages}{key}/change/").status_code == 200
    assert operator.get(f"{pages}add/").status_code == 403
    for page in ("change", "delete"):
        form = {"status": "queued", "level": "0", "post": "yes"}
        assert operator.post(f"{pages}{key}/{page}/", form).status_code == 403
    assert Release.objects.get().kind == "improved"


@pytest.mark.parametrize("model", [*READ_ONLY, "user"])
def test_organizers_have_no_business_there(model: str, world: World, organizer: Client) -> None:
    assert organizer.get(f"/admin/leaderboard/{model}/").status_code == 403


def test_django_permissions_open_nothing(world: World, sign_in: SignIn) -> None:
    """Only being an operator counts, whatever permissions an account was given."""
    from django.contrib.auth.models import Permission

    for person in (world.organizer, world.bob):
        person.user_permissions.set(Permission.objects.all())
        person.is_staff = True
        person.save()
        assert sign_in(person).get("/admin/").status_code == 403
        assert sign_in(person).get("/admin/leaderboard/user/").status_code == 403


def test_the_site_s_own_sign_in_is_used(client: Client, db: None) -> None:
    response = client.get("/admin/", follow=True)
    assert response.redirect_chain[-1][0].startswith("/account/login/?next=/admin/")


def test_signing_in_leads_to_this_site_only(operator: Client) -> None:
    response = operator.get("/admin/login/?next=https://example.com/")
    assert response["Location"] == "/admin/"


def test_an_operator_grants_the_organizer_s_role(
    world: World, operator: Client, sign_in: SignIn
) -> None:
    form = {
        "username": "bob",
        "email": "bob@example.org",
        "is_active": "on",
        "is_organizer": "on",
    }
    operator.post(f"/admin/leaderboard/user/{world.bob.pk}/change/", form)
    world.bob.refresh_from_db()
    assert (world.bob.is_organizer, world.bob.is_superuser) == (True, False)
    assert "no competition yet" in text(sign_in(world.bob).get("/organize/"))


def test_passwords_are_changed_on_the_account_s_page(operator: Client) -> None:
    assert operator.get("/admin/password_change/")["Location"] == "/account/password/change/"
