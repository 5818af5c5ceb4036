"""Benchmarks of language models: logs and runs in, variants and the board's document out."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from leaderboard import organize, queries, tasks
from leaderboard.log import heads
from leaderboard.models import Competition, FileRole, LedgerNote, NoteKind, Standing, Status
from leaderboard.queries.board_csv import board_csv
from leaderboard.queries.board_json import board_json
from tests import ending
from tests.cast import World, ledger_of, said, set_round, upload
from tests.scoring.model_logs import (
    harness,
    harness_sample,
    inspect_eval,
    inspect_json,
    inspect_sample,
)

ROWS, PUBLIC = 400, 100
GUARD = {"steps": "50", "budget": "20", "team_share": "5", "confidence": "0.95"}
LETTERS = "ABCD"
NOBODY = AnonymousUser()


@pytest.fixture
def facts(world: World) -> Competition:
    """Multiple choice with Guard, without an end; the right letter of row i is i % 4."""
    competition = organize.create_competition(
        slug="facts",
        organizer=world.organizer,
        title="Facts",
        description="# Overview",
        rules="Play fair.",
        opens_at=timezone.now() - timedelta(days=1),
        closes_at=None,
        daily_limit=50,
        schema={"id_column": "id", "columns": [{"name": "answer", "kind": "text", "most": 4}]},
        metric="text_choice",
        metric_parameters={"choices": "4"},
        mechanism="guard",
        mechanism_parameters=GUARD,
    )
    round = competition.current_round
    sample = "id,answer\n" + "".join(f"{row},A\n" for row in range(ROWS))
    organize.add_file(round, upload(sample.encode(), "sample.csv"), role=FileRole.SAMPLE)
    labels = "id,answer,Usage\n" + "".join(
        f"{row},{LETTERS[row % 4]},{'Public' if row < PUBLIC else 'Private'}\n"
        for row in range(ROWS)
    )
    organize.install_solution(round, upload(labels.encode(), "labels.csv"), by=world.organizer)
    organize.open_competition(competition)
    competition.refresh_from_db()
    return competition


def words(row: int, wrong: int) -> str:
    """An answer in words; of each ten so many are wrong."""
    return f"Well. The answer is ({LETTERS[(row + (row % 10 < wrong)) % 4]})."


def harness_log(*wrong: int) -> bytes:
    """A log with so many repeats, of which each errs as often as is said."""
    return harness(
        [harness_sample(row, [[words(row, each) for each in wrong]]) for row in range(ROWS)]
    )


def inspect_log(write: Any, *wrong: int) -> bytes:
    made: bytes = write(
        [
            inspect_sample(row, epoch, words(row, each))
            for epoch, each in enumerate(wrong, 1)
            for row in range(ROWS)
        ]
    )
    return made


def test_logs_of_both_tools_are_scored_and_asked_once(world: World, facts: Competition) -> None:
    team = world.join(world.alice, competition=facts)
    first = world.score(team, harness_log(2, 4))
    others = [world.score(team, inspect_log(each, 2, 4)) for each in (inspect_json, inspect_eval)]
    assert [each.status for each in (first, *others)] == [Status.RELEASED] * 3
    assert [said(each).repeat_of for each in others] == [said(first)] * 2
    row = queries.board_row(facts.current_round.board, world.alice)
    assert row is not None
    assert (row.score, row.entries, row.variants) == ("0.70", 3, 1)


def test_the_score_is_the_mean_of_runs_and_their_spread_is_that_of_public_rows(
    world: World, facts: Competition
) -> None:
    team = world.join(world.alice, competition=facts)
    release = said(world.score(team, harness_log(2, 4)))
    assert release.runs == 2
    assert release.spread == pytest.approx(0.1 * 2**0.5)
    assert said(world.score(team, harness_log(2))).spread is None
    client = Client()
    client.force_login(world.alice)
    page = client.get("/c/facts/submissions/1/").content.decode()
    assert "mean of 2 runs, which lie ±0.1414 apart on the public rows" in page
    assert client.get("/c/facts/leaderboard/").status_code == 200


def test_a_log_of_another_version_is_rejected_and_counts_for_nothing(
    world: World, facts: Competition
) -> None:
    team = world.join(world.alice, competition=facts)
    rejected = world.score(team, harness([{"doc_id": 0, "prompt_0": "Q", "logit_0": "A"}]))
    assert rejected.status == Status.REJECTED
    assert rejected.problems[0]["code"] == "log_field"
    assert not Standing.objects.filter(team=team).exists()


def test_a_benchmark_without_end_shows_how_many_variants_a_team_tried(
    world: World, facts: Competition
) -> None:
    team = world.join(world.alice, competition=facts)
    for wrong in (5, 4, 4, 3):
        world.score(team, harness_log(wrong))
    board = facts.current_round.board
    page = Client().get("/c/facts/leaderboard/").content.decode()
    assert '3<span class="unit"> variants tried</span>' in page
    header, line = b"".join(board_csv(queries.whole_board(board, NOBODY))).decode().splitlines()
    assert dict(zip(header.split(","), line.split(","), strict=True))["variants"] == "3"
    api = Client().get("/api/v1/competitions/facts/leaderboard/").json()
    assert [(row["entries"], row["variants"]) for row in api["results"]] == [(4, 3)]


def test_answers_in_words_meet_in_duels_and_finals(world: World, facts: Competition) -> None:
    alice, bob = (world.join(user, competition=facts) for user in (world.alice, world.bob))
    world.score(alice, harness_log(6, 6))
    world.score(bob, inspect_log(inspect_json, 1, 2))
    tasks.hold_duels(ledger_id=ledger_of(facts).pk)
    note = LedgerNote.objects.get(kind=NoteKind.DUEL)
    assert (note.document["form"], note.document["yes"]) == ("betting", True)
    call_command("verify", "facts")
    set_round(facts, closes_at=timezone.now() + timedelta(days=1))
    competition = ending.score(facts)
    final = queries.whole_final_board(competition.current_round, world.organizer)
    assert [(row.team, row.best.score) for row in final] == [
        (bob.name, "0.850"),
        (alice.name, "0.400"),
    ]


def test_two_files_of_answers_are_compared_row_by_row(world: World, facts: Competition) -> None:
    team = world.join(world.alice, competition=facts)
    for wrong in (1, 2):
        world.score(team, harness_log(wrong))
    first, second = team.submissions.order_by("number")
    found = queries.compare(first, second)
    assert (found.differing, found.columns[0].mean) == (ROWS // 10, None)
    assert found.first[0].values == (("Well. The answer is (B).", "Well. The answer is (C)."),)


def test_the_document_of_a_board_has_intervals_and_heads(world: World, facts: Competition) -> None:
    team = world.join(world.alice, competition=facts)
    world.score(team, harness_log(2, 4))
    heads.sign_all()
    response = Client().get("/c/facts/leaderboard.json")
    assert response["Content-Type"] == "application/json"
    document = json.loads(response.getvalue())
    ledger = ledger_of(facts)
    assert document["format"] == "holdfast board 1"
    assert document["ledger"] == {
        "uid": ledger.uid,
        "entries": ledger.entries,
        "head_hash": ledger.head_hash,
    }
    assert document["log"]["checkpoint"] == queries.log(facts).checkpoint
    assert document["metric"]["parameters"] == {"choices": "4"}
    assert document["rows"] == {"public": 100, "private": 300, "effective": 300}
    (row,) = document["teams"]
    assert (row["team"], row["score_text"], row["runs"]) == (team.name, "0.70", 2)
    assert row["certificate"]["low"] < row["score"] < row["certificate"]["high"]
    assert row["ledger_entry"] == 1


def test_an_empty_board_is_a_document_too(facts: Competition) -> None:
    document = json.loads(b"".join(board_json(facts.current_round.board, NOBODY, None)))
    assert (document["teams"], document["log"]) == ([], None)


def test_a_hidden_board_gives_its_document_the_own_row_and_no_heads(
    world: World, facts: Competition
) -> None:
    alice, bob = (world.join(user, competition=facts) for user in (world.alice, world.bob))
    for team, wrong in ((alice, 3), (bob, 2)):
        world.score(team, harness_log(wrong))
    set_round(facts, is_hidden=True)
    board = Competition.objects.get(slug="facts").current_round.board
    document = json.loads(b"".join(board_json(board, world.alice, alice)))
    assert [(row["team"], row["rank"]) for row in document["teams"]] == [(alice.name, None)]
    assert (document["ledger"], document["log"]) == (None, None)
