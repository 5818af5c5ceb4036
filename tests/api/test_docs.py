"""The schema is complete and true; the docs show it, without scripts."""

import re
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.conf import settings
from django.core.management import call_command
from rest_framework.test import APIClient

from leaderboard.api import docs
from leaderboard.errors import PROBLEM_TYPE
from leaderboard.refusals import PROBLEMS
from tests.api.conftest import API
from tests.routes import all_routes


def operations() -> list[tuple[str, str, Any]]:
    """Return every operation with its path and method."""
    return [
        (path, method, operation)
        for path, methods in docs.schema()["paths"].items()
        for method, operation in methods.items()
    ]


def test_the_schema_is_valid_and_made_without_a_warning() -> None:
    out = StringIO()
    call_command("spectacular", "--validate", "--fail-on-warn", stdout=out)
    assert yaml.safe_load(out.getvalue())["openapi"].startswith("3.")


def test_every_operation_is_described() -> None:
    for path, method, operation in operations():
        where = f"{method} {path}"
        assert operation["summary"], where
        assert len(operation["description"]) > 10, where
        assert operation["operationId"], where
        assert any(status.startswith("2") for status in operation["responses"]), where


def test_every_problem_has_an_example() -> None:
    for path, method, operation in operations():
        problems = {
            status: response
            for status, response in operation["responses"].items()
            if status.startswith(("4", "5"))
        }
        assert {"429", "500"} <= set(problems), f"{method} {path}"
        for status, response in problems.items():
            for example in response["content"][PROBLEM_TYPE]["examples"].values():
                assert example["value"]["status"] == int(status), f"{method} {path}"
                assert PROBLEMS[example["value"]["code"]].status == int(status)


def test_every_route_is_in_the_schema() -> None:
    meta = {"", "schema/", "docs/", "problems/", "{anything}"}
    routes = {
        "/" + re.sub(r"<(\w+)>", r"{\1}", route.pattern)
        for route in all_routes()
        if route.area == "api"
    } - {f"{API}{each}" for each in meta}
    assert routes == {path for path, _, _ in operations()}


@pytest.mark.parametrize(
    ("accept", "start"), [("application/json", b"{"), ("application/yaml", b"openapi")]
)
def test_the_schema_comes_as_json_and_yaml(
    accept: str, start: bytes, anonymous: APIClient, db: None
) -> None:
    response = anonymous.get(f"{API}schema/", HTTP_ACCEPT=accept)
    assert response.status_code == 200
    assert response.content.startswith(start)


def test_the_docs_show_every_operation_and_its_problems(anonymous: APIClient, db: None) -> None:
    page = anonymous.get(f"{API}docs/").content.decode()
    for path, method, operation in operations():
        assert f'id="{operation["operationId"]}"' in page
        assert path in page
        assert method.upper() in page


def test_every_link_within_the_docs_leads_somewhere(anonymous: APIClient, db: None) -> None:
    page = anonymous.get(f"{API}docs/").content.decode()
    targets = set(re.findall(r'href="#([^"]+)"', page))
    assert targets <= set(re.findall(r'id="([^"]+)"', page))


def test_the_problems_page_explains_every_code(anonymous: APIClient, db: None) -> None:
    page = anonymous.get(f"{API}problems/").content.decode()
    for code in PROBLEMS:
        assert f'id="{code}"' in page


def test_the_page_of_the_api_lists_every_code() -> None:
    lines = (Path(settings.BASE_DIR) / "docs" / "api.md").read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if line.startswith("| `")][-len(PROBLEMS) :] == [
        f"| `{code}` | {known.status} | {known.title}. {known.meaning} |"
        for code, known in PROBLEMS.items()
    ]


@pytest.mark.parametrize("path", ["docs/", "problems/"])
def test_the_docs_have_no_inline_script_or_style(path: str, anonymous: APIClient, db: None) -> None:
    page = anonymous.get(f"{API}{path}").content.decode()
    assert not re.search(r"<script(?![^>]*\bsrc=)", page)
    assert not re.search(r"<style|\bstyle=|\bon\w+=", page)
    assert "https://" not in re.sub(r"<code>.*?</code>", "", page, flags=re.DOTALL)


def test_the_index_leads_a_person_to_the_docs(anonymous: APIClient, db: None) -> None:
    response = anonymous.get(API, HTTP_ACCEPT="text/html,*/*;q=0.8")
    assert (response.status_code, response.headers["Location"]) == (302, f"{API}docs/")


def test_the_index_gives_a_program_addresses(anonymous: APIClient, db: None) -> None:
    links = anonymous.get(API, HTTP_ACCEPT="*/*").json()
    assert links["competitions"].endswith(f"{API}competitions/")


CURLS = {
    operation["id"]: operation["curl"]
    for group in docs.reference()["groups"]
    for operation in group["operations"]
}


def test_the_example_of_a_download_signs_in_and_keeps_the_file() -> None:
    assert CURLS["file"].startswith('curl -o train.csv -H "Authorization: Token')


def test_examples_send_what_is_accepted() -> None:
    assert """-d '{"numbers": [1]}'""" in CURLS["choose_finals"]
    assert """-d '{"accept_rules": true, "team_name": "…"}'""" in CURLS["join"]
