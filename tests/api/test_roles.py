"""Who may do what: every operation, every role, every visibility."""

from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from leaderboard.models import Competition, Visibility
from tests.api.conftest import API, As, file
from tests.cast import World, make_user

ROLES = ("anonymous", "stranger", "invited", "member", "organizer", "operator")
OPERATIONS: dict[str, tuple[str, str, Any]] = {
    "see": ("get", "", None),
    "files": ("get", "files/", None),
    "download": ("get", "files/train.csv/", None),
    "board": ("get", "leaderboard/", None),
    "board as csv": ("get", "leaderboard/?format=csv", None),
    "ledger": ("get", "ledger/", None),
    "ledger as a file": ("get", "ledger/?format=jsonl", None),
    "openings": ("get", "openings/", None),
    "an opening": ("get", "openings/1/", None),
    "teams": ("get", "teams/", None),
    "join": ("post", "join/", {"accept_rules": True}),
    "team": ("get", "team/", None),
    "rename": ("patch", "team/", {"name": "Renamed"}),
    "submissions": ("get", "submissions/", None),
    "submit": ("post", "submissions/", "file"),
    "submission": ("get", "submissions/1/", None),
    "finals": ("get", "finals/", None),
    "choose finals": ("put", "finals/", {"numbers": []}),
    "final board": ("get", "final/", None),
}

# One status for each role, in the order of ROLES.
PUBLIC = {
    "see": (200, 200, 200, 200, 200, 200),
    "files": (200, 200, 200, 200, 200, 200),
    "download": (401, 403, 403, 200, 200, 200),
    "board": (200, 200, 200, 200, 200, 200),
    "board as csv": (200, 200, 200, 200, 200, 200),
    "ledger": (200, 200, 200, 200, 200, 200),
    "ledger as a file": (200, 200, 200, 200, 200, 200),
    "openings": (200, 200, 200, 200, 200, 200),
    "an opening": (404, 404, 404, 404, 404, 404),
    "teams": (200, 200, 200, 200, 200, 200),
    "join": (401, 201, 201, 409, 201, 201),
    "team": (401, 403, 403, 200, 403, 403),
    "rename": (401, 403, 403, 200, 403, 403),
    "submissions": (401, 403, 403, 200, 403, 403),
    "submit": (401, 403, 403, 201, 403, 403),
    "submission": (401, 404, 404, 200, 404, 404),
    "finals": (401, 403, 403, 200, 403, 403),
    "choose finals": (401, 403, 403, 200, 403, 403),
    "final board": (404, 404, 404, 404, 404, 404),
}
# What is not open to a person is not there; signing in is asked for first where it is needed.
NEEDS_ACCOUNT = (
    *("join", "team", "rename", "submissions", "submit", "submission"),
    *("finals", "choose finals"),
)


def _client(role: str, world: World, as_: As) -> APIClient:
    people = {"member": world.alice, "organizer": world.organizer}
    if role == "anonymous":
        return APIClient()
    if role == "operator":
        return as_(make_user("operator", is_superuser=True))
    person = people.get(role) or make_user(role)
    if role == "invited":
        world.digits.invited.add(person)
    return as_(person)


def _ask(client: APIClient, operation: str) -> Any:
    method, path, body = OPERATIONS[operation]
    url = f"{API}competitions/digits/{path}"
    if body == "file":
        return client.post(url, {"file": file()}, format="multipart")
    return getattr(client, method)(url, body, **({"format": "json"} if body else {}))


def _stage(world: World, visibility: Visibility) -> None:
    world.submit(world.join(world.alice))
    Competition.objects.update(visibility=visibility)


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("operation", OPERATIONS)
def test_public_competition(operation: str, role: str, world: World, as_: As) -> None:
    _stage(world, Visibility.PUBLIC)
    expected = PUBLIC[operation][ROLES.index(role)]
    assert _ask(_client(role, world, as_), operation).status_code == expected


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("operation", OPERATIONS)
def test_competition_for_invited_people(operation: str, role: str, world: World, as_: As) -> None:
    _stage(world, Visibility.INVITED)
    expected = PUBLIC[operation][ROLES.index(role)]
    if role == "stranger" or (role == "anonymous" and operation not in NEEDS_ACCOUNT):
        expected = 404
    assert _ask(_client(role, world, as_), operation).status_code == expected


@pytest.mark.parametrize("role", ["anonymous", "stranger", "invited", "member"])
@pytest.mark.parametrize("operation", OPERATIONS)
def test_hidden_competition_does_not_exist(
    operation: str, role: str, world: World, as_: As
) -> None:
    _stage(world, Visibility.HIDDEN)
    needs_account = role == "anonymous" and operation in NEEDS_ACCOUNT
    status = _ask(_client(role, world, as_), operation).status_code
    assert status == (401 if needs_account else 404)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_hidden_and_missing_have_the_same_answer(operation: str, world: World, as_: As) -> None:
    Competition.objects.update(visibility=Visibility.HIDDEN)
    client = as_(world.bob)
    hidden = _ask(client, operation)
    Competition.objects.update(slug="elsewhere")
    missing = _ask(client, operation)
    assert hidden.content == missing.content
    assert hidden.status_code == missing.status_code == 404


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_draft_has_no_board_yet_even_for_its_organizer(
    operation: str, world: World, as_: As
) -> None:
    Competition.objects.update(opened_by_organizer_at=None, metric="", mechanism="", schema={})
    status = _ask(as_(world.organizer), operation).status_code
    assert status == (200 if operation in ("see", "files", "download") else 403)


def test_a_draft_does_not_exist_for_others(world: World, anonymous: APIClient) -> None:
    Competition.objects.update(opened_by_organizer_at=None)
    assert anonymous.get(f"{API}competitions/digits/").status_code == 404


def test_the_list_shows_what_exists_for_the_person(world: World, as_: As) -> None:
    Competition.objects.update(visibility=Visibility.INVITED)
    assert as_(world.bob).get(f"{API}competitions/").json()["count"] == 0
    world.digits.invited.add(world.bob)
    assert as_(world.bob).get(f"{API}competitions/").json()["count"] == 1


def test_another_team_s_submission_does_not_exist(world: World, as_: As) -> None:
    world.submit(world.join(world.alice))
    world.join(world.bob)
    response = as_(world.bob).get(f"{API}competitions/digits/submissions/1/")
    assert response.status_code == 404


def test_a_session_is_accepted_with_its_csrf_token(world: World) -> None:
    client = APIClient(enforce_csrf_checks=True)
    client.force_login(world.alice)
    client.get("/")
    url = f"{API}competitions/digits/join/"
    body = {"accept_rules": True}
    assert client.post(url, body, format="json").status_code == 403
    client.cookies["csrftoken"] = token = "a" * 32
    joined = client.post(url, body, format="json", HTTP_X_CSRFTOKEN=token)
    assert joined.status_code == 201


def test_a_closed_competition_can_still_be_read(world: World, anonymous: APIClient) -> None:
    Competition.objects.update(closes_at=timezone.now())
    assert anonymous.get(f"{API}competitions/digits/leaderboard/").status_code == 200
