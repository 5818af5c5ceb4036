"""From nothing to an open competition, through the API alone."""

import logging
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile, TemporaryUploadedFile
from rest_framework.test import APIClient

from leaderboard.models import Competition, Event, Holdout, Scope
from leaderboard.organize import solutions
from tests.api.conftest import API
from tests.api.organize.conftest import ALL, COLUMNS, SAMPLE, errors, file, secret
from tests.api.test_scopes import token_client
from tests.cast import World, make_user, solution


def test_a_draft_becomes_a_competition_that_everybody_sees(
    draft: str, organizer: APIClient, anonymous: APIClient
) -> None:
    public = f"{API}competitions/new-one/"
    assert anonymous.get(public).status_code == 404
    assert organizer.get(f"{draft}checklist/").json()["is_ready"]
    opened = organizer.post(f"{draft}open/")
    assert (opened.status_code, opened.json()["phase"]) == (200, "open")
    assert anonymous.get(public).json()["title"] == "New"


def test_a_new_draft_has_the_usual_settings_and_its_title_s_name(organizer: APIClient) -> None:
    made = organizer.post(ALL, {"title": "Cats & dogs"}, format="json")
    assert made.status_code == 201
    facts = made.json()
    assert (facts["slug"], facts["phase"], facts["role"]) == ("cats-dogs", "draft", "owner")
    assert (facts["daily_limit"], facts["closes_at"], facts["columns"]) == (20, None, None)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "title"),
        ({"title": "X", "slug": "new"}, "slug"),
        ({"title": "X", "slug": "digits"}, "slug"),
        ({"title": "X", "slug": "a b"}, "slug"),
        ({"title": "—"}, "slug"),
        ({"title": "X", "closes_at": "2001-01-01T00:00:00Z"}, "closes_at"),
        ({"title": "X", "daily_limit": 0}, "daily_limit"),
        ({"title": "X", "daily_limit": 10**30}, "daily_limit"),
        ({"title": "X", "question_limit": 10**12}, "question_limit"),
        ({"title": "X", "max_file_bytes": 10**15}, "max_file_bytes"),
        ({"title": "X", "visibility": "secret"}, "visibility"),
        ({"title": "X", "description": "x" * 50_000}, "description"),
        ({"title": "X", "opened_by_organizer_at": "2026-01-01"}, "opened_by_organizer_at"),
        ({"title": "X", "ask_again": True}, "ask_again"),
    ],
)
def test_wrong_settings_are_named_and_make_nothing(
    body: dict[str, Any], field: str, organizer: APIClient
) -> None:
    response = organizer.post(ALL, body, format="json")
    assert response.status_code == 422
    assert field in errors(response)
    assert Competition.objects.count() == 1


def test_settings_change_together_or_not_at_all(draft: str, organizer: APIClient) -> None:
    body = {"title": "Better", "daily_limit": 5, "team_size": 0}
    assert organizer.patch(draft, body, format="json").status_code == 422
    assert organizer.get(draft).json()["title"] == "New"
    del body["team_size"]
    facts = organizer.patch(draft, body, format="json").json()
    assert (facts["title"], facts["daily_limit"]) == ("Better", 5)


def test_what_is_fixed_is_listed_and_refused(draft: str, organizer: APIClient) -> None:
    organizer.post(f"{draft}open/")
    assert "slug" in organizer.get(draft).json()["fixed"]
    response = organizer.patch(draft, {"slug": "other"}, format="json")
    assert "participants rely on it" in errors(response)["slug"]


def test_long_texts_are_taken(draft: str, organizer: APIClient) -> None:
    texts = dict.fromkeys(("description", "rules", "data_description"), "ü" * 39_000)
    assert organizer.patch(draft, texts, format="json").status_code == 200


def test_the_competitions_that_one_runs_are_listed(draft: str, organizer: APIClient) -> None:
    slugs = [each["slug"] for each in organizer.get(ALL).json()["results"]]
    assert slugs == ["new-one", "digits"]
    found = organizer.get(ALL, {"search": "NEW"}).json()
    assert [each["slug"] for each in found["results"]] == ["new-one"]


def test_a_draft_is_deleted(draft: str, organizer: APIClient) -> None:
    assert organizer.delete(draft).status_code == 204
    assert organizer.get(draft).status_code == 404


def test_creating_needs_the_organizers_role(world: World) -> None:
    alice = token_client(world.alice, Scope.ORGANIZE)
    document = alice.post(ALL, {"title": "Mine"}, format="json").json()
    assert document["code"] == "not_allowed"
    assert "organizer's role" in document["detail"]


