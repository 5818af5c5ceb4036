"""Finals, computed again from what is published: what is right passes, what can't be is named."""

import json
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scoring.guarantees.rank_sets import RankSets, Rows, rank_entries
from scoring.mechanisms import get
from scoring.transparency import finals, leaves
from scoring.transparency.checks import Standing
from scoring.transparency.history import Entry, Key
from scoring.verification.differences import Differs
from scoring.verification.ledgers import Header
from tests.scoring.ledgers import BOARD, BOARDS, Played

AT = "2026-01-01T00:00:00+00:00"
LEVEL = float(1 - get("ladder").parse(BOARDS["ladder"]).confidence) / 2
Document = dict[str, Any]


def header() -> Header:
    return Header.of(json.loads(Played().lines()[0]))


def entry(index: int, team: str, number: int, units: int, place: int | None) -> Entry:
    fields = {"team": team, "submission": number, "round": 1, "place": place}
    scores = {BOARD: {"units": units, "of": 80}}
    return Entry(index, leaves.parse(leaves.leaf("final", AT, **fields, scores=scores)))


def entries(*rows: tuple[str, int, int, int | None]) -> dict[Key, Entry]:
    return {(row[0], row[1]): entry(index, *row) for index, row in enumerate(rows)}


RIGHT = entries(("a", 1, 20, None), ("a", 2, 10, 1), ("b", 1, 10, 1), ("c", 4, 30, 3))


def test_places_that_follow_from_the_scores_pass() -> None:
    best = finals.check_places(RIGHT, finals.losses_of(RIGHT, BOARD), set())
    assert best == {"a": Fraction(1, 8), "b": Fraction(1, 8), "c": Fraction(3, 8)}


@pytest.mark.parametrize(
    ("rows", "baselines", "named"),
    [
        ([("a", 1, 10, 1), ("b", 1, 20, 1)], set(), "Log entry 1, place: It is 1; computed"),
        ([("a", 1, 10, 1), ("b", 1, 10, 2)], set(), "Log entry 1, place: It is 2; computed"),
        ([("a", 1, 10, None), ("a", 2, 20, 1)], set(), "Log entry 1, place: It is 1; computed"),
        ([("a", 1, 10, 1), ("a", 2, 10, 1)], set(), "Log entry 1, place: Its team has two"),
        ([("a", 1, 10, None), ("b", 1, 20, 2)], set(), "final scores of team a: None of them"),
        ([("a", 1, 10, 1), ("b", 1, 20, 2)], {"a"}, "Log entry 0, place: A baseline takes none"),
        ([("a", 1, 99, 1)], set(), "Log entry 0, scores: It has no score of the board"),
    ],
)
def test_places_that_do_not_follow_are_named(
    rows: list[Any], baselines: set[str], named: str
) -> None:
    found = entries(*rows)
    with pytest.raises(Differs, match=named):
        finals.check_places(found, finals.losses_of(found, BOARD), baselines)


def test_scores_on_the_board_s_rows_are_those_that_were_measured() -> None:
    measured = {("a", 2): (10, 80), ("b", 1): (10, 80), ("z", 1): (1, 80)}
    assert finals.check_measured(RIGHT, BOARD, measured) == 2
    with pytest.raises(Differs, match="Log entry 2, scores: It is 10 of 80; measured were 9 of 80"):
        finals.check_measured(RIGHT, BOARD, {**measured, ("b", 1): (9, 80)})


def contest(wrong: list[set[int]]) -> tuple[Document, dict[Key, Fraction], list[Standing]]:
    """The tests that a server would publish of entries that err on these rows out of 80."""
    losses = np.array([[row in each for row in range(80)] for each in wrong], dtype=np.uint8)
    found = rank_entries(losses, losses, Rows(two_classes=True), units=1, level=LEVEL)
    keys = [(f"t{number}", 1) for number in range(len(wrong))]
    document = {"rows": "final", "entries": [list(key) for key in keys], **found.to_json()}
    exact = {key: Fraction(len(each), 80) for key, each in zip(keys, wrong, strict=True)}
    return document, exact, [Standing(team, Fraction(1, 4), AT) for team, _ in keys]


def check(document: Document | None, *rest: Any) -> Any:
    return finals.Tests(header(), BOARD, None, ("final", 80)).check(document, *rest)


@settings(max_examples=60)
@given(st.lists(st.sets(st.integers(0, 79), max_size=60), min_size=2, max_size=7))
def test_what_the_tests_of_two_classes_find_is_always_accepted(wrong: list[set[int]]) -> None:
    document, exact, order_of = contest(wrong)
    better, order = check(document, exact, order_of)
    assert np.array_equal(better, RankSets.from_json(document, LEVEL).better)
    assert order == [(team, number) for team, number in document["entries"]]


CLEAR = [set(range(3)), set(range(40)), set(range(42))]


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda d: d.update(level="0.9"), "tests, level: It is 0.9"),
        (lambda d: d.update(hypotheses=4), "tests, hypotheses: It is 4; computed again it is 6"),
        (lambda d: d.update(better=[]), "tests, better: Entries 0 and 1 differ by too much"),
        (lambda d: d["better"][0].__setitem__(2, "1e-40"), "1e-40 is too small a p-value"),
        (lambda d: d.update(entries=[["t9", 1], *d["entries"][1:]]), "tests, entries: They are"),
        (lambda d: d.pop("form"), "tests: They can't be read"),
    ],
)
def test_tests_that_can_not_be_are_named(change: Callable[[Document], object], named: str) -> None:
    document, *rest = contest(CLEAR)
    change(document)
    with pytest.raises(Differs, match=named):
        check(document, *rest)


def test_on_rows_that_answered_without_laws_there_are_no_tests() -> None:
    document, exact, order = contest(CLEAR)
    tests = finals.Tests(header(), BOARD, None, ("private", 80))
    assert tests.check(None, exact, order) is None
    with pytest.raises(Differs, match="tests: No tests are possible here"):
        tests.check(document, exact, order)
