"""What is wrong with a prediction file is named: code, line, column, value, what was expected."""

import gzip
import json
import tracemalloc

import pytest

from scoring.errors import PredictionError, Problem
from scoring.predictions import REJECTIONS, Column, Limits, RowIds, Schema, read_predictions
from scoring.predictions.problems import METRIC_SAYS, metric_refused
from tests.scoring.files import (
    GOOD,
    HEADER,
    IDS,
    ROW_IDS,
    SCHEMA,
    problem,
    read,
    rejection,
    rows_of,
    with_line,
)

NUMBERS = Schema("id", (Column("x", "number"),))


def with_header(header: str) -> str:
    return with_line(1, header)


def with_cell(column: str, text: str) -> str:
    """Return the good file with another text in a column of line 5."""
    row = {"id": "13", "label": "3", "p": "0.13", "price": "13.5"}
    return with_line(5, ",".join((row | {column: text}).values()))


# file -> code, message
REFUSED: dict[str, tuple[str | bytes, str, str]] = {
    "nothing": ("", "file_empty", "The file is empty."),
    "blank lines": (" \n\r\n\t\n", "file_empty", "The file is empty."),
    "a mark alone": ("\ufeff", "file_empty", "The file is empty."),
    "blank lines and a mark": ("\ufeff\n\n", "file_empty", "The file is empty."),
    "header only": (HEADER, "no_rows", "The file has a header and no rows."),
    "pdf": (
        b"%PDF-1.7\n",
        "binary_file",
        "This is a PDF, not a CSV file. Save the table as CSV (UTF-8).",
    ),
    "UTF-16": (
        GOOD.encode("utf-16"),
        "not_utf8",
        "The file is UTF-16 (Excel calls it Unicode Text). Save it as CSV UTF-8.",
    ),
    "UTF-16 without a mark": (
        GOOD.encode("utf-16-be"),
        "not_utf8",
        "The file is UTF-16 (Excel calls it Unicode Text). Save it as CSV UTF-8.",
    ),
    "UTF-32": (GOOD.encode("utf-32"), "not_utf8", "The file is UTF-32. Save it as CSV UTF-8."),
    "UTF-32 without a mark": (
        GOOD.encode("utf-32-le"),
        "not_utf8",
        "The file is UTF-32. Save it as CSV UTF-8.",
    ),
    "a cut gzip": (gzip.compress(GOOD.encode())[:-9], "gzip_damaged", "The gzip file is cut off."),
    "a damaged gzip": (
        b"\x1f\x8b\x08\x00" + bytes(20) + b"\xff" * 20,
        "gzip_damaged",
        "The gzip file is damaged.",
    ),
}
# column, its cell on line 5 -> code, what is wrong with it
WRONG_CELLS: dict[str, tuple[str, str, str, str]] = {
    "an empty number": ("p", "", "empty_cell", "the cell is empty; give a number from 0 to 1."),
    "an empty label": ("label", "", "empty_cell", "the cell is empty; give one of 0-9."),
    "NaN": ("p", "NaN", "missing_value", "'NaN' is no value; every row needs a number."),
    "infinity": ("price", "-inf", "infinite", "'-inf' is infinite; give a finite number."),
    "an overflow": (
        "price",
        "1e400",
        "number_too_large",
        "'1e400' is beyond a 64-bit floating-point number (1.8e308 at most).",
    ),
    "thousands": (
        "price",
        '"1,234.5"',
        "thousands_separator",
        "'1,234.5' has thousands separators; write 1234.5.",
    ),
    "underscores": (
        "price",
        "1_234",
        "thousands_separator",
        "'1_234' has thousands separators; write 1234.",
    ),
    "a decimal comma": ("p", '"0,13"', "decimal_comma", "'0,13' has a decimal comma; write 0.13."),
    "a decimal comma before three digits": (
        "price",
        '"0,125"',
        "decimal_comma",
        "'0,125' has a decimal comma; write 0.125.",
    ),
    "a percentage": ("p", "13%", "not_a_number", "'13%' is not a number; write 0.5, not 50%."),
    "hexadecimal": ("price", "0x10", "not_a_number", "'0x10' is not a number."),
    "digits of another script": ("price", "١٢", "not_a_number", "'١٢' is not a number."),
    "a probability above 1": (
        "p",
        "1.0000001",
        "probability_out_of_range",
        "'1.0000001' is not a probability from 0 to 1.",
    ),
    "a negative probability": (
        "p",
        "-1e-9",
        "probability_out_of_range",
        "'-1e-9' is not a probability from 0 to 1.",
    ),
    "an unknown label": ("label", "cat", "unknown_label", "'cat' is not one of 0-9."),
    "a label as a float": (
        "label",
        "3.0",
        "unknown_label",
        "'3.0' is not one of 0-9; did you mean '3'?",
    ),
    "a label with a space": (
        "label",
        "3 ",
        "unknown_label",
        "'3 ' is not one of 0-9; did you mean '3'?",
    ),
    "a long cell": (
        "label",
        "3" * 1001,
        "cell_too_long",
        "the cell has 1001 characters; 1000 are the limit.",
    ),
}
# file -> code, line, column, message
REJECTED: dict[str, tuple[str | bytes, str, int | None, str | None, str]] = {
    "NUL": (
        with_line(3, "11,1,0.\x0011,11.5"),
        "binary_file",
        3,
        None,
        "Line 3: byte 40 of the text is NUL, so it isn't text. Upload a CSV file.",
    ),
    "nothing but NULs": (
        bytes(4096),
        "binary_file",
        1,
        None,
        "Line 1: byte 1 of the text is NUL, so it isn't text. Upload a CSV file.",
    ),
    "Windows-1252": (
        with_line(3, "é11,1,0.11,11.5").encode("cp1252"),
        "not_utf8",
        3,
        None,
        (
            "Line 3: byte 33 of the text, 0xE9 ('é' in Windows-1252?), is not UTF-8. "
            "Save the file as UTF-8."
        ),
    ),
    "a header in Windows-1252": (
        with_header("id,é,p,price").encode("cp1252"),
        "not_utf8",
        1,
        None,
        (
            "Line 1: byte 4 of the text, 0xE9 ('é' in Windows-1252?), is not UTF-8. "
            "Save the file as UTF-8."
        ),
    ),
    "a cut character": (
        GOOD.encode() + b"\xe2\x82",
        "not_utf8",
        22,
        None,
        (
            "Line 22: byte 318 of the text, 0xE2 ('â' in Windows-1252?), is not UTF-8. "
            "Save the file as UTF-8."
        ),
    ),
    "a web page": (
        "<!DOCTYPE html>\n<html>",
        "not_csv",
        1,
        None,
        "This is a web page or XML, not a CSV file.",
    ),
    "JSON of pandas": (
        '[{"id":10,"p":1},{"id":11,"p":0}]',
        "not_csv",
        1,
        None,
        "This is JSON, not a CSV file.",
    ),
    "JSON": ('[{"id": 10, "p": 1}]', "not_csv", 1, None, "This is JSON, not a CSV file."),
    "semicolons": (
        GOOD.replace(",", ";"),
        "wrong_delimiter",
        1,
        None,
        "Line 1: columns are separated by semicolons; use commas.",
    ),
    "tabs": (
        GOOD.replace(",", "\t"),
        "wrong_delimiter",
        1,
        None,
        "Line 1: columns are separated by tabs; use commas.",
    ),
    "no header": (
        "\n".join(rows_of()),
        "header_missing",
        1,
        None,
        "Line 1 is a row of data; the header 'id,label,p,price' is missing.",
    ),
    "a missing column": (
        "\n".join(line.rsplit(",", 1)[0] for line in GOOD.splitlines()),
        "missing_column",
        1,
        "price",
        (
            "Line 1: the column 'price' is missing; the header has to be 'id,label,p,price', in "
            "any order."
        ),
    ),
    "a misspelt column": (
        with_header("id,lable,p,price"),
        "misspelt_column",
        1,
        "label",
        "Line 1: the column 'lable' has to be called 'label'.",
    ),
    "another case": (
        with_header("ID,label,p,price"),
        "misspelt_column",
        1,
        "id",
        "Line 1: the column 'ID' has to be called 'id' (upper and lower case differ).",
    ),
    "spaces in the header": (
        with_header("id, label,p,price"),
        "misspelt_column",
        1,
        "label",
        "Line 1: the column ' label' has to be called 'label', without spaces around it.",
    ),
    "an extra column": (
        "\n".join(f"{line},1" for line in GOOD.splitlines()).replace(",1", ",weight", 1),
        "extra_column",
        1,
        "weight",
        "Line 1: the column 'weight' isn't expected; the columns are 'id', 'label', 'p', 'price'.",
    ),
    "a pandas index": (
        "\n".join(f"{i},{line}" for i, line in enumerate(GOOD.splitlines())).replace("0", "", 1),
        "extra_column",
        1,
        "",
        (
            "Line 1: column 1 has no name (pandas: write with `index=False`); the columns are "
            "'id', 'label', 'p', 'price'."
        ),
    ),
    "a doubled column": (
        "\n".join(f"{line},{line.split(',')[2]}" for line in GOOD.splitlines()),
        "duplicate_column",
        1,
        "p",
        "Line 1: the column 'p' is there 2 times.",
    ),
    "too few cells": (
        with_line(5, "13,3,0.13"),
        "ragged_row",
        5,
        None,
        "Line 5 has 3 cells, the header has 4.",
    ),
    "one cell": (with_line(5, "13"), "ragged_row", 5, None, "Line 5 has 1 cell, the header has 4."),
    "a decimal comma makes a cell": (
        with_line(5, "13,3,0.13,13,5"),
        "ragged_row",
        5,
        None,
        "Line 5 has 5 cells, the header has 4 (a decimal comma? Write 0.5, not 0,5).",
    ),
    "an open quote": (
        with_line(5, '13,3,"0.13,13.5'),
        "broken_quotes",
        5,
        None,
        (
            "Line 5: a quoted cell that starts here doesn't end, or goes on after its closing "
            'quote. Double the quotes inside a cell ("") or leave them out.'
        ),
    ),
    "text after a quote": (
        with_line(5, '13,3,"0.13" ,13.5'),
        "broken_quotes",
        5,
        None,
        (
            "Line 5: a quoted cell that starts here doesn't end, or goes on after its closing "
            'quote. Double the quotes inside a cell ("") or leave them out.'
        ),
    ),
    "a missing row": (
        GOOD.replace("13,3,0.13,13.5\n", ""),
        "missing_id",
        None,
        "id",
        "1 id of the sample file's 20 is missing ('13').",
    ),
    "many missing rows": (
        "\n".join([HEADER, *rows_of(IDS[:-7])]),
        "missing_id",
        None,
        "id",
        "7 ids of the sample file's 20 are missing ('23', '24', '25', '26', '27', …).",
    ),
    "an id twice": (
        GOOD + "13,3,0.13,13.5\n",
        "duplicate_id",
        22,
        "id",
        "Line 22, column `id`: the id '13' is on line 5 already.",
    ),
    "an id too many": (
        GOOD + "99,9,0.5,1\n",
        "unknown_id",
        22,
        "id",
        "Line 22, column `id`: '99' is no id of the sample file.",
    ),
    "an empty id": (
        GOOD + ",9,0.5,1\n",
        "empty_id",
        22,
        "id",
        "Line 22, column `id`: the id is empty.",
    ),
    **{name: (file, code, None, None, says) for name, (file, code, says) in REFUSED.items()},
    **{
        name: (with_cell(column, cell), code, 5, column, f"Line 5, column `{column}`: {says}")
        for name, (column, cell, code, says) in WRONG_CELLS.items()
    },
}


