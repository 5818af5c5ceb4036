"""Solution files made by a split: what stands in them, and what can't be split."""

from fractions import Fraction

import pytest

from scoring.errors import ParameterError, SolutionError
from scoring.predictions import Column, RowIds, Schema, read_solution
from scoring.split import Shares, Suspect, find_groups
from scoring.split_table import By, SplitTable, read_columns, split_table

SHARES = Shares(Fraction(1, 5), Fraction(3, 5), Fraction(1, 5))
SCHEMA = Schema("id", (Column("y", "number"),))
DAYS = [f"2026-01-{1 + row // 10:02}" for row in range(100)]
TABLE = "id,day,y\n" + "".join(f"r{row},{day},{row}\n" for row, day in enumerate(DAYS))


def split(table: str = TABLE, by: By = "group", column: str = "day") -> SplitTable:
    return split_table(table.encode(), by, column, SHARES, b"seed")


def test_a_split_by_group_is_a_solution_with_its_groups() -> None:
    found = split()
    assert found.text.startswith("id,Group,y,Usage\nr0,2026-01-01,0,")
    solution = read_solution(found.text.encode(), SCHEMA, RowIds([f"r{row}" for row in range(100)]))
    assert solution.groups is not None
    assert solution.groups.tolist() == [row // 10 for row in range(100)]
    assert found.rows == {"Public": 20, "Private": 60, "Final": 20}
    assert solution.counts().private == 60


def test_a_split_by_time_puts_the_past_first_and_leaves_the_time_out() -> None:
    found = split(by="time")
    rows = [line.split(",") for line in found.text.splitlines()]
    assert rows[0] == ["id", "y", "Usage"]
    assert [usage for *_, usage in rows[1:]] == ["Public"] * 20 + ["Private"] * 60 + ["Final"] * 20


@pytest.mark.parametrize("form", ["{}", "{:06.1f}", "2026-01-01T{:02}:30:00Z"])
def test_times_are_ordered_as_numbers_or_moments(form: str) -> None:
    numbers = range(9, 19)
    table = "t,id,y\n" + "".join(f"{form.format(at)},r{at},0\n" for at in reversed(numbers))
    assert split(table, "time", "t").text.splitlines()[-1] == "r9,0,Public"


def test_a_split_by_row_keeps_every_cell_and_needs_no_column() -> None:
    table = 'id,y\n"a ""b"", c",007\n' + "".join(f"r{row},1.50\n" for row in range(9))
    lines = split(table, "row", "").text.splitlines()
    assert lines[0] == "id,y,Usage"
    assert lines[1].rpartition(",")[0] == '"a ""b"", c",007'
    assert lines[2].startswith("r0,1.50,")


def test_the_seed_decides() -> None:
    other = split_table(TABLE.encode(), "group", "day", SHARES, b"another")
    assert split().text == split().text != other.text


@pytest.mark.parametrize("by", ["row", "time"])
def test_groups_that_are_there_have_to_come_out_whole(by: By) -> None:
    table = "id,t,y,Group\n" + "".join(f"r{row},{row},0,g{row % 3}\n" for row in range(30))
    with pytest.raises(SolutionError) as caught:
        split(table, by, "t" if by == "time" else "")
    assert [each.code for each in caught.value.problems] == ["group_split"]


@pytest.mark.parametrize(
    ("table", "by", "column", "message"),
    [
        (TABLE, "group", "week", "no column “week”, only id, day, y"),
        (TABLE, "time", "week", "no column “week”"),
        (TABLE, "time", "id", "Times are numbers, or written as"),
        ("id,t,y\na,1,0\nb,,0\n", "time", "t", "Times are numbers, or written as"),
        ("id,day,y,usage\na,1,0,Public\n", "row", "", "split already, by its column usage"),
        ("id,day,y,Group\na,1,0,b\n", "group", "day", "a column Group already"),
        ("id,day,y\na,1,0\nb,1,0\n", "group", "day", "gets no rows"),
    ],
)
def test_what_cannot_be_split_is_said(table: str, by: By, column: str, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        split(table, by, column)


@pytest.mark.parametrize(
    ("table", "code"),
    [
        ("id,day,y\n", "no_rows"),
        ("id,day,y\na,1\n", "ragged_row"),
        ("id,day,y\na, ,0\n", "empty_cell"),
        ("", "file_empty"),
    ],
)
def test_what_is_wrong_with_a_table_is_named(table: str, code: str) -> None:
    with pytest.raises(SolutionError) as caught:
        split(table)
    assert [each.code for each in caught.value.problems] == [code]


def test_columns_of_test_data_that_look_like_groups_are_found() -> None:
    header = "id,store,author,note,seen,day,price,empty\n"
    table = header + "".join(
        f"{row},{row % 40},a{row % 20},text {row},2026-01-{1 + row % 28:02}T10:{row % 60:02}:00Z,"
        f"2026-02-{1 + row % 14:02},{row % 30 / 7},{row % 12 if row > 50 else ''}\n"
        for row in range(400)
    )
    assert find_groups(read_columns(table.encode())) == [
        Suspect("store", "values", 40),
        Suspect("author", "values", 20),
        Suspect("seen", "days", 28),
        Suspect("day", "days", 14),
        Suspect("empty", "values", 12),
    ]


@pytest.mark.parametrize("content", [b"\x89PNG", b"", b"a,b\n1\n"])
def test_what_is_no_table_has_no_columns(content: bytes) -> None:
    with pytest.raises(SolutionError):
        read_columns(content)
