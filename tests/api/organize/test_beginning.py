"""A draft from files, and trials in a draft, through the API."""

from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile, TemporaryUploadedFile
from rest_framework.test import APIClient

from leaderboard import organize, tasks
from leaderboard.api.organize import beginning
from leaderboard.models import Competition, Role, Scope, Trial
from leaderboard.organize import quick
from leaderboard.organize.people import add_organizer
from tests.api.organize.conftest import ALL, DIGITS, errors, file
from tests.api.test_scopes import token_client
from tests.cast import World, make_user, predictions
from tests.leaderboard import dropped

FROM_FILES = f"{ALL}from-files/"


def _form(texts: dropped.Texts, **fields: Any) -> dict[str, Any]:
    files = {role: SimpleUploadedFile(f"{role}.csv", text.encode()) for role, text in texts.items()}
    return {"title": "Churn", **files, **fields}


@pytest.fixture
def trials(world: World) -> str:
    """Take `digits` back into a draft; return the address of its trials."""
    organize.return_to_draft(world.digits)
    return f"{DIGITS}trials/"


# --- From files -----------------------------------------------------------------------------------


def test_files_make_a_draft_that_could_open_and_say_why(organizer: APIClient) -> None:
    made = organizer.post(FROM_FILES, _form(dropped.binary(), slug="churn", teams=20))
    assert made.status_code == 201, made.content
    facts = made.json()
    assert (facts["slug"], facts["phase"], facts["team_limit"]) == ("churn", "draft", 22)
    assert facts["setup"]["reasons"]["metric"]
    assert facts["setup"]["split"]["by"] == "row"
    assert facts["setup"]["split"]["reason"]
    assert facts["setup"]["sample_made"]
    assert all(each["reason"] for each in facts["scoring"]["proposals"])
    assert organizer.get(f"{ALL}churn/checklist/").json()["is_ready"]


def test_what_is_given_takes_the_place_of_what_is_proposed(organizer: APIClient) -> None:
    form = _form(dropped.minutes(), metric="rmse", rules="Play fair.")
    facts = organizer.post(FROM_FILES, form).json()
    assert (facts["scoring"]["metric"], facts["rules"]) == ("rmse", "Play fair.")
    assert facts["setup"]["reasons"]["metric"] == "You chose it."


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"solution": ""}, "solution"),
        ({"solution": SimpleUploadedFile("s.csv", b"a,b\n1,2\n")}, "solution"),
        ({"metric": "nothing"}, "metric"),
        ({"title": ""}, "title"),
        ({"slug": "digits"}, "slug"),
        ({"slug": "from-files"}, "slug"),
        ({"teams": 0}, "teams"),
        ({"closes_at": "2001-01-01T00:00:00Z"}, "closes_at"),
        ({"more": "x"}, "more"),
    ],
)
def test_what_is_wrong_is_named_and_nothing_is_made(
    change: dict[str, Any], field: str, organizer: APIClient
) -> None:
    response = organizer.post(FROM_FILES, _form(dropped.binary(40)) | change)
    assert response.status_code == 422
    assert field in errors(response)
    assert Competition.objects.count() == 1


def test_the_solution_as_public_data_is_refused(organizer: APIClient) -> None:
    texts = dropped.binary(40)
    response = organizer.post(FROM_FILES, _form(texts | {"test": texts["solution"]}))
    assert response.status_code == 422
    assert "test" in errors(response)


def test_all_files_stay_in_memory_whatever_their_size(
    organizer: APIClient, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    settings.FILE_UPLOAD_MAX_MEMORY_SIZE = 10
    seen: dict[str, Any] = {}
    create = quick.create_from_files

    def watch(**given: Any) -> Competition:
        seen.update(given["files"])
        return create(**given)

    monkeypatch.setattr(beginning, "create_from_files", watch)
    assert organizer.post(FROM_FILES, _form(dropped.binary(40))).status_code == 201
    assert set(seen) == {"train", "test", "solution"}
    assert not any(isinstance(each, TemporaryUploadedFile) for each in seen.values())


# --- Trials ---------------------------------------------------------------------------------------


def test_a_file_is_tried_and_forgotten(organizer: APIClient, trials: str) -> None:
    sent = organizer.post(trials, file("mine.csv", predictions([1])))
    assert sent.status_code == 201, sent.content
    assert (sent.json()["title"], sent.json()["is_final"]) == ("mine.csv", False)
    tasks.score_trial(trial_id=sent.json()["id"])
    found = organizer.get(sent.headers["Location"]).json()
    (answer,) = found["answers"]
    assert found["is_final"]
    assert answer["kind"] == "improved"
    assert answer["summary"]
    assert float(answer["score_text"]) > 0
    assert [each["id"] for each in organizer.get(trials).json()["results"]] == [found["id"]]
    assert organizer.delete(f"{trials}{found['id']}/").status_code == 204
    assert not Trial.objects.exists()


def test_a_wrong_file_is_told_what_participants_are_told(organizer: APIClient, trials: str) -> None:
    sent = organizer.post(trials, file("mine.csv", b"id,label\nr0,9\n", title="Nines")).json()
    tasks.score_trial(trial_id=sent["id"])
    found = organizer.get(f"{trials}{sent['id']}/").json()
    assert (found["title"], found["status"]) == ("Nines", "rejected")
    assert found["problems"][0]["message"]


@pytest.mark.parametrize("role", [Role.JUDGE, Role.VIEWER])
def test_judge_and_viewer_see_no_trial_and_not_whether_there_is_one(
    role: str, world: World, organizer: APIClient, trials: str
) -> None:
    pk = organizer.post(trials, file("mine.csv", predictions([1]))).json()["id"]
    rita = make_user("rita", is_organizer=True)
    add_organizer(world.digits, rita, role, world.organizer)
    asked = token_client(rita, Scope.ORGANIZE)
    for path in ("", f"{pk}/", f"{pk + 1}/"):
        assert asked.get(f"{trials}{path}").status_code == 403
    assert asked.delete(f"{trials}{pk}/").status_code == 403


def test_trials_of_another_competition_are_not_there(
    world: World, organizer: APIClient, trials: str
) -> None:
    pk = organizer.post(trials, file("mine.csv", predictions([1]))).json()["id"]
    organizer.post(ALL, {"title": "Other"}, format="json")
    assert organizer.get(f"{ALL}other/trials/{pk}/").status_code == 404
    assert organizer.delete(f"{ALL}other/trials/{pk}/").status_code == 404


def test_an_open_competition_takes_and_shows_no_trials(world: World, organizer: APIClient) -> None:
    refused = organizer.post(f"{DIGITS}trials/", file("mine.csv", predictions([1])))
    assert (refused.status_code, refused.json()["code"]) == (409, "not_a_draft")
    assert organizer.get(f"{DIGITS}trials/").json()["count"] == 0


@pytest.mark.parametrize(
    ("content", "fields", "code"),
    [
        (b"", {}, "file_empty"),
        (b"id\n", {"claimed_score": "nan"}, "invalid"),
        (b"id\n", {"title": "x" * 61}, "invalid"),
        (b"id\n", {"message": "x"}, "invalid"),
    ],
)
def test_what_can_t_be_tried_is_refused(
    content: bytes, fields: dict[str, str], code: str, organizer: APIClient, trials: str
) -> None:
    response = organizer.post(trials, file("mine.csv", content, **fields))
    assert response.json()["code"] == code
    assert not Trial.objects.exists()
