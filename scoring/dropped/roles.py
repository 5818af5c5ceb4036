"""Which of the dropped files is which, by their names, then by their columns."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
from pyarrow import csv as arrow_csv

from scoring.errors import ParameterError, Problem, SolutionError
from scoring.predictions.header import refuse_other_formats, refuse_unknown_delimiter
from scoring.predictions.limits import DEFAULT_LIMITS
from scoring.predictions.problems import Problems
from scoring.predictions.schema import USAGE_NAMES
from scoring.predictions.source import read_text
from scoring.predictions.tokens import read_header

ROLES: Final = ("train", "test", "solution", "sample")
# In this order: `test_labels.csv` holds labels, `sample_submission_test.csv` none.
_NAMES: Final = (
    ("sample", re.compile(r"sample|submission|example")),
    ("solution", re.compile(r"solution|truth|answer|labels?\b|_y\b|y_test")),
    ("train", re.compile(r"train|learn")),
    ("test", re.compile(r"test|unlabell?ed|eval")),
)


@dataclass(frozen=True, eq=False, repr=False)
class Sheet:
    """A dropped table: its file name, its header, and its beginning as UTF-8 text.

    It may be the solution, so that it shows nothing of itself.
    """

    name: str
    header: tuple[str, ...]
    text: bytes
    is_whole: bool

    def has(self, names: Sequence[str]) -> str | None:
        """Return the first column that is called one of these, in any case."""
        return next((cell for cell in self.header if cell.strip().casefold() in names), None)

    def cells(self, columns: Sequence[str]) -> dict[str, pa.ChunkedArray]:
        """Return the cells of these columns as texts. Raise ParameterError where it is no table."""
        kinds = dict.fromkeys(columns, pa.string())
        table = self._read(
            arrow_csv.ConvertOptions(
                include_columns=list(kinds), column_types=kinds, strings_can_be_null=False
            )
        )
        return {name: table[name] for name in kinds}

    def table(self) -> pa.Table:
        """Return all columns, each of the type that its cells have."""
        return self._read(arrow_csv.ConvertOptions())

    def _read(self, options: arrow_csv.ConvertOptions) -> pa.Table:
        try:
            return arrow_csv.read_csv(
                pa.BufferReader(self.text),
                read_options=arrow_csv.ReadOptions(use_threads=False),
                parse_options=arrow_csv.ParseOptions(newlines_in_values=True),
                convert_options=options,
            )
        except (pa.ArrowException, KeyError) as error:
            raise ParameterError("file", f"{self.name} is no table: {shorten(error)}") from None


def open_sheet(name: str, head: bytes, *, is_whole: bool) -> Sheet:
    """Return a table by its beginning. Raise SolutionError where that is none."""
    problems = Problems(SolutionError)
    text = read_text(head, DEFAULT_LIMITS, problems)
    if not is_whole:
        text = text[: text.rfind(b"\n") + 1]
    header = read_header(text, problems)
    refuse_other_formats(header, problems)
    refuse_unknown_delimiter(header, problems)
    seen = set[str]()
    for cell in header.cells:
        if cell in seen:
            problem = Problem(
                "duplicate_column", line=header.line, column=cell, value=cell, count=2
            )
            problems.add(problem, alike=cell)
        seen.add(cell)
    problems.raise_any()
    return Sheet(name, tuple(header.cells), text, is_whole)


def assign_roles(sheets: Sequence[Sheet]) -> dict[str, Sheet]:
    """Return the role of each file. Raise ParameterError naming files of which nobody can tell."""
    found, left = dict[str, Sheet](), list[Sheet]()
    for sheet in sheets:
        stem = sheet.name.casefold().partition(".")[0].replace("-", "_")
        role = next((role for role, pattern in _NAMES if pattern.search(stem)), None)
        if role is None and sheet.has(USAGE_NAMES):
            role = "solution"
        if role is None:
            left.append(sheet)
        elif role in found:
            both = f"{found[role].name} and {sheet.name}"
            raise ParameterError("files", f"{both} both look like the {TITLES[role]}.")
        else:
            found[role] = sheet
    missing = [role for role in ("train", "test", "solution") if role not in found]
    if left and len(left) == len(missing) == 1:
        return {**found, missing[0]: left[0]}
    if left:
        names = ", ".join(each.name for each in left)
        raise ParameterError(
            "files",
            f"{names}: nobody can tell what this is. Name files train.csv, test.csv, solution.csv "
            "and sample_submission.csv, or choose them one by one.",
        )
    return found


TITLES: Final = {
    "train": "training data",
    "test": "test data",
    "solution": "solution",
    "sample": "sample submission",
}


def shorten(error: Exception) -> str:
    """Return what a reader complained of, without the rows that it read."""
    text = str(error).partition("\n")[0]
    return re.sub(r"(columns, got [0-9]+):.*", r"\1.", text)[:200]
