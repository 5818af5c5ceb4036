"""Who gets what from every address of the admin, found by walking through the site's own list."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib import admin
from django.test import Client
from django.urls import URLPattern, URLResolver
from knox.models import AuthToken

from leaderboard import models
from leaderboard.models import Competition, Submission, User
from tests.admin.conftest import SignIn
from tests.admin.pages import at, settings_of, text
from tests.cast import World, make_competition, make_user, said

OPERATORS_MODELS = {"user", "authtoken", "group", "emailaddress"}


def _patterns(entries: list[Any], before: str = "") -> Iterator[str]:
    for entry in entries:
        here = before + str(entry.pattern).replace("^", "").replace("$", "")
        if isinstance(entry, URLResolver):
            yield from _patterns(entry.url_patterns, here)
        elif isinstance(entry, URLPattern):
            yield here


ALL = sorted(set(_patterns(admin.site.get_urls())))


@pytest.fixture
def stage(world: World) -> World:
    """A competition with a team, a submission and a release; accounts, tokens."""
    world.score(world.join(world.alice))
    AuthToken.objects.create(world.alice)
    return world


def _keys(world: World) -> dict[str, int]:
    """An object of each model, all of `world.digits`."""
    submission = Submission.objects.get()
    return {
        "competition": world.digits.pk,
        "team": submission.team_id,
        "submission": submission.pk,
        "release": said(submission).pk,
        "user": world.bob.pk,
    }


def _address(pattern: str, world: World) -> str:
    model = pattern.split("/")[1] if pattern.count("/") > 1 else ""
    key = str(_keys(world).get(model, 1))
    if model == "authtoken":
        key = str(AuthToken.objects.values_list("pk", flat=True).first())
    filled = pattern.replace("<int:file_id>", str(world.digits.files.earliest("pk").pk))
    filled = re.sub(r"<(path|int|id)?:?(object_id|id)>", key, filled)
    filled = re.sub(r"\(\?P<app_label>.*?\)", "leaderboard", filled)
    filled = re.sub(r"\(\?P<url>.*?\)", "nowhere", filled)
    return f"/admin/{filled}"


def _snapshot() -> dict[str, list[Any]]:
    """All that the database holds, but for when people signed in."""
    held: dict[str, list[Any]] = {}
    for name in models.__all__:
        model = getattr(models, name)
        if hasattr(model, "objects"):
            rows = list(model.objects.order_by("pk").values())
            held[name] = [{k: v for k, v in row.items() if k != "last_login"} for row in rows]
    through = Competition.organizers.through.objects.order_by("pk")
    held["organizers"] = list(through.values_list("competition_id", "user_id"))
    return held


def _model(pattern: str) -> str:
    return pattern.split("/")[1] if pattern.count("/") > 1 else ""


def _is_of_one_object(pattern: str) -> bool:
    return "object_id" in pattern or "<id>" in pattern


def test_the_walk_finds_the_pages() -> None:
    for page in ("schema/", "scoring/", "files/", "solution/", "opening/", "budget/"):
        assert f"leaderboard/competition/<int:object_id>/{page}" in ALL
    assert {_model(pattern) for pattern in ALL} >= OPERATORS_MODELS | {"team", "submission"}
    assert not any("holdout" in pattern or pattern.startswith("r/") for pattern in ALL)


@pytest.mark.parametrize("pattern", ALL)
def test_strangers_and_participants_see_nothing(
    pattern: str, stage: World, sign_in: SignIn
) -> None:
    for client in (Client(), sign_in(stage.alice)):
        for method in (client.get, client.post):
            before = _snapshot()
            response = method(_address(pattern, stage))
            assert response.status_code in {302, 403, 404, 405}, pattern
            assert "Digits" not in text(response)
            assert _snapshot() == before


@pytest.mark.parametrize("pattern", ALL)
def test_another_organizer_sees_nothing_of_it_and_changes_nothing(
    pattern: str, stage: World, rival: User, sign_in: SignIn
) -> None:
    client = sign_in(rival)
    for method in (client.get, client.post):
        before = _snapshot()
        response = method(_address(pattern, stage))
        if _is_of_one_object(pattern):
            assert response.status_code in {302, 403, 404, 405}, pattern
        if _model(pattern) in OPERATORS_MODELS:
            assert response.status_code in {302, 403, 404}, pattern
        page = text(response)
        assert not any(word in page for word in ("Digits", "team alice", "alice")), pattern
        assert _snapshot() == before


@pytest.mark.parametrize("pattern", ALL)
def test_looking_changes_nothing_for_those_who_may_look(
    pattern: str, stage: World, sign_in: SignIn
) -> None:
    operator = make_user("operator", is_superuser=True)
    for user in (stage.organizer, operator):
        before = _snapshot()
        response = sign_in(user).get(_address(pattern, stage))
        assert response.status_code in {200, 302, 403, 404, 405}, pattern
        assert _snapshot() == before


@pytest.mark.parametrize("model", ["competition", "team", "submission", "release"])
def test_lists_and_objects_are_shown_to_their_organizer(
    model: str, stage: World, organizer: Client
) -> None:
    key = _keys(stage)[model]
    assert "Digits" in text(organizer.get(f"/admin/leaderboard/{model}/"))
    assert organizer.get(f"/admin/leaderboard/{model}/{key}/change/").status_code == 200
    assert organizer.get(f"/admin/leaderboard/{model}/{key}/history/").status_code == 200


@pytest.mark.parametrize("model", sorted(OPERATORS_MODELS))
def test_people_and_tokens_are_for_operators(
    model: str, stage: World, organizer: Client, sign_in: SignIn
) -> None:
    (address,) = {f"/admin/{p}" for p in ALL if p.endswith(f"/{model}/") and p.count("/") == 2}
    assert organizer.get(address).status_code == 403
    operator = make_user("operator", is_superuser=True)
    assert sign_in(operator).get(address).status_code == 200


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
    assert sign_in(stage.organizer).get(at("change", stage.digits)).status_code == 302


@pytest.mark.parametrize(
    "page",
    ["schema", "scoring", "files", "solution", "opening", "open", "draft", "budget", "change"],
)
def test_another_organizer_posts_into_the_void(
    page: str, stage: World, rival: User, sign_in: SignIn
) -> None:
    before = _snapshot()
    response = sign_in(rival).post(at(page, stage.digits), settings_of(stage.digits, title="Mine"))
    assert response.status_code in {302, 404}
    assert _snapshot() == before


def test_a_file_of_another_competition_is_not_removed_through_one_s_own(
    stage: World, rival: User, sign_in: SignIn
) -> None:
    own = make_competition("mine", rival)
    other = stage.digits.files.get(name="train.csv")
    response = sign_in(rival).post(at("files_remove", own, other.pk))
    assert response.status_code == 404
    assert stage.digits.files.filter(pk=other.pk).exists()


def test_a_co_organizer_sees_the_competition(stage: World, rival: User, sign_in: SignIn) -> None:
    stage.digits.organizers.add(rival)
    assert sign_in(rival).get(at("change", stage.digits)).status_code == 200


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
    assert response.redirect_chain[-1][0].startswith("/account/login/?next=/admin/")


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


def test_accounts_are_switched_off_rather_than_deleted(world: World, sign_in: SignIn) -> None:
    operator = make_user("operator", is_superuser=True)
    address = f"/admin/leaderboard/user/{world.bob.pk}/delete/"
    assert sign_in(operator).post(address, {"post": "yes"}).status_code == 403
