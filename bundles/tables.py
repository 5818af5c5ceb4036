"""What a table's columns may be predicted as, where no bundle says it."""

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from bundles.errors import fail
from bundles.folders import MB

USAGE: Final = ("usage", "split")
_MOST_BYTES: Final = 64 * MB
_MOST_CLASSES: Final = 100
_INTEGER: Final = re.compile(r"-?[0-9]{1,9}")
_DEFAULT_METRIC: Final = {"label": "accuracy", "probability": "roc_auc", "number": "mae"}


@dataclass(frozen=True)
class Table:
    """The columns of a CSV file, by name, in order."""

    columns: dict[str, list[str]]

    @property
    def names(self) -> list[str]:
        return list(self.columns)

    @property
    def id_column(self) -> str:
        return self.names[0]


def read_header(content: bytes) -> list[str]:
    """Return the names in the first line; none of a file that isn't CSV in UTF-8."""
    first = content[: 64 * 1024].partition(b"\n")[0]
    try:
        cells = next(csv.reader([first.decode("utf-8-sig")]), [])
    except (UnicodeDecodeError, csv.Error):
        return []
    return [cell.strip() for cell in cells]


def read_table(content: bytes, name: str) -> Table:
    """Return a CSV file's columns. Raises BundleError."""
    if len(content) > _MOST_BYTES:
        raise fail(name, f"It has more than {_MOST_BYTES // MB} MB.")
    try:
        rows = list(csv.reader(io.StringIO(content.decode("utf-8-sig"), newline="")))
    except (UnicodeDecodeError, csv.Error):
        raise fail(name, "It is no CSV file in UTF-8.") from None
    header, *rows = [row for row in rows if row] or [[]]
    header = [cell.strip() for cell in header]
    if len(set(header)) < len(header) or not header:
        raise fail(f"{name}, line 1", "A header with a name for each column was expected.")
    for line, row in enumerate(rows, 2):
        if len(row) != len(header):
            what = f"{len(header)} cells were expected, as in the header; there are {len(row)}."
            raise fail(f"{name}, row {line}", what)
    return Table({each: [row[at].strip() for row in rows] for at, each in enumerate(header)})


def guess_column(name: str, known: Sequence[str], sample: Sequence[str] = ()) -> dict[str, Any]:
    """Return a column to predict, by labels that are known and what a sample has in their place."""
    values = sorted(set(known) - {""})
    whole = all(map(_INTEGER.fullmatch, values))
    classes = sorted(values, key=int) if whole else values
    if values == ["0", "1"] and any(not _INTEGER.fullmatch(each) for each in sample if each):
        return {"name": name, "kind": "probability"}
    if 2 <= len(values) <= _MOST_CLASSES and (whole or not all(map(_is_number, values))):
        return {"name": name, "kind": "label", "classes": classes}
    return {"name": name, "kind": "number"}


def default_metric(columns: Sequence[dict[str, Any]]) -> str:
    """Return a metric that suits the first column."""
    return _DEFAULT_METRIC[columns[0]["kind"]]


def make_sample(ids: Sequence[str], id_column: str, columns: Sequence[dict[str, Any]]) -> bytes:
    """Write a sample submission that says the same of every row."""
    constants = {"probability": "0.5", "number": "0"}
    values = [
        each["classes"][0] if each["kind"] == "label" else constants[each["kind"]]
        for each in columns
    ]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([id_column, *(each["name"] for each in columns)])
    writer.writerows([each, *values] for each in ids)
    return out.getvalue().encode()


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
