"""What is printed: tables for people, CSV and JSON for programs, sentences, reasons on stderr.

Text from the server may hold anything that a participant typed. Nothing in it can steer the
terminal (control characters are dropped) or become a formula in a spreadsheet.
"""

import csv
import json
import os
import re
import sys
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, TextIO

from rich import box
from rich.console import Console, JustifyMethod
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn
from rich.table import Table
from rich.text import Text

from holdfast.errors import Failure

Row = Mapping[str, Any]
BIDI_CONTROLS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
# Where a formula may begin: a cell, or what becomes one where spreadsheets split at semicolons.
FORMULA = re.compile(r"(^|;)(?=\s*[=+\-@＝＋－＠])")
UNLIMITED_WIDTH = 100_000


class Format(StrEnum):
    """How a list is printed."""

    table = "table"
    csv = "csv"
    json = "json"


@dataclass(frozen=True)
class Column:
    """One column: its key in the server's rows, its title, and how a person reads the value."""

    key: str
    title: str
    read: Callable[[Any], str] = str
    numeric: bool = False


def clean(text: object) -> str:
    """The text without control characters; line ends become spaces."""
    flat = " ".join(str(text).splitlines())
    return "".join(c for c in flat if unicodedata.category(c) != "Cc" and c not in BIDI_CONTROLS)


def console(stream: TextIO) -> Console:
    """A console that colours a terminal only, and never wraps what goes into a pipe or file."""
    terminal = stream.isatty()
    plain = not terminal or bool(os.environ.get("NO_COLOR"))
    return Console(
        file=stream,
        force_terminal=terminal,
        color_system=None if plain else "auto",
        width=None if terminal else UNLIMITED_WIDTH,
        highlight=False,
        markup=False,
        emoji=False,
    )


def say(text: str = "", style: str = "") -> None:
    """A sentence on stdout."""
    _print(sys.stdout, text, style)


def note(text: str, style: str = "") -> None:
    """A sentence on stderr, beside what the command prints."""
    _print(sys.stderr, text, style)


def warn(text: str) -> None:
    """A warning on stderr."""
    note(f"Warning: {text}", "yellow")


def report(failure: Failure) -> None:
    """A failure on stderr: what happened, its details, what can be done."""
    note(f"Error: {failure.message}", "bold red")
    for detail in failure.details:
        if detail not in failure.message:
            note(f"  {detail}")
    if failure.hint:
        note(failure.hint)


def show(rows: Iterable[Row], columns: Sequence[Column], style: Format, empty: str) -> None:
    """Print rows; `empty` is the sentence in place of a table without rows."""
    found = list(rows)
    if style is Format.json:
        show_json(found)
    elif style is Format.csv:
        _show_csv(found, columns)
    elif found:
        _show_table(found, columns)
    else:
        note(empty)


def show_json(value: object) -> None:
    """Print the server's JSON as it came, in ASCII so that a terminal can't be steered by it."""
    sys.stdout.write(json.dumps(value, indent=2) + "\n")


def show_pairs(pairs: Iterable[tuple[str, object]]) -> None:
    """Names and values below each other, those without a value left out."""
    known = [(name, value) for name, value in pairs if value not in (None, "")]
    width = max((len(name) for name, _ in known), default=0)
    for name, value in known:
        say(f"{name:<{width}}  {value}")


def local_time(text: str) -> str:
    """An ISO time of the server in this machine's time zone, to the minute."""
    return f"{datetime.fromisoformat(text).astimezone():%Y-%m-%d %H:%M}"


def size(count: int) -> str:
    """A number of bytes for people: 1.2 MB."""
    value, units = float(count), iter(("bytes", "kB", "MB", "GB", "TB"))
    unit = next(units)
    while value >= 1000:
        value, unit = value / 1000, next(units)
    return f"{count:,} bytes" if unit == "bytes" else f"{value:.1f} {unit}"


def progress(quiet: bool) -> Progress:
    """A byte progress bar on stderr; silent when asked, or where stderr is no terminal."""
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        console=console(sys.stderr),
        disable=quiet or not sys.stderr.isatty(),
    )


def _print(stream: TextIO, text: str, style: str) -> None:
    console(stream).print(Text(clean(text), style=style), soft_wrap=True)


def _cell(row: Row, column: Column) -> str:
    value = row.get(column.key)
    return "" if value is None or value == "" else clean(column.read(value))


def _show_table(rows: Sequence[Row], columns: Sequence[Column]) -> None:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for column in columns:
        whole = column.numeric or column.read is local_time
        justify: JustifyMethod = "right" if column.numeric else "left"
        table.add_column(column.title, justify=justify, no_wrap=whole)
    for row in rows:
        table.add_row(*(Text(_cell(row, column)) for column in columns))
    console(sys.stdout).print(table)


def _show_csv(rows: Iterable[Row], columns: Sequence[Column]) -> None:
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow([column.key for column in columns])
    for row in rows:
        writer.writerow([_csv_value(row.get(column.key)) for column in columns])


def _csv_value(value: object) -> object:
    """The exact value; text that a spreadsheet would run as a formula gets an apostrophe."""
    if not isinstance(value, str):
        return json.dumps(value) if isinstance(value, bool | list | dict) else value
    return FORMULA.sub(r"\1'", clean(value))