def test_another_organizer_s_competition_does_not_exist(draft: str) -> None:
    other = token_client(make_user("olga", is_organizer=True), Scope.ORGANIZE)
    assert other.get(draft).status_code == 404
    assert other.post(f"{draft}open/").status_code == 404


# --- Columns, files, scoring ----------------------------------------------------------------------


def test_columns_are_proposed_from_a_sample_and_nothing_is_kept(
    draft: str, organizer: APIClient
) -> None:
    form = {
        "sample": SimpleUploadedFile("s.csv", b"key,y\n1,0\n2,0\n"),
        "more": SimpleUploadedFile("t.csv", b"x,y\n1,cat\n2,dog\n"),
    }
    found = organizer.post(f"{draft}columns/proposal/", form).json()
    assert found["id_column"] == "key"
    assert found["columns"][0]["name"] == "y"
    assert {each["kind"] for each in found["columns"][0]["guesses"]} >= {"label"}
    assert organizer.get(f"{draft}columns/").json()["columns"] == COLUMNS


def test_a_sample_that_is_no_table_names_the_line(draft: str, organizer: APIClient) -> None:
    form = {"sample": SimpleUploadedFile("s.csv", b'id,y\n"1,2\n')}
    document = organizer.post(f"{draft}columns/proposal/", form).json()
    assert document["code"] == "wrong_file"
    assert document["errors"][0]["line"] == 2


@pytest.mark.parametrize(
    "columns",
    [
        [],
        [{"name": "y", "kind": "colour"}],
        [{"name": "y", "kind": "label"}],
        [{"name": "y", "kind": "label", "classes": [{}, []]}],
        [{"name": "y", "kind": "number", "surprise": 1}],
        [{"name": "y", "kind": "labels", "classes": ["a", "b"], "separator": ["x"]}],
        [{"name": "y", "kind": "ranking", "classes": ["a", "b"], "most": 10**9}],
        [{"name": "usage", "kind": "number"}],
        "y",
        [1],
    ],
)
def test_odd_columns_are_refused(columns: Any, draft: str, organizer: APIClient) -> None:
    body = {"id_column": "id", "columns": columns}
    response = organizer.put(f"{draft}columns/", body, format="json")
    assert response.status_code == 422
    assert organizer.get(f"{draft}columns/").json()["columns"] == COLUMNS


def test_other_columns_withdraw_the_solution_and_say_so(draft: str, organizer: APIClient) -> None:
    body = {"id_column": "id", "columns": [{"name": "label", "kind": "number"}]}
    facts = organizer.put(f"{draft}columns/", body, format="json").json()
    assert facts["solution_withdrawn"]
    assert organizer.get(draft).json()["solution"] is None


def test_files_are_listed_and_removed(draft: str, organizer: APIClient) -> None:
    rows = organizer.get(f"{draft}files/").json()["results"]
    assert [(each["name"], each["role"]) for each in rows] == [
        ("sample_submission.csv", "sample"),
        ("train.csv", "train"),
    ]
    assert organizer.delete(f"{draft}files/train.csv/").status_code == 204
    document = organizer.delete(f"{draft}files/sample_submission.csv/").json()
    assert "Withdraw" in document["detail"]


def test_the_solution_is_not_published_as_a_file(draft: str, organizer: APIClient) -> None:
    form = file("test.csv", solution(), role="test")
    document = organizer.post(f"{draft}files/", form).json()
    assert document["code"] == "looks_hidden"
    assert organizer.get(f"{draft}files/").json()["count"] == 2


def test_a_wrong_sample_says_what_is_wrong_where(draft: str, organizer: APIClient) -> None:
    organizer.delete(f"{draft}solution/")
    organizer.delete(f"{draft}files/sample_submission.csv/")
    form = file("sample_submission.csv", SAMPLE + b"r1,0\n", role="sample")
    document = organizer.post(f"{draft}files/", form).json()
    assert (document["code"], document["errors"][0]["line"]) == ("wrong_file", 42)


def test_scoring_shows_what_fits_and_what_is_proposed(draft: str, organizer: APIClient) -> None:
    facts = organizer.get(f"{draft}scoring/").json()
    assert facts["metric"] == "accuracy"
    assert "mae" not in {each["name"] for each in facts["metrics"]}
    proposed = {each["field"]: each for each in facts["proposals"]}
    assert proposed["mechanism"]["reason"]


