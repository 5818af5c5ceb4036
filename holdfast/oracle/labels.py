"""The labels as a file has them: columns, ids, splits, and the rules that they are read by.

What no option says follows from the file: its first column is the id, other columns that are not
`Usage`, `Weight` or `Group` are labels, of the kind that the metric takes.
"""

import csv
import io
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import BinaryIO

import numpy as np

from holdfast.checking import rejected
from holdfast.errors import Failure
from scoring.errors import ParameterError, SolutionError
from scoring.metrics import Metric
from scoring.predictions import Column, Limits, RowIds, Schema, Solution, Usage, read_solution
from scoring.predictions.exact import even_rows
from scoring.predictions.guesses import guess
from scoring.predictions.problems import Problems
from scoring.predictions.schema import GROUP_NAMES, USAGE_NAMES, WEIGHT_NAMES
from scoring.predictions.source import check_utf8, read_text
from scoring.predictions.tokens import read_header
from scoring.split import Shares, split_groups, split_rows

ROW = "row"  # the id column of a file that has none
RESERVED = (*USAGE_NAMES, *WEIGHT_NAMES, *GROUP_NAMES)


@dataclass(frozen=True)
class Layout:
    """What was said of the file.

    id_column: "" for the first one. targets: the columns of labels, () for all that are left.
    public: the share of rows that becomes Public; None where a column `Usage` says it, or none is.
    """

    id_column: str = ""
    targets: tuple[str, ...] = ()
    public: Fraction | None = None
    schema: Schema | None = None


@dataclass(frozen=True, repr=False)
class Labels:
    """The labels of all rows, and the ids that predictions come with."""

    schema: Schema
    row_ids: RowIds
    solution: Solution


@dataclass(frozen=True, repr=False)
class _Table:
    names: list[str]
    rows: list[list[str]]

    def find(self, names: Sequence[str]) -> str | None:
        return next((name for name in self.names if name.strip().casefold() in names), None)

    def cells(self, name: str) -> list[str]:
        at = self.names.index(name)
        return [row[at] for row in self.rows]


def read_labels(source: BinaryIO, name: str, layout: Layout, metric: Metric, seed: bytes) -> Labels:
    """Return the labels of a file. Raises Failure with what is wrong with it.

    seed: of the split into Public and Private rows, as secret as the split.
    """
    try:
        table = _read(source)
        id_column, ids = _ids(table, name, layout)
        schema = layout.schema or _schema(table, id_column, name, layout, metric)
        row_ids = _row_ids(ids, id_column, name)
        text = _solution_text(table, schema, ids, name, layout, seed)
        return Labels(schema, row_ids, read_solution(text, schema, row_ids))
    except SolutionError as error:
        raise rejected(f"The labels in {name} can't be read.", error) from None
    except ParameterError as error:
        raise Failure(f"The labels in {name} don't fit: {error.message}") from None


def _read(source: BinaryIO) -> _Table:
    problems, limits = Problems(SolutionError), Limits()
    text = read_text(source, limits, problems)
    check_utf8(text, problems)
    header = read_header(text, problems)
    rows = [cells for _, cells in even_rows(text, header, limits, problems)]
    problems.raise_any()
    return _Table(list(header.cells), rows)


def _ids(table: _Table, name: str, layout: Layout) -> tuple[str, list[str]]:
    """Return the name of the id column and the ids: row numbers where only labels are there."""
    plain = [each for each in table.names if each.strip().casefold() not in RESERVED]
    wanted = layout.schema.id_column if layout.schema else layout.id_column
    if not wanted and len(plain) > 1:
        wanted = next((each for each in plain if each not in layout.targets), "")
    if not wanted:
        return ROW, [str(row) for row in range(len(table.rows))]
    _check_columns(table, [wanted], name)
    return wanted, [cell.strip() for cell in table.cells(wanted)]


def _schema(table: _Table, id_column: str, name: str, layout: Layout, metric: Metric) -> Schema:
    known = {id_column.casefold(), *RESERVED}
    targets = layout.targets or tuple(
        each for each in table.names if each.strip().casefold() not in known
    )
    _check_columns(table, targets, name)
    if metric.columns == "one" and len(targets) != 1:
        raise Failure(
            f"{name} has {len(targets)} columns besides the id, and {metric.title} takes one: "
            f"{', '.join(targets[:8]) or 'none is left'}.",
            hint="Name the column of the labels with --target.",
        )
    return Schema(id_column, tuple(_column(each, table.cells(each), metric) for each in targets))


def _column(name: str, cells: list[str], metric: Metric) -> Column:
    """Return a column as the metric takes it; classes are those that the labels have."""
    distinct = dict.fromkeys(cells)
    guesses = {each.kind: each for each in guess(name, distinct).guesses}
    kind = next((each for each in guesses if each in metric.takes), metric.takes[0])
    if kind == "label" and kind not in guesses:
        classes = tuple(sorted(cell for cell in distinct if cell.strip()))
        return Column(name, kind, classes)
    found = guesses.get(kind)
    if found is None:
        return Column(name, kind)
    return Column(name, kind, found.classes, found.separator, found.most)


def _row_ids(ids: list[str], id_column: str, name: str) -> RowIds:
    try:
        return RowIds(ids)
    except ValueError:
        twice = [each for each, count in Counter(ids).items() if count > 1]
        what = f"“{twice[0]}” stands there twice" if twice else "there are no rows"
        raise Failure(
            f"The column `{id_column}` of {name} names no rows: {what}.",
            hint="Name the column of the ids with --id.",
        ) from None


def _solution_text(
    table: _Table, schema: Schema, ids: list[str], name: str, layout: Layout, seed: bytes
) -> bytes:
    """Return the solution as CSV: ids, labels, and the columns that say how rows count."""
    labels = [column.name for column in schema.columns]
    _check_columns(table, labels, name)
    reserved = [
        found
        for names in (USAGE_NAMES, WEIGHT_NAMES, GROUP_NAMES)
        if (found := table.find(names)) is not None and found not in labels
    ]
    columns = [ids, *map(table.cells, [*labels, *reserved])]
    header = [schema.id_column, *labels, *reserved]
    if layout.public is not None:
        if table.find(USAGE_NAMES) is not None:
            raise Failure(f"{name} is split by its column Usage already: leave --public out.")
        header.append("Usage")
        columns.append(_split(table, layout.public, seed))
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(zip(*columns, strict=True))
    return out.getvalue().encode()


def _split(table: _Table, public: Fraction, seed: bytes) -> list[str]:
    shares = Shares(public, 1 - public, Fraction(0))
    group = table.find(GROUP_NAMES)
    if group is None:
        usage = split_rows(len(table.rows), shares, seed)
    else:
        names = {cell: number for number, cell in enumerate(dict.fromkeys(table.cells(group)))}
        usage = split_groups(np.array([names[cell] for cell in table.cells(group)]), shares, seed)
    titles = {each.value: each.name.title() for each in Usage}
    return [titles[int(each)] for each in usage]


def _check_columns(table: _Table, wanted: Sequence[str], name: str) -> None:
    missing = [each for each in wanted if each not in table.names]
    if missing:
        known = ", ".join(table.names[:12])
        raise Failure(f"{name} has no column “{missing[0]}”; it has {known}.")


def open_labels(path: Path) -> BinaryIO:
    """Open the file of the labels. Raises Failure."""
    try:
        return path.open("rb")
    except OSError as error:
        raise Failure(f"The labels in {path} can't be read: {error.strerror}.") from None