@pytest.mark.parametrize("case", REJECTED.values(), ids=REJECTED.keys())
def test_the_problem_is_named_exactly(
    case: tuple[str | bytes, str, int | None, str | None, str],
) -> None:
    file, code, line, column, message = case
    found = problem(file)
    assert (found.code, found.line, found.column) == (code, line, column)
    assert found.message == message
    stored = json.loads(json.dumps(found.to_json(), ensure_ascii=False).encode())
    assert Problem.from_json(stored).render() == found.render()


def test_every_code_is_listed() -> None:
    assert {case[1] for case in REJECTED.values()} <= set(REJECTIONS)


LINE_ENDS = {"LF": "\n", "CR LF": "\r\n", "CR": "\r"}


@pytest.mark.parametrize("end", LINE_ENDS.values(), ids=LINE_ENDS.keys())
def test_lines_are_counted_with_every_line_end(end: str) -> None:
    assert problem(with_line(7, "15,x,0.15,15.5").replace("\n", end)).line == 7


def test_lines_are_counted_over_blank_ones_and_a_byte_order_mark() -> None:
    assert problem("\ufeff\n" + with_line(7, "\n\n15,x,0.15,15.5")).line == 10


def test_lines_are_counted_over_line_ends_in_quotes() -> None:
    row_ids = RowIds(["a\r\nb", "c\nd", "e"])
    found = problem('id,x\n"a\r\nb",1\n"c\nd",2\ne,three\n', NUMBERS, row_ids)
    assert (found.line, found.message) == (6, "Line 6, column `x`: 'three' is not a number.")


