"""The sample submission: row ids, the first rows, the schema that it suggests."""

import pytest

from scoring.errors import SolutionError
from scoring.predictions import Column, Limits, Schema, preview, propose, read_row_ids
from tests.scoring.files import GOOD, HEADER, IDS, ROW_IDS, SCHEMA, rows_of, with_line


def sample_codes(text: str) -> list[str]:
    with pytest.raises(SolutionError) as caught:
        read_row_ids(text.encode(), SCHEMA)
    return [each.code for each in caught.value.problems]


def test_row_ids_come_in_the_order_of_the_sample() -> None:
    text = "\n".join([HEADER, *reversed(rows_of())])
    row_ids = read_row_ids(text.encode(), SCHEMA)
    assert [row_ids[row] for row in range(len(row_ids))] == list(reversed(IDS))


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_row_ids_do_not_depend_on_how_the_sample_is_written(end: str) -> None:
    assert read_row_ids(GOOD.replace("\n", end).encode(), SCHEMA) == ROW_IDS


def test_quoted_ids_are_the_same_ids() -> None:
    text = "\n".join(f'"{line.replace(",", chr(34) + "," + chr(34))}"' for line in GOOD.split())
    assert read_row_ids(text.encode(), SCHEMA) == ROW_IDS


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (with_line(5, "12,3,0.13,13.5"), "duplicate_id"),
        (with_line(5, ",3,0.13,13.5"), "empty_id"),
        (with_line(5, '" ",3,0.13,13.5'), "empty_id"),
        (with_line(5, "13,x,0.13,13.5"), "unknown_label"),
        (with_line(1, "id,label,p,Price"), "misspelt_column"),
        (with_line(5, "13,3,0.13"), "ragged_row"),
        ("", "file_empty"),
        (HEADER, "no_rows"),
    ],
)
def test_a_sample_that_would_be_rejected_itself_is_refused(text: str, code: str) -> None:
    assert sample_codes(text) == [code]


def test_a_sample_has_limits_too() -> None:
    with pytest.raises(SolutionError, match="more than 5 rows"):
        read_row_ids(GOOD.encode(), SCHEMA, Limits(max_rows=5))


def test_a_preview_shows_the_first_rows_in_the_schema_order() -> None:
    text = "p,id,price,label\n0.1,a,1.50,3\n0.2,b,2e3,4\n0.3,c,5,6\n"
    shown = preview(text.encode(), SCHEMA, n=2)
    assert shown.header == ("id", "label", "p", "price")
    assert shown.rows == (("a", "3", "0.1", "1.50"), ("b", "4", "0.2", "2e3"))


def test_a_preview_of_another_file_is_refused() -> None:
    with pytest.raises(SolutionError):
        preview(b"id,x\n1,2\n", SCHEMA)


@pytest.mark.parametrize(
    ("cells", "column"),
    [
        (["0.5", "0.25", "1"], Column("y", "probability")),
        (["0.5", "0.5", "0.5"], Column("y", "probability")),
        (["1.5", "-2", "1e3"], Column("y", "number")),
        (["2", "10", "0"], Column("y", "label", ("0", "2", "10"))),
        (["dog", "cat", "dog"], Column("y", "label", ("cat", "dog"))),
        (["0", "0", "0"], Column("y", "label", ("0", "1"))),
        (["cat", "cat", "cat"], Column("y", "label", ("cat", "not cat"))),
        (["", "", ""], Column("y", "number")),
    ],
)
def test_kinds_are_guessed_from_the_cells(cells: list[str], column: Column) -> None:
    text = "row,y\n" + "".join(f"{i},{cell}\n" for i, cell in enumerate(cells))
    assert propose(text.encode()).schema == Schema("row", (column,))


def test_many_different_whole_numbers_are_numbers() -> None:
    text = "row,y\n" + "".join(f"{i},{i}\n" for i in range(500))
    assert propose(text.encode()).schema.columns == (Column("y", "number"),)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "file_empty"),
        ("row\n1\n", "missing_column"),
        ("row,Row\n1,2\n", "unusable_column"),
        ("row,\n1,2\n", "unusable_column"),
        ("row,y\n1\n", "ragged_row"),
        ("row," + ",".join("abcdefghijkl") + "\n", "too_many_columns"),
    ],
)
def test_a_file_that_suggests_no_schema_is_refused(text: str, code: str) -> None:
    with pytest.raises(SolutionError) as caught:
        propose(text.encode(), Limits(max_columns=10))
    assert [each.code for each in caught.value.problems] == [code]


@pytest.mark.parametrize(
    ("cells", "kind", "separator", "most"),
    [
        (["a b", "b", "a b c", "c a"], "labels", " ", None),
        (["a;b", "c;a", "b;c", "b;a"], "ranking", ";", 2),
        (["3 1 2", "3 1 2", "3 1 2"], "ranking", " ", 3),
        (["guinea pig", "cat", "dog"], "label", " ", None),
        (["guinea pig", "guinea pig"], "label", " ", None),
    ],
)
def test_lists_are_proposed_where_parts_come_again(
    cells: list[str], kind: str, separator: str, most: int | None
) -> None:
    rows = "".join(f"{row},{cell}\n" for row, cell in enumerate(cells))
    (column,) = propose(f"id,x\n{rows}".encode()).schema.columns
    assert (column.kind, column.separator, column.most) == (kind, separator, most)
