"""Competitions, boards, teams and ledgers as the API shows them."""

import csv
import hashlib
import json
from io import StringIO
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from leaderboard import words
from leaderboard.models import Standing, Team
from leaderboard.participate import membership
from leaderboard.queries import guarantee
from tests.api.conftest import API, DIGITS, As
from tests.cast import World, make_competition, make_user, predictions, set_board


def _get(client: APIClient, path: str = "", **params: Any) -> Any:
    response = client.get(f"{DIGITS}{path}", params)
    assert response.status_code == 200, response.content
    return response.json()


def test_the_list_tells_what_a_card_tells(world: World, anonymous: APIClient) -> None:
    world.score(world.join(world.alice))
    item = anonymous.get(f"{API}competitions/").json()["results"][0]
    assert item["slug"] == "digits"
    assert item["phase"] == "open"
    assert (item["teams"], item["submissions"], item["joined"]) == (1, 1, False)


def test_the_list_knows_what_a_person_has_joined(world: World, as_: As) -> None:
    world.join(world.alice)
    assert as_(world.alice).get(f"{API}competitions/").json()["results"][0]["joined"]


def test_the_list_is_searched_in_names_and_titles(world: World, anonymous: APIClient) -> None:
    make_competition("letters", world.organizer, title="Handwriting")
    for word, found in (("DIGIT", 1), ("handw", 1), ("letters", 1), ("", 2), ("nothing", 0)):
        answer = anonymous.get(f"{API}competitions/", {"search": word}).json()
        assert answer["count"] == found


def test_a_competition_says_how_to_take_part(world: World, anonymous: APIClient) -> None:
    detail = _get(anonymous)
    assert detail["rules"] == "Play fair."
    assert detail["schema"]["columns"][0]["classes"] == ["0", "1", "2", "3"]
    assert detail["direction"] == "maximize"
    assert detail["mechanism"]["name"] == "ladder"
    assert detail["mechanism"]["private_rows"] == 32
    assert detail["mechanism"]["parameters"][0].keys() == {"title", "value", "help"}


def test_files_have_sizes_and_checksums(world: World, anonymous: APIClient) -> None:
    files = {each["name"]: each for each in _get(anonymous, "files/")["results"]}
    assert set(files) == {"sample_submission.csv", "train.csv"}
    content = b"x,label\n1,0\n"
    assert files["train.csv"]["size"] == len(content)
    assert files["train.csv"]["sha256"] == hashlib.sha256(content).hexdigest()


def test_the_board_ranks_released_scores(world: World, anonymous: APIClient) -> None:
    world.score(world.join(world.alice), predictions(range(30)))
    world.score(world.join(world.bob))
    rows = _get(anonymous, "leaderboard/")["results"]
    assert [(row["rank"], row["team"]) for row in rows] == [(1, "team bob"), (2, "team alice")]
    assert rows[0]["score"] == 1.0
    assert rows[0]["score_text"] == "1.00"
    assert rows[0]["sampling"]["low"] < 1 <= rows[0]["sampling"]["high"]
    assert rows[0]["last_answer"] == "improved"


def test_a_board_row_has_these_fields_and_no_others(world: World, anonymous: APIClient) -> None:
    world.score(world.join(world.alice))
    assert set(_get(anonymous, "leaderboard/")["results"][0]) == {
        "rank", "team", "team_uid", "score", "score_text", "sampling", "certificate",
        "guarantee_text", "entries", "variants", "runs", "spread", "last_improvement_at",
        "last_answer", "last_answer_at",
        "is_baseline",
        "is_verified", "version", "earlier", "is_mine", "surely_better_than", "tied", "change",
    }  # fmt: skip


def test_the_board_comes_with_its_guarantee(world: World, anonymous: APIClient) -> None:
    world.score(world.join(world.alice))
    found = guarantee(world.board)
    assert found is not None
    promised = _get(anonymous, "leaderboard/")["guarantee"]
    assert promised["sentence"] == words.board_guarantee(found)
    assert promised["questions_text"] == words.questions(found)
    assert (promised["answered"], promised["limit"], promised["is_full"]) == (1, None, False)