def test_proposals_are_taken(draft: str, organizer: APIClient) -> None:
    assert organizer.post(f"{draft}scoring/proposal/").status_code == 200
    facts = organizer.get(f"{draft}scoring/").json()
    kinds = ("mechanism", "metric_parameters", "mechanism_parameters")
    of_board = [each for each in facts["proposals"] if each["field"].startswith(kinds)]
    assert of_board
    assert all(each["is_used"] for each in of_board)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"metric": "nonsense"}, "metric"),
        ({"metric": "mae"}, "metric"),
        ({"metric": "accuracy", "mechanism": "nonsense"}, "mechanism"),
        ({"metric": "accuracy", "metric_parameters": {"x": 1}}, "metric_parameters.x"),
        (
            {"metric": "accuracy", "mechanism_parameters": {"steps": "many"}},
            "mechanism_parameters.steps",
        ),
    ],
)
def test_wrong_scoring_names_the_parameter(
    body: dict[str, Any], field: str, draft: str, organizer: APIClient
) -> None:
    response = organizer.put(f"{draft}scoring/", body, format="json")
    assert response.status_code == 422
    assert field in errors(response)


def test_the_mechanism_s_parameters_stay_where_only_the_metric_is_written(
    draft: str, organizer: APIClient
) -> None:
    facts = organizer.put(f"{draft}scoring/", {"metric": "accuracy"}, format="json").json()
    assert (facts["mechanism"], facts["mechanism_parameters"]["steps"]) == ("ladder", "20")


# --- The solution ---------------------------------------------------------------------------------


def test_a_sealed_solution_shows_counts_and_commitments(draft: str, organizer: APIClient) -> None:
    facts = organizer.get(f"{draft}solution/").json()["solution"]
    assert (facts["public_rows"], facts["private_rows"], facts["version"]) == (8, 32, 1)
    assert "sealed_solution" not in facts


def test_a_solution_stays_in_memory_whatever_its_size(
    draft: str, organizer: APIClient, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    settings.FILE_UPLOAD_MAX_MEMORY_SIZE = 10
    seen = []
    check = solutions.check_solution

    def watch(round: Any, content: Any) -> Any:
        seen.append(content)
        return check(round, content)

    monkeypatch.setattr(solutions, "check_solution", watch)
    assert organizer.put(f"{draft}solution/", secret(), format="multipart").status_code == 200
    assert not isinstance(seen[0], TemporaryUploadedFile)
    organizer.post(f"{draft}columns/proposal/", {"sample": SimpleUploadedFile("s", SAMPLE)})


@pytest.mark.parametrize("content", [b"", b"id,label,Usage\nr0,7,Public\n", SAMPLE, b"\x00\xff"])
def test_a_wrong_solution_is_explained_and_nothing_is_kept(
    content: bytes, draft: str, organizer: APIClient, caplog: pytest.LogCaptureFixture
) -> None:
    before = Holdout.objects.count()
    with caplog.at_level(logging.DEBUG):
        response = organizer.put(f"{draft}solution/", secret(content), format="multipart")
    assert response.status_code == 422
    assert response.json()["errors"]
    assert Holdout.objects.count() == before


def test_a_withdrawn_solution_is_gone(draft: str, organizer: APIClient) -> None:
    assert organizer.delete(f"{draft}solution/").status_code == 204
    checks = organizer.get(f"{draft}checklist/").json()
    assert not checks["is_ready"]
    assert not {each["name"]: each["passed"] for each in checks["checks"]}["solution"]


def test_a_draft_that_lacks_something_is_not_opened(draft: str, organizer: APIClient) -> None:
    organizer.patch(draft, {"rules": ""}, format="json")
    document = organizer.post(f"{draft}open/").json()
    assert document["code"] == "checklist_not_green"
    assert "rules page is empty" in document["detail"]


def test_an_opening_is_taken_back(draft: str, organizer: APIClient) -> None:
    organizer.post(f"{draft}open/")
    assert organizer.post(f"{draft}draft/").json()["phase"] == "draft"
    assert Event.objects.filter(kind="returned_to_draft").exists()


def test_a_new_draft_gets_a_mechanism_that_fits_the_metric(organizer: APIClient) -> None:
    organizer.post(ALL, {"title": "Fresh"}, format="json")
    where = f"{ALL}fresh/"
    organizer.put(f"{where}columns/", COLUMNS, format="json")
    facts = organizer.put(f"{where}scoring/", {"metric": "accuracy"}, format="json").json()
    assert facts["mechanism"] == "guard"
