"""Drafts, invitations and sessions; `tests/test_permissions.py` has who gets what everywhere."""

from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from leaderboard.models import Competition, Visibility
from tests.api.conftest import API, As, file
from tests.cast import World, set_board, set_round

OPERATIONS: dict[str, tuple[str, str, Any]] = {
    "see": ("get", "", None),
    "files": ("get", "files/", None),
    "download": ("get", "files/train.csv/", None),
    "board": ("get", "leaderboard/", None),
    "board as csv": ("get", "leaderboard/?format=csv", None),
    "ledger": ("get", "ledger/", None),
    "ledger as a file": ("get", "ledger/?format=jsonl", None),
    "publications": ("get", "publications/", None),
    "a publication": ("get", "publications/1/", None),
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


def _ask(client: APIClient, operation: str) -> Any:
    method, path, body = OPERATIONS[operation]
    url = f"{API}competitions/digits/{path}"
    if body == "file":
        return client.post(url, {"file": file()}, format="multipart")
    return getattr(client, method)(url, body, **({"format": "json"} if body else {}))


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_draft_has_no_board_yet_even_for_its_organizer(
    operation: str, world: World, as_: As
) -> None:
    Competition.objects.update(opened_by_organizer_at=None)
    set_round(world.digits, schema={})
    set_board(world.digits, metric="", mechanism="")
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
    set_round(world.digits, closes_at=timezone.now())
    assert anonymous.get(f"{API}competitions/digits/leaderboard/").status_code == 200
