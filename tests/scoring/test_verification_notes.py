"""Notes of the ledger: what they may name, and when boards and teams begin and end."""

import json
from dataclasses import replace
from typing import Any

import pytest

from scoring.chain import document_hash
from scoring.mechanisms.base import TeamState
from scoring.verification.differences import Difference
from scoring.verification.ledgers import Header
from scoring.verification.run import verify
from tests.scoring.ledgers import BOARD, File, Played, line, rewritten
from tests.scoring.test_verification import second_segment

LATER = "c" * 32  # the board of a round that was added later


def note(board: Played, kind: str, **facts: Any) -> None:
    """Write a note behind the newest entry, of the ledger as it is."""
    head = board.head
    document = {
        "number": len(board.entries) + 1,
        "kind": kind,
        "asked": head.asked,
        "answered": head.answered,
        "log_alphabets": head.log_alphabets,
        "boards": {BOARD: {"firings": head.firings, "budget_left": head.budget_left}},
        "parameters_hash": document_hash(board.published["holdout"]),
        "previous_hash": board.entries[-1]["hash"] if board.entries else "",
        "created_at": "2026-01-01T00:01:00+00:00",
        **facts,
    }
    board.entries.append({**document, "hash": document_hash(document)})


def merge(board: Played, team: str, into: str, **facts: Any) -> None:
    note(board, "merge", team=team, into=into, **facts)
    state = board.teams.pop(team, None)
    if state is not None:
        best = min(each.best or 0 for each in (state, board.teams.get(into, state)))
        board.teams[into] = replace(board.teams.get(into, state), best=best)


def played() -> Played:
    """Two teams of the Ladder, of which the second is merged into the first."""
    board = Played()
    for team in ("alice", "bob"):
        board.take(File(team, tuple(range(60))))
    merge(board, "bob", "alice", offset=1)
    return board


def found(board: Played, lines: list[bytes] | None = None) -> Difference | None:
    return verify(board.lines() if lines is None else lines).difference


def with_later_board(board: Played) -> list[bytes]:
    """The ledger as it is published today, when a later round has brought another board."""
    facts = board.published
    facts["boards"][LATER] = facts["boards"][BOARD]
    head = json.loads(board.lines()[0])
    del head["format"]
    header = Header(**head | {"scoring": facts, "parameters_hash": document_hash(facts)})
    return [header.line(), *map(line, board.entries)]


def test_a_merger_is_verified() -> None:
    board = played()
    board.take(File("alice", tuple(range(20))))
    board.entries[-1]["submission"] = 3  # bob's first is alice's second
    board.entries = rewritten(board.entries)
    assert found(board) is None


def test_a_board_of_a_later_round_is_not_looked_for_in_earlier_notes() -> None:
    board = played()
    assert found(board, with_later_board(board)) is None


def test_a_note_names_every_board_that_has_answered() -> None:
    board = played()
    board.entries[-1]["boards"] = {
        LATER: {"firings": 0, "budget_left": None},
    }
    board.entries = rewritten(board.entries)
    difference = found(board, with_later_board(board))
    assert difference is not None
    assert (difference.number, difference.field) == (3, "boards")


@pytest.mark.parametrize("boards", [{}, [], None, {BOARD: None}, {"x": {}}])
def test_a_note_of_other_boards_than_the_header_s_is_found(boards: Any) -> None:
    board = played()
    board.entries[-1]["boards"] = boards
    board.entries = rewritten(board.entries)
    difference = found(board)
    assert difference is not None
    assert (difference.number, difference.field) == (3, "boards")


def test_a_team_that_was_merged_away_answers_no_more() -> None:
    """A fresh share and fresh levels would be its own again."""
    board = played()
    board.teams["bob"] = TeamState()
    board.take(File("bob", tuple(range(40))))
    difference = found(board)
    assert difference is not None
    assert (difference.number, difference.field) == (4, "team")


@pytest.mark.parametrize(("team", "into"), [("bob", "carol"), ("carol", "bob")])
def test_a_team_is_merged_once(team: str, into: str) -> None:
    board = played()
    merge(board, team, into, offset=1)
    difference = found(board)
    assert difference is not None
    assert (difference.number, difference.field) == (4, "team")


@pytest.mark.parametrize("offset", [0, -1, 1.0, None, True])
def test_a_merger_that_gives_two_submissions_the_same_number_is_found(offset: Any) -> None:
    board = played()
    board.entries[-1]["offset"] = offset
    board.entries = rewritten(board.entries)
    difference = found(board)
    assert difference is not None
    assert (difference.number, difference.field) == (3, "offset")


def test_a_merged_team_s_submission_has_no_second_entry() -> None:
    """As alice's second submission it was bob's first, which has been answered."""
    board = played()
    board.take(File("alice", tuple(range(20))))
    assert board.entries[-1]["submission"] == 2
    difference = found(board)
    assert difference is not None
    assert (difference.number, difference.field) == (4, "submission")


@pytest.mark.parametrize("rescore", ["", "some", None, ["all"]])
def test_a_revision_that_scores_again_what_nobody_can_name_is_found(rescore: Any) -> None:
    board = Played()
    board.take(File("alice", tuple(range(60))))
    header, revision = map(json.loads, second_segment(board))
    revision["rescore"] = rescore
    del revision["hash"]
    revision["hash"] = header["head_hash"] = document_hash(revision)
    del header["format"]
    difference = found(board, [*board.lines(), Header(**header).line(), line(revision)])
    assert difference is not None
    assert (difference.number, difference.field) == (2, "rescore")


@pytest.mark.parametrize(
    "moment",
    ["", "yesterday", "2026-01-01", "2026-01-01T00:00:00", "2026-01-01T00:00:00.123456+00:00", 5],
)
@pytest.mark.parametrize("number", [1, 3])
def test_what_is_no_moment_is_found(moment: Any, number: int) -> None:
    board = played()
    board.entries[number - 1]["created_at"] = moment
    board.entries = rewritten(board.entries)
    difference = found(board)
    assert difference is not None
    assert (difference.number, difference.field) == (number, "created_at")


def test_a_line_that_names_a_field_twice_is_no_entry() -> None:
    """One reader would take the first value, another the last."""
    first, second, *rest = played().lines()
    doubled = second.replace(b'"level":', b'"level":0,"level":', 1)
    difference = found(played(), [first, doubled, *rest])
    assert difference is not None
    assert difference.field == "line 2"