def test_a_record_of_several_lines_is_named_by_its_first() -> None:
    assert problem('id,x\n"a\n\nb",y\nc,1\n', NUMBERS, RowIds(["a\n\nb", "c"])).line == 2


def test_a_repeated_problem_is_told_once_with_its_lines() -> None:
    text = GOOD
    for number in (3, 6, 9, 12):
        text = text.replace(f"{number + 8},{(number + 8) % 10},", f"{number + 8},cat ,")
    error = rejection(text)
    assert error.total == 4
    assert [each.message for each in error.problems] == [
        "Line 3, column `label`: 'cat ' is not one of 0-9. 3 more lines like it (6, 9, 12)."
    ]


def test_many_lines_alike_are_cut_short() -> None:
    error = rejection(GOOD.replace(",0.", ",7."))
    assert error.total == 20
    assert error.problems[0].message == (
        "Line 2, column `p`: '7.10' is not a probability from 0 to 1. "
        "19 more lines like it (3, 4, 5, 6, 7, …)."
    )


def test_different_wrong_labels_are_told_apart_up_to_ten() -> None:
    rows = [f"{each},class {each},0.5,1" for each in IDS]
    error = rejection("\n".join([HEADER, *rows]))
    assert error.total == 20
    assert [each.line for each in error.problems] == list(range(2, 12))