def test_a_set_function_s_board_has_no_guarantee(world: World, anonymous: APIClient) -> None:
    set_board(world.digits, metric="f1")
    assert _get(anonymous, "leaderboard/")["guarantee"] is None


def test_my_row_comes_with_any_page(world: World, as_: As) -> None:
    world.score(world.join(world.alice), predictions(range(30)))
    world.score(world.join(world.bob))
    answer = _get(as_(world.alice), "leaderboard/", page_size=1)
    assert answer["results"][0]["team"] == "team bob"
    assert answer["me"]["rank"] == 2
    assert answer["me"]["is_mine"]


def test_nobody_s_row_is_mine_without_an_account(world: World, anonymous: APIClient) -> None:
    world.score(world.join(world.alice))
    answer = _get(anonymous, "leaderboard/")
    assert answer["me"] is None
    assert not answer["results"][0]["is_mine"]


def test_pages_link_to_each_other(world: World, anonymous: APIClient) -> None:
    for person in (world.alice, world.bob, make_user("carol")):
        world.score(world.join(person))
    first = _get(anonymous, "leaderboard/", page_size=2)
    assert (first["count"], first["pages"], first["previous"]) == (3, 2, None)
    second = anonymous.get(first["next"]).json()
    assert [row["team"] for row in second["results"]] == ["team carol"]
    assert second["next"] is None
    assert anonymous.get(second["previous"]).json() == first


def test_a_page_beyond_the_last_is_not_found(world: World, anonymous: APIClient) -> None:
    response = anonymous.get(f"{DIGITS}leaderboard/", {"page": 2})
    assert response.status_code == 404
    assert response.json()["detail"] == "There is no page 2; the last is 1."


@pytest.mark.parametrize(
    ("name", "value"),
    [("page", "0"), ("page", "x"), ("page", "9" * 40), ("page_size", "201"), ("page_size", "-1")],
)
def test_a_wrong_page_is_refused_by_name(
    name: str, value: str, world: World, anonymous: APIClient
) -> None:
    response = anonymous.get(f"{DIGITS}leaderboard/", {name: value})
    assert response.status_code == 422
    assert response.json()["errors"][0]["field"] == name


def test_the_board_is_searched_by_team_and_keeps_ranks(world: World, anonymous: APIClient) -> None:
    world.score(world.join(world.alice), predictions(range(30)))
    world.score(world.join(world.bob))
    rows = _get(anonymous, "leaderboard/", search="ALICE")["results"]
    assert [(row["rank"], row["team"]) for row in rows] == [(2, "team alice")]


def test_the_board_s_csv_has_all_rows(world: World, anonymous: APIClient) -> None:
    world.score(world.join(world.alice), predictions(range(30)))
    world.score(world.join(world.bob))
    response = anonymous.get(f"{DIGITS}leaderboard/", {"format": "csv", "page_size": "1"})
    assert response.headers["Content-Type"] == "text/csv; charset=utf-8"
    assert "digits-leaderboard.csv" in response.headers["Content-Disposition"]
    rows = list(csv.DictReader(StringIO(response.getvalue().decode())))
    assert [(row["rank"], row["team"]) for row in rows] == [("1", "team bob"), ("2", "team alice")]


def test_csv_comes_by_the_accept_header_too(world: World, anonymous: APIClient) -> None:
    response = anonymous.get(f"{DIGITS}leaderboard/", HTTP_ACCEPT="text/csv")
    assert response.getvalue().startswith(b"rank,team,score")


@pytest.mark.parametrize("name", ["=1+1", "+1", "-1", "@x", " =1", "＝1"])
def test_a_team_s_name_is_no_formula(name: str, world: World, anonymous: APIClient) -> None:
    team = world.join(world.alice)
    world.score(team)
    Team.objects.filter(pk=team.pk).update(name=name)
    response = anonymous.get(f"{DIGITS}leaderboard/", {"format": "csv"})
    row = next(csv.DictReader(StringIO(response.getvalue().decode())))
    assert row["team"] == f"'{name}"


