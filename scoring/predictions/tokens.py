"""A CSV text as records with their line numbers: the exact, slower half of reading."""

import csv
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass

from scoring.errors import Problem
from scoring.predictions.problems import Problems
from scoring.predictions.source import check_utf8

# Far longer than any row that the limits allow, far shorter than what would fill the memory.
MAX_LINE_LENGTH = 1 << 22
MAX_BLANK_LINES = 1_000_000
# A list of objects, or an object: its commas and quotes would make a broken CSV.
_JSON = re.compile(rb"\s*+(?:\[\s*+)?\{\s*+\"")


@dataclass(frozen=True)
class Header:
    """The first record: its cells, its line (from 1), and where the rows start, in bytes."""

    cells: list[str]
    line: int
    end: int


def read_header(text: bytes, problems: Problems) -> Header:
    """The first record that isn't a blank line."""
    if _JSON.match(text):
        problems.fail(
            Problem(
                "not_csv",
                "This is JSON, not a CSV file.",
                line=1,
                value="JSON",
                expected="a CSV file",
            )
        )
    consumed: list[str] = []
    for line, cells in _records(_lines(text, problems), problems, consumed):
        header = "".join(consumed).encode("utf-8", "surrogateescape")
        check_utf8(header, problems)
        return Header(cells, line, len(header))
    return problems.fail(Problem("file_empty", "The file is empty.", expected="a header and rows"))


def rows(text: bytes, problems: Problems) -> Iterator[tuple[int, list[str]]]:
    """Every record after the header, with the line it starts on; blank lines are passed over.

    The text must be UTF-8. Fails on quotes that don't match and on endless lines, after which
    nobody can say what the rows are.
    """
    records = _records(_lines(text, problems), problems)
    next(records, None)
    yield from records


def _lines(text: bytes, problems: Problems) -> Iterator[str]:
    # Bytes that are not UTF-8 pass through here, so that a header can be read before the whole
    # text has been checked.
    file = io.TextIOWrapper(io.BytesIO(text), "utf-8", "surrogateescape", newline="")
    number = 0
    while line := file.readline(MAX_LINE_LENGTH):
        number += 1
        if len(line) == MAX_LINE_LENGTH and line[-1] not in "\r\n":
            problems.fail(
                Problem(
                    "line_too_long",
                    f"Line {number} is longer than {MAX_LINE_LENGTH} characters.",
                    line=number,
                    expected="one row on each line",
                )
            )
        yield line


def _records(
    lines: Iterator[str], problems: Problems, consumed: list[str] | None = None
) -> Iterator[tuple[int, list[str]]]:
    reader = csv.reader(lines if consumed is None else _recorded(lines, consumed), strict=True)
    blank = 0
    while True:
        line = reader.line_num + 1
        try:
            cells = next(reader, None)
        except csv.Error as error:
            # A cell that goes on over line ends until it is too long has a quote that never closes.
            is_long = "limit" in str(error) and reader.line_num == line
            problems.fail(_too_long(line) if is_long else _broken_quotes(line))
        if cells is None:
            return
        if cells:
            yield line, cells
        elif (blank := blank + 1) > MAX_BLANK_LINES:
            problems.fail(_too_many_blank_lines(line))


def _recorded(lines: Iterator[str], into: list[str]) -> Iterator[str]:
    for line in lines:
        into.append(line)
        yield line


def _too_long(line: int) -> Problem:
    return Problem(
        "cell_too_long",
        f"Line {line}: a cell has more than {csv.field_size_limit()} characters.",
        line=line,
        expected=f"at most {csv.field_size_limit()} characters",
    )


def _broken_quotes(line: int) -> Problem:
    return Problem(
        "broken_quotes",
        f"Line {line}: a quoted cell that starts here doesn't end, or goes on after its closing "
        'quote. Double the quotes inside a cell ("") or leave them out.',
        line=line,
        expected="matching quotes",
    )


def _too_many_blank_lines(line: int) -> Problem:
    return Problem(
        "too_many_rows",
        f"Line {line}: there are more than {MAX_BLANK_LINES} blank lines, which is the limit.",
        line=line,
        expected="rows",
    )