def test_every_kind_of_problem_is_among_the_first_ten() -> None:
    rows = [f"{each},class {each},0.5,1" for each in IDS[:-3]]
    rows += ["27,1,2,1", "28,1,0.5,nan", "28,1,0.5", "spam,1,0.5,1"]
    error = rejection("\n".join([HEADER, *rows]))
    assert len(error.problems) == 10
    assert {each.code for each in error.problems} == {
        "unknown_label",
        "probability_out_of_range",
        "missing_value",
        "ragged_row",
        "unknown_id",
        "missing_id",
    }
    lines = [each.line for each in error.problems]
    assert lines == sorted(lines, key=lambda line: line or 99)


def test_a_header_is_explained_as_a_whole() -> None:
    error = rejection(with_header("ID,lable,q,q"))
    assert [(each.code, each.column) for each in error.problems] == [
        ("misspelt_column", "id"),
        ("extra_column", "q"),
        ("missing_column", "p"),
        ("misspelt_column", "label"),
        ("missing_column", "price"),
    ]


def test_a_swapped_id_is_unknown_and_another_missing() -> None:
    error = rejection(with_line(5, "130,3,0.13,13.5"))
    assert [each.code for each in error.problems] == ["unknown_id", "missing_id"]


def test_a_duplicate_in_place_of_another_is_found() -> None:
    error = rejection(with_line(5, "12,3,0.13,13.5"))
    assert [each.code for each in error.problems] == ["duplicate_id", "missing_id"]


def test_a_ragged_row_is_not_a_missing_one() -> None:
    assert [each.code for each in rejection(with_line(5, "13,3")).problems] == ["ragged_row"]


@pytest.mark.parametrize("written", ["13.0", "1.3e1", "0xD"])
def test_an_id_that_is_no_integer_is_unknown(written: str) -> None:
    found = rejection(with_line(5, f"{written},3,0.13,13.5")).problems[0]
    assert found.code == "unknown_id"
    hint = "; did you mean '13'?" if written == "13.0" else "."
    assert found.message.endswith(f"'{written}' is no id of the sample file{hint}")


@pytest.mark.parametrize(
    ("written", "hint"),
    [
        (" b7", " and has spaces around it; did you mean 'b7'?"),
        ("07", "; did you mean '7'?"),
    ],
)
def test_text_ids_are_compared_exactly_with_a_hint(written: str, hint: str) -> None:
    found = rejection(f"id,x\n{written},1\n", NUMBERS, RowIds(["b7", "7"])).problems[0]
    assert found.message.endswith(f"'{written}' is no id of the sample file{hint}")


def test_a_mistyped_text_id_gets_a_suggestion() -> None:
    row_ids = RowIds(["image_0001", "picture_77"])
    found = rejection("id,x\nimage_0001,1\npictur_77,2\n", NUMBERS, row_ids).problems[0]
    assert found.expected == "picture_77"


def test_labels_of_another_case_or_nearly_right_get_a_suggestion() -> None:
    schema = Schema("id", (Column("pet", "label", ("cat", "guinea pig")),))
    error = rejection("id,pet\na,Cat\nb,guinea pg\nc,dog\n", schema, RowIds(["a", "b", "c"]))
    assert [each.message.partition(" is not ")[2] for each in error.problems] == [
        "one of cat, guinea pig; did you mean 'cat'?",
        "one of cat, guinea pig; did you mean 'guinea pig'?",
        "one of cat, guinea pig.",
    ]


