"""The ledger as a file: whole, stable while entries are appended, and verified by anybody."""

import json
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from leaderboard import organize, queries
from leaderboard.models import Competition, Holdout, Release
from scoring.chain import document_hash
from scoring.verification.ledgers import check_since
from scoring.verification.run import verify
from tests.cast import (
    CHECKED_ROWS,
    World,
    ledger_of,
    make_checked,
    predictions,
    solution,
    upload,
)


def lines(competition: Competition) -> list[bytes]:
    return b"".join(queries.ledger_lines(ledger_of(competition))).splitlines(keepends=True)


@pytest.fixture
def checked(world: World) -> Competition:
    """A competition with Thresholdout in which a team used up its share."""
    competition = make_checked("checked", world.organizer)
    team = world.join(world.alice, competition=competition)
    for first in (CHECKED_ROWS, 20, 21, 22, 22):
        wrong = range(first, CHECKED_ROWS)
        world.score(team, predictions(wrong=wrong, rows=CHECKED_ROWS))
    return competition


def test_a_real_ledger_is_verified_from_its_file(world: World, checked: Competition) -> None:
    report = verify(lines(checked))
    assert report.difference is None
    assert (report.competition, report.versions, report.entries) == ("checked", (1,), 5)
    assert report.head_hash == ledger_of(checked).head_hash


def test_the_first_line_has_what_fixes_the_answers(world: World) -> None:
    world.score(world.join(world.alice))
    header = json.loads(lines(world.digits)[0])
    holdout = Holdout.objects.get()
    assert header["format"] == "holdfast ledger 1"
    facts = header["scoring"]["holdout"]
    assert facts["solution_commitment"] == holdout.solution_commitment
    assert facts["secret_commitment"] == holdout.secret_commitment
    uid, board = header["scoring"]["boards"].popitem()
    terms = {"ledger": header["scoring"]["ledger"]}
    answered_under = document_hash({**facts, **terms, **board, "board": uid})
    assert answered_under == Release.objects.get().parameters_hash
    assert header["entries"] == 1


def test_an_empty_ledger_has_its_header_with_the_commitments(world: World) -> None:
    (header,) = lines(world.digits)
    assert json.loads(header)["entries"] == 0
    assert verify([header]).difference is None


def test_what_is_appended_while_it_is_read_is_not_in_it(world: World) -> None:
    team = world.join(world.alice)
    world.score(team, predictions(wrong=range(10, 20)))
    kept = lines(world.digits)
    reading = queries.lines_of(ledger_of(world.digits))
    header = next(reading)
    world.score(team, predictions(wrong=range(10, 12)))
    assert [header, *reading] == kept
    assert check_since(kept, lines(world.digits)) == 1


def test_a_solution_that_was_replaced_before_any_answer_is_not_in_it(world: World) -> None:
    organize.install_solution(world.round, upload(solution()), by=world.organizer)
    (header,) = lines(world.digits)
    assert json.loads(header)["version"] == 2


def test_reading_takes_the_same_queries_for_many_entries(world: World) -> None:
    team = world.join(world.alice)

    def count() -> int:
        with CaptureQueriesContext(connection) as queries_made:
            lines(world.digits)
        return len(queries_made)

    world.score(team)
    few = count()
    for _ in range(5):
        world.score(team)
    assert count() == few


@pytest.mark.parametrize(
    "path", ["/c/digits/ledger.jsonl", "/api/v1/competitions/digits/ledger/?format=jsonl"]
)
def test_pages_and_api_give_the_same_file(world: World, client: Client, path: str) -> None:
    world.score(world.join(world.alice))
    response: Any = client.get(path)
    assert response.status_code == 200
    assert response["Content-Type"] == "application/jsonl"
    assert 'filename="digits-ledger.jsonl"' in response["Content-Disposition"]
    assert b"".join(response.streaming_content) == b"".join(lines(world.digits))


def test_the_ledger_page_links_to_the_file(world: World, client: Client) -> None:
    assert b'href="/c/digits/ledger.jsonl"' in client.get("/c/digits/ledger/").content


def test_a_draft_has_no_ledger_to_download(world: World, client: Client) -> None:
    Competition.objects.update(opened_by_organizer_at=None)
    client.force_login(world.organizer)
    assert client.get("/c/digits/ledger.jsonl").status_code == 404


def test_an_entry_changed_in_the_database_is_found_in_the_file(world: World) -> None:
    team = world.join(world.alice)
    for wrong in (range(10, 20), range(10, 12)):
        world.score(team, predictions(wrong=wrong))
    Release.objects.filter(number=2).update(level=0)
    difference = verify(lines(world.digits)).difference
    assert difference is not None
    assert (difference.number, difference.field) == (2, "hash")
