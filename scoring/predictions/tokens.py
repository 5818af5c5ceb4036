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
    """Return the first record that isn't a blank line."""
    if _JSON.match(text):
        problems.fail(Problem("not_csv", line=1, value="JSON"))
    consumed: list[str] = []
    for line, cells in records(text, problems, consumed):
        header = "".join(consumed).encode("utf-8", "surrogateescape")
        check_utf8(header, problems)
        return Header(cells, line, len(header))
    return problems.fail(Problem("file_empty"))


def _lines(text: bytes, problems: Problems, consumed: list[str] | None) -> Iterator[str]:
    # Bytes that are not UTF-8 pass through here, so that a header can be read before the whole
    # text has been checked.
    file = io.TextIOWrapper(io.BytesIO(text), "utf-8", "surrogateescape", newline="")
    number = 0
    while line := file.readline(MAX_LINE_LENGTH):
        number += 1
        if len(line) == MAX_LINE_LENGTH and line[-1] not in "\r\n":
            problems.fail(Problem("line_too_long", line=number, limit=MAX_LINE_LENGTH))
        if consumed is not None:
            consumed.append(line)
        yield line


def records(
    text: bytes, problems: Problems, consumed: list[str] | None = None
) -> Iterator[tuple[int, list[str]]]:
    """Yield the header and every row, with the line it starts on; blank lines are left out.

    Fail on quotes that don't match and on endless lines, after which nobody can say what the rows
    are. The lines that records are made of go into `consumed`.
    """
    reader = csv.reader(_lines(text, problems, consumed), strict=True)
    blank = 0
    while True:
        line = reader.line_num + 1
        try:
            cells = next(reader, None)
        except csv.Error as error:
            # A cell that goes on over line ends until it is too long has a quote that never closes.
            if "limit" in str(error) and reader.line_num == line:
                limit = csv.field_size_limit()
                problems.fail(Problem("cell_too_long", variant="csv", line=line, limit=limit))
            problems.fail(Problem("broken_quotes", line=line))
        if cells is None:
            return
        if cells:
            yield line, cells
        elif (blank := blank + 1) > MAX_BLANK_LINES:
            blank = MAX_BLANK_LINES
            problems.fail(Problem("too_many_rows", variant="blank", line=line, blank=blank))
