"""Cells that hold several labels: sets and rankings."""

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.errors import ParameterError, PredictionError, SolutionError
from scoring.predictions import (
    Column,
    Lists,
    RowIds,
    Schema,
    Solution,
    fast,
    read_predictions,
    read_row_ids,
    read_solution,
)
from tests.scoring.files import problem, read

TAGS = Schema("id", (Column("tags", "labels", ("sun", "rain", "snow"), separator=";"),))
TOP = Schema("id", (Column("top", "ranking", ("5", "6", "7", "8"), most=3),))
IDS = RowIds(["a", "b", "c"])


def lists(found: Lists) -> list[list[int]]:
    ends = zip(found.offsets[:-1], found.offsets[1:], strict=True)
    return [found.codes[start:end].tolist() for start, end in ends]


def test_a_set_is_in_ascending_order_and_may_be_empty() -> None:
    found = read("id,tags\nb,\na,snow;sun\nc,rain\n", TAGS, IDS)
    assert lists(found.columns["tags"]) == [[0, 2], [], [1]]


def test_a_ranking_keeps_its_order() -> None:
    found = read("id,top\nc,5 6\nb,6\na,8 5 7\n", TOP, IDS)
    assert lists(found.columns["top"]) == [[3, 0, 2], [1], [0, 1]]
    assert found.columns["top"].codes.dtype == np.int32
    assert found.columns["top"].offsets.dtype == np.int64


def test_the_same_sets_have_the_same_digest() -> None:
    first = read("id,tags\na,sun;snow\nb,rain\nc,sun\n", TAGS, IDS)
    second = read('tags,id\r\nsun,c\r\n" snow ; sun;",a\r\nrain,b\r\n', TAGS, IDS)
    assert first.digest == second.digest


def test_another_order_is_another_ranking() -> None:
    first, second = (read(f"id,top\na,{top}\nb,5\nc,5\n", TOP, IDS) for top in ("5 6", "6 5"))
    assert first.digest != second.digest


WRONG = {
    "unknown": ("a,5 9", "unknown_label", "9", "'9' is not one of 5-8."),
    "nearly known": (
        "a,5 6.0",
        "unknown_label",
        "6.0",
        "'6.0' is not one of 5-8; did you mean '6'?",
    ),
    "twice": ("a,5 6 5", "duplicate_label", "5", "'5' is there twice."),
    "too long": ("a,5 6 7 8", "too_many_labels", "5 6 7 8", "4 labels are more than 3."),
    "empty": (
        "a,",
        "empty_cell",
        "",
        "the cell is empty; give 1 to 3 of 5-8, with spaces between.",
    ),
}


@pytest.mark.parametrize("case", WRONG.values(), ids=WRONG.keys())
def test_what_is_wrong_in_a_list_is_named(case: tuple[str, str, str, str]) -> None:
    row, code, value, says = case
    found = problem(f"id,top\n{row}\nb,5\nc,6\n", TOP, IDS)
    assert (found.code, found.line, found.column, found.value) == (code, 2, "top", value)
    assert found.message == f"Line 2, column `top`: {says}"


PARTS = st.lists(st.sampled_from(["5", "6", "7", "8", "9", " ", ""]), max_size=5)


@given(st.lists(PARTS, min_size=3, max_size=3))
def test_both_readers_read_lists_alike(cells: list[list[str]]) -> None:
    rows = [f"{each},{' '.join(parts)}" for each, parts in zip("abc", cells, strict=True)]
    text = "\n".join(["id,top", *rows])
    quick = outcome(text)
    with patch.object(fast, "read_aligned", return_value=None):
        assert outcome(text) == quick


def outcome(text: str) -> object:
    try:
        return read(text, TOP, IDS).digest
    except PredictionError as error:
        return error.problems


def test_a_solution_of_a_ranking_has_any_number_of_relevant_labels() -> None:
    found = read_solution(b"id,top\na,5 6 7 8\nb,6\nc,8 5\n", TOP, IDS)
    assert lists(found.columns["top"]) == [[0, 1, 2, 3], [1], [0, 3]]


def test_a_scored_row_has_a_relevant_label() -> None:
    with pytest.raises(SolutionError) as caught:
        read_solution(b"id,top\na,5\nb,\nc,8\n", TOP, IDS)
    assert [(each.code, each.line) for each in caught.value.problems] == [("empty_cell", 3)]


@pytest.mark.parametrize("schema", [TAGS, TOP], ids=["labels", "ranking"])
def test_a_stored_solution_is_read_back(schema: Schema) -> None:
    name = schema.columns[0].name
    first, second = schema.columns[0].classes[:2]
    text = f"id,{name},Usage\na,{first},Private\nb,{second},Public\nc,,Ignored\n"
    stored = read_solution(text.encode(), schema, IDS)
    again = Solution.from_bytes(stored.to_bytes())
    assert again.schema == schema
    assert lists(again.columns[name]) == lists(stored.columns[name]) == [[0], [1], []]


def test_a_sample_with_lists_gives_the_row_ids() -> None:
    assert read_row_ids(b"id,top\na,5 6\nb,5 6\nc,5 6\n", TOP) == IDS


def test_rows_can_be_chosen_by_a_mask() -> None:
    found = read_predictions(b"id,top\na,8 5\nb,6\nc,7 6 5\n", TOP, IDS).columns["top"]
    assert lists(found[np.array([True, False, True])]) == [[3, 0], [2, 1, 0]]
    assert found[np.zeros(3, bool)].rows.tolist() == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"separator": "-"}, "`x`: the classes of a cell are separated by one of spaces, commas,"),
        ({"separator": ";"}, "`x`: the class 'a;b' has spaces around it or the separator in it."),
        ({"most": 3}, "`x`: only a ranking has a largest length."),
        ({"kind": "ranking"}, "`x`: a ranking has a largest length, from 1 to 1000."),
        ({"kind": "ranking", "most": 0}, "`x`: a ranking has a largest length, from 1 to 1000."),
        ({"kind": "label", "separator": ";"}, "`x`: only lists of classes have a separator."),
    ],
)
def test_a_list_column_is_declared_whole(arguments: dict[str, object], message: str) -> None:
    given: dict[str, object] = {"kind": "labels", "classes": ["a;b", "c"], "name": "x"}
    with pytest.raises(ParameterError) as caught:
        Schema.from_json({"id_column": "id", "columns": [{**given, **arguments}]})
    assert caught.value.message.startswith(message)


@pytest.mark.parametrize("schema", [TAGS, TOP], ids=["labels", "ranking"])
def test_list_columns_become_json_and_back(schema: Schema) -> None:
    assert Schema.from_json(schema.to_json()) == schema


def test_lists_as_pandas_writes_them_are_told_once_with_the_way_to_write_them() -> None:
    file = "id,top\na,\"['5', '6']\"\nb,\"['6', '7']\"\nc,\"['8']\"\n"
    found = problem(file, TOP, IDS)
    assert (found.code, found.line, found.value) == ("unknown_label", 2, "['5', '6']")
    assert found.message == (
        "Line 2, column `top`: '['5', '6']' is a Python list; write its labels with spaces "
        "between, without brackets and quotes. 2 more lines like it (3, 4)."
    )