def test_values_are_shown_short_and_without_invisible_characters() -> None:
    found = problem(with_line(5, "13,\u202egnp\x1b[31m" + "x" * 500 + ",0.13,13.5"))
    assert found.value is not None
    assert len(found.value) < 100
    assert found.message.isprintable()


def test_what_a_custom_metric_says_is_one_line_without_invisible_characters() -> None:
    found = metric_refused(" too many\n\tzeros\0\udc80\u202e" + "!" * 1000)
    assert found.message.startswith("too many zeros\\x00\\udc80\\u202e!!")
    assert len(found.message) == METRIC_SAYS
    assert metric_refused(" \n").message == "The metric refuses this file."


LIMITED = {
    "bytes": (Limits(max_bytes=100), "too_many_bytes"),
    "rows": (Limits(max_rows=19), "too_many_rows"),
    "columns": (Limits(max_columns=3), "too_many_columns"),
}


@pytest.mark.parametrize("case", LIMITED.values(), ids=LIMITED.keys())
def test_limits_hold_for_good_files_too(case: tuple[Limits, str]) -> None:
    with pytest.raises(PredictionError) as caught:
        read_predictions(GOOD.encode(), SCHEMA, ROW_IDS, case[0])
    assert [each.code for each in caught.value.problems] == [case[1]]


def test_a_gzip_bomb_is_not_expanded() -> None:
    bomb = gzip.compress(bytes(2**24))
    limits = Limits(max_bytes=len(bomb), max_expanded_bytes=10**6)
    with pytest.raises(PredictionError) as caught:
        read_predictions(bomb, SCHEMA, ROW_IDS, limits)
    assert caught.value.problems[0].message == (
        "The file expands to more than 1 MB, which is the limit."
    )


def test_an_endless_line_is_named() -> None:
    assert problem(GOOD + "9" * 2**22 + "9").code == "line_too_long"


def test_a_quote_that_is_never_closed_is_found_in_a_long_file() -> None:
    assert problem(with_line(5, '13,3,"0.13,13.5') + "1,2,3,4\n" * 50_000).code == "broken_quotes"


def test_rows_are_read_no_further_than_twice_the_expected_ones() -> None:
    error = rejection(GOOD + "10,1,0.5,1\n" * 2_000_000)
    assert error.problems[-1].code == "too_many_rows"
    assert error.total < 1_100


def test_blank_lines_are_passed_over_up_to_a_limit() -> None:
    assert read(GOOD.replace("\n", "\n" * 2_000)).rows == len(IDS)
    assert problem(GOOD + "\n" * 1_100_000).code == "too_many_rows"


def test_a_file_of_quotes_is_refused_in_memory_that_its_size_bounds() -> None:
    size = 8 * 2**20
    tracemalloc.start()
    try:
        assert rejection(HEADER + "\n" + '"' * size).problems
        assert tracemalloc.get_traced_memory()[1] < 8 * size
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("end", ["x", ".x", " x", "e", "e1x"])
def test_a_very_long_wrong_number_takes_no_longer_than_its_length(end: str) -> None:
    """A grammar that goes back over its digits would take hours."""
    assert problem(with_line(5, f"13,3,0.13,{'7' * 100_000}{end}")).code == "cell_too_long"


@pytest.mark.parametrize("line", [1, 3])
@pytest.mark.parametrize("quote", ["", '"'])
def test_a_cell_beyond_all_measure_is_named_as_such(line: int, quote: str) -> None:
    found = problem(with_line(line, f"{quote}{'9' * 140_000}{quote},1,0.5,2.5"))
    assert (found.code, found.line) == ("cell_too_long", line)
    assert found.message == f"Line {line}: a cell has more than 131072 characters."


def test_a_quote_that_never_closes_is_named_as_such_however_much_follows() -> None:
    found = problem(with_line(3, '"11,1,0.5,2.5') + "9\n" * 100_000)
    assert (found.code, found.line) == ("broken_quotes", 3)


def test_of_many_columns_the_first_and_the_last_are_told() -> None:
    names = [f"breed{n}" for n in range(120)]
    schema = Schema("id", tuple(Column(name, "probability") for name in names))
    row_ids = RowIds(["1"])
    with pytest.raises(PredictionError) as caught:
        read_predictions(b"id,cat\n1,0.5\n", schema, row_ids)
    first, *others = caught.value.problems
    assert first.message == (
        "Line 1: the column 'cat' isn't expected; the columns are 'id', 'breed0', 'breed1', "
        "'breed2', 'breed3', …, 'breed119' (121 columns)."
    )
    assert first.expected == "id,breed0,breed1,breed2,breed3,…,breed119 (121 columns)"
    assert all(len(each.message) < 300 for each in others)
