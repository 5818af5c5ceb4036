"""Tables that are split, or looked at for groups: labels by row, group or time, and test data."""

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyarrow import csv as arrow_csv

from scoring.errors import ParameterError, Problem, SolutionError
from scoring.predictions.exact import even_rows
from scoring.predictions.limits import DEFAULT_LIMITS, Limits
from scoring.predictions.problems import Problems
from scoring.predictions.schema import GROUP_NAMES, USAGE_NAMES
from scoring.predictions.solution import Usage, check_whole
from scoring.predictions.source import Source, read_text
from scoring.predictions.tokens import read_header
from scoring.split import Shares, split_groups, split_rows, split_times

By = Literal["row", "group", "time"]


@dataclass(frozen=True)
class SplitTable:
    """A solution file as CSV, and how many rows each set has by its name."""

    text: str
    rows: Mapping[str, int]


def split_table(source: Source, by: By, column: str, shares: Shares, seed: bytes) -> SplitTable:
    """Return a table with a column `Usage`, as CSV.

    column: what names the groups, which becomes `Group`, or the times, which is left out; of no
        meaning for rows. All other columns stay as they are; groups of a `Group` that is there
        already have to come out whole.
    Raise SolutionError for what is wrong with the table, ParameterError for the rest.
    """
    table = _read(source)
    if by == "group":
        table.rename(column, "Group")
    times = table.take(column) if by == "time" else []
    groups, names = _number_groups(table)
    if by == "time":
        usage = split_times(as_times(times), shares)
    elif by == "group":
        usage = split_groups(groups, shares, seed)
    else:
        usage = split_rows(len(table.rows), shares, seed)
    check_whole(groups, usage, table.lines, names, Problems(SolutionError))
    titles = [each.name.title() for each in (Usage.PUBLIC, Usage.PRIVATE, Usage.FINAL)]
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow([*table.names, "Usage"])
    writer.writerows([*row, titles[at]] for row, at in zip(table.rows, usage, strict=True))
    counts = np.bincount(usage, minlength=len(titles)).tolist()
    return SplitTable(file.getvalue(), dict(zip(titles, counts, strict=True)))


def read_columns(source: Source, limits: Limits = DEFAULT_LIMITS) -> dict[str, NDArray[Any]]:
    """Return what `find_groups` takes of a table: whole numbers, moments, texts as their codes.

    Cells without a value are left out. Raise SolutionError where it is no table.
    """
    problems = Problems(SolutionError)
    text = read_text(source, limits, problems)
    try:
        table = arrow_csv.read_csv(
            pa.BufferReader(text), parse_options=arrow_csv.ParseOptions(newlines_in_values=True)
        )
    except pa.ArrowException:
        return problems.fail(Problem("not_csv", value="a table"))
    return values_of(table)


def values_of(table: pa.Table) -> dict[str, NDArray[Any]]:
    """Return what `find_groups` takes of a table that was read."""
    found = dict[str, NDArray[Any]]()
    for name, column in zip(table.column_names, table.columns, strict=True):
        values = column.drop_null()
        if pa.types.is_string(values.type):
            values = pc.dictionary_encode(values.combine_chunks()).indices
        kinds = (pa.types.is_integer, pa.types.is_date, pa.types.is_timestamp)
        if any(is_kind(values.type) for is_kind in kinds):
            found[name] = values.to_numpy()
    return found


@dataclass(frozen=True)
class _Table:
    """Cells as texts, row by row, and the line of each row."""

    names: list[str]
    rows: list[list[str]]
    lines: NDArray[np.int32]

    def find(self, names: Sequence[str]) -> int | None:
        """Return where a column of one of these names is."""
        folded = (name.strip().casefold() for name in self.names)
        return next((at for at, name in enumerate(folded) if name in names), None)

    def take(self, column: str) -> list[str]:
        """Take a column out, and return its cells."""
        at = self._index(column)
        del self.names[at]
        return [row.pop(at) for row in self.rows]

    def rename(self, column: str, name: str) -> None:
        """Give a column the name of one that there is none of yet."""
        at = self._index(column)
        if self.find((name.casefold(),)) not in (None, at):
            raise ParameterError("column", f"The table has a column {name} already.")
        self.names[at] = name

    def _index(self, column: str) -> int:
        if column not in self.names:
            known = ", ".join(self.names)
            raise ParameterError("column", f"There is no column “{column}”, only {known}.")
        return self.names.index(column)


def _read(source: Source) -> _Table:
    problems = Problems(SolutionError)
    text = read_text(source, DEFAULT_LIMITS, problems)
    header = read_header(text, problems)
    found = list(even_rows(text, header, DEFAULT_LIMITS, problems))
    problems.raise_any()
    if not found:
        problems.fail(Problem("no_rows"))
    lines = np.fromiter((line for line, _ in found), np.int32)
    table = _Table(list(header.cells), [cells for _, cells in found], lines)
    if (at := table.find(USAGE_NAMES)) is not None:
        raise ParameterError("file", f"It is split already, by its column {table.names[at]}.")
    return table


def _number_groups(table: _Table) -> tuple[NDArray[np.int64], list[str]]:
    """Return the number of each row's group, and their names; without `Group` each is its own."""
    if (at := table.find(GROUP_NAMES)) is None:
        return np.arange(len(table.rows)), []
    texts = [row[at].strip() for row in table.rows]
    if "" in texts:
        line = int(table.lines[texts.index("")])
        problem = Problem("empty_cell", line=line, column="Group", value="", kind="group")
        Problems(SolutionError).fail(problem)
    names = sorted(set(texts))
    numbers = dict(zip(names, range(len(names)), strict=True))
    return np.fromiter(map(numbers.__getitem__, texts), np.int64), names


def as_times(cells: Sequence[str]) -> NDArray[Any]:
    """Return cells as numbers, or else as moments, UTC where they name no zone.

    Raise ParameterError where they are neither.
    """
    for kind in (np.float64, np.dtype("datetime64[us]")):
        try:
            times = np.array([cell.strip().removesuffix("Z") for cell in cells], kind)
        except ValueError:
            continue
        if not np.any(np.isnan(times)):
            return times
    raise ParameterError(
        "column", "Times are numbers, or written as 2026-01-31 or 2026-01-31T12:00."
    )