def test_a_team_s_name_is_no_formula_where_semicolons_part_cells(
    world: World, anonymous: APIClient
) -> None:
    world.score(world.join(world.alice, "x; =1+1;y"))
    response = anonymous.get(f"{DIGITS}leaderboard/", {"format": "csv"})
    row = next(csv.DictReader(StringIO(response.getvalue().decode())))
    assert row["team"] == "x;' =1+1;y"


@pytest.mark.parametrize("search", ["", "team"])
def test_the_board_takes_the_same_queries_for_more_rows(
    search: str, world: World, anonymous: APIClient
) -> None:
    def count() -> int:
        with CaptureQueriesContext(connection) as asked:
            _get(anonymous, "leaderboard/", search=search)
        return len(asked)

    world.score(world.join(world.alice))
    few = count()
    for number in range(5):
        world.score(world.join(make_user(f"user{number}")))
    assert Standing.objects.count() == 6
    assert count() == few


def test_teams_are_listed_by_name(world: World, anonymous: APIClient) -> None:
    world.join(world.bob, "Zeta")
    world.join(world.alice, "Alpha")
    answer = _get(anonymous, "teams/")
    assert [(each["name"], each["members"]) for each in answer["results"]] == [
        ("Alpha", 1),
        ("Zeta", 1),
    ]
    assert _get(anonymous, "teams/", search="zet")["count"] == 1


def test_joining_makes_a_team_named_like_its_captain(world: World, as_: As) -> None:
    response = as_(world.bob).post(f"{DIGITS}join/", {"accept_rules": True}, "json")
    assert response.status_code == 201
    team = response.json()
    assert team["name"] == "bob"
    assert team["members"] == [{"username": "bob", "is_captain": True}]
    assert team["limits"]["summary"] == "20 of 20 submissions left today."


def test_rules_must_be_accepted_to_join(world: World, as_: As) -> None:
    response = as_(world.bob).post(f"{DIGITS}join/", {"accept_rules": False}, "json")
    assert response.status_code == 422
    assert response.json()["errors"][0]["code"] == "rules_not_accepted"
    assert not Team.objects.exists()


def test_an_invitation_joins_its_team(world: World, as_: As) -> None:
    team = world.join(world.alice, "Alices")
    token = membership.invite(team=team, user=world.alice).token
    body = {"accept_rules": True, "invitation": token}
    response = as_(world.bob).post(f"{DIGITS}join/", body, "json")
    assert response.status_code == 201
    assert [each["username"] for each in response.json()["members"]] == ["alice", "bob"]


def test_an_invitation_and_a_name_are_one_too_many(world: World, as_: As) -> None:
    body = {"accept_rules": True, "invitation": "x", "team_name": "y"}
    response = as_(world.bob).post(f"{DIGITS}join/", body, "json")
    assert response.status_code == 422


def test_a_captain_renames_the_team(world: World, as_: As) -> None:
    world.join(world.alice)
    response = as_(world.alice).patch(f"{DIGITS}team/", {"name": "  New   name "}, "json")
    assert response.json()["name"] == "New name"


def test_a_team_s_name_has_visible_characters(world: World, as_: As) -> None:
    world.join(world.alice)
    response = as_(world.alice).patch(f"{DIGITS}team/", {"name": "a\u202eb"}, "json")
    assert response.status_code == 422
    assert response.json()["code"] == "invalid"


def test_the_ledger_s_chain_can_be_checked(world: World, anonymous: APIClient) -> None:
    for person in (world.alice, world.bob):
        world.score(world.join(person))
    entries = _get(anonymous, "ledger/")["results"]
    assert [each["number"] for each in entries] == [2, 1]
    assert entries[0]["previous_hash"] == entries[1]["hash"]
    for entry in entries:
        assert entry.pop("version") == 1
        told = entry.pop("hash")
        text = json.dumps(entry, sort_keys=True, separators=(",", ":"))
        assert hashlib.sha256(text.encode()).hexdigest() == told


def test_answers_are_never_older_than_now(world: World, anonymous: APIClient) -> None:
    response = anonymous.get(f"{DIGITS}leaderboard/")
    assert response.headers["Cache-Control"] == "private, no-cache"
