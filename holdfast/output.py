"""Printing: tables for people, CSV and JSON for programs, sentences, reasons on stderr.

Text from the server may contain anything that a participant typed. None of it can steer the
terminal (control characters are dropped) or become a formula in a spreadsheet.
"""

import csv
import json
import os
import re
import sys
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import partial
from html import escape
from importlib import import_module
from typing import Any, TextIO

from rich import box
from rich.console import Console, JustifyMethod
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn
from rich.table import Table
from rich.text import Text

from holdfast.errors import Failure

Row = Mapping[str, Any]
Advance = Callable[[int], object]
BIDI_CONTROLS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
# A formula can begin a cell, or a part of one where spreadsheets split at semicolons.
FORMULA = re.compile(r"(^|;)(?=\s*[=+\-@＝＋－＠])")
UNLIMITED_WIDTH = 100_000


class Format(StrEnum):
    """How a list is printed."""

    table = "table"
    csv = "csv"
    json = "json"


@dataclass(frozen=True)
class Column:
    """A column: its key in the server's rows, its title, and how to write a value for people."""

    key: str
    title: str
    read: Callable[[Any], str] = str
    numeric: bool = False

    def cell(self, row: Row) -> str:
        """Return the row's value as people read it, empty if there is none."""
        value = row.get(self.key)
        return "" if value is None or value == "" else clean(self.read(value))

    def exact(self, row: Row) -> object:
        """Return the row's value for CSV; lists, objects and truth values become JSON.

        Text that a spreadsheet would run as a formula gets an apostrophe.
        """
        value = row.get(self.key)
        if isinstance(value, str):
            return FORMULA.sub(r"\1'", clean(value))
        return json.dumps(value) if isinstance(value, bool | list | dict) else value


def clean(text: object) -> str:
    """Return the text without control characters; line breaks become spaces."""
    flat = " ".join(str(text).splitlines())
    return "".join(c for c in flat if unicodedata.category(c) != "Cc" and c not in BIDI_CONTROLS)


def console(stream: TextIO) -> Console:
    """Return a console that colours terminals only and never wraps lines in a pipe or file."""
    terminal = stream.isatty()
    plain = not terminal or bool(os.environ.get("NO_COLOR"))
    return Console(
        file=stream,
        force_terminal=terminal,
        force_jupyter=False,  # it would ask for ipywidgets
        color_system=None if plain else "auto",
        width=None if terminal else UNLIMITED_WIDTH,
        highlight=False,
        markup=False,
        emoji=False,
    )


def say(text: str, style: str = "") -> None:
    """Print a sentence on stdout."""
    _print(sys.stdout, text, style)


def note(text: str, style: str = "") -> None:
    """Print a sentence on stderr, apart from the command's output."""
    _print(sys.stderr, text, style)


def _print(stream: TextIO, text: str, style: str) -> None:
    console(stream).print(Text(clean(text), style=style), soft_wrap=True)


def warn(text: str) -> None:
    """Print a warning on stderr."""
    note(f"Warning: {text}", "yellow")


def report(failure: Failure) -> None:
    """Print a failure on stderr: what happened, its details, what can be done."""
    note(f"Error: {failure.message}", "bold red")
    for detail in failure.details:
        if detail not in failure.message:
            note(f"  {detail}")
    if failure.hint:
        note(failure.hint)


def ask(question: str) -> str:
    """Ask on stderr, and return a line from the terminal or a pipe."""
    sys.stderr.write(question)
    sys.stderr.flush()
    return sys.stdin.readline().strip()


def show(rows: Iterable[Row], columns: Sequence[Column], style: Format, empty: str = "") -> None:
    """Print rows; `empty` is the sentence that replaces a table without rows."""
    found = list(rows)
    if style is Format.json:
        show_json(found)
    elif style is Format.csv:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow([column.key for column in columns])
        writer.writerows([column.exact(row) for column in columns] for row in found)
    elif found:
        table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
        for column in columns:
            justify: JustifyMethod = "right" if column.numeric else "left"
            unbroken = column.numeric or column.read is local_time
            table.add_column(column.title, justify=justify, no_wrap=unbroken)
        for row in found:
            table.add_row(*(Text(column.cell(row)) for column in columns))
        console(sys.stdout).print(table)
    else:
        note(empty)


def show_json(value: object) -> None:
    """Print the server's JSON unchanged, in ASCII so that it can't steer a terminal."""
    sys.stdout.write(json.dumps(value, indent=2) + "\n")


def show_one(row: Row, columns: Sequence[Column], style: Format) -> None:
    """Print one row: for people as names and values below each other, without the empty ones."""
    if style is not Format.table:
        show([row], columns, style)
        return
    known = [(column.title, text) for column in columns if (text := column.cell(row))]
    width = max((len(title) for title, _ in known), default=0)
    for title, text in known:
        say(f"{title:<{width}}  {text}")


def local_time(text: str) -> str:
    """Return the server's ISO time in this machine's time zone, to the minute, with the zone."""
    return f"{datetime.fromisoformat(text).astimezone():%Y-%m-%d %H:%M %Z}"


def clock() -> str:
    """Return the time on this machine, with its zone."""
    return f"{datetime.now().astimezone():%H:%M:%S %Z}"


def number(count: int, one: str, many: str) -> str:
    """Return a count with its noun: 1 entry, 1,204 entries."""
    return f"{count:,} {one if count == 1 else many}"


def size(count: int) -> str:
    """Return a number of bytes for people: 1.2 MB, where 1 MB is 10^6 bytes."""
    if count < 1000:
        return "1 byte" if count == 1 else f"{count} bytes"
    value, units = count / 1000, ["TB", "GB", "MB", "kB"]
    while value >= 999.95 and len(units) > 1:
        value /= 1000
        units.pop()
    return f"{value:,.1f}".removesuffix(".0") + f" {units[-1]}"


@contextmanager
def progress(name: str, total: int, quiet: bool = False) -> Iterator[Advance]:
    """Show a byte progress bar, and yield what is called with each number of new bytes.

    In a notebook it is a part of the page; else on stderr, silent where that is no terminal.
    """
    if not quiet and (display := _notebook_display()):
        bar = _NotebookBar(name, total, display)
        yield bar.advance
        return
    with Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        console=console(sys.stderr),
        disable=quiet or not sys.stderr.isatty(),
    ) as shown:
        yield partial(shown.advance, shown.add_task(name, total=total))


class _NotebookBar:
    """A progress element, which changes with each percent."""

    def __init__(self, name: str, total: int, display: Any) -> None:
        self._name, self._total, self._have, self._percent = name, total, 0, 0
        self._html = display.HTML
        self._shown = display.display(self._html(self._text()), display_id=True)

    def advance(self, count: int) -> None:
        self._have += count
        percent = 100 * self._have // max(1, self._total)
        if percent != self._percent:
            self._percent = percent
            self._shown.update(self._html(self._text()))

    def _text(self) -> str:
        bar = f'<progress max="{self._total}" value="{self._have}"></progress>'
        return f"<label>{escape(clean(self._name))} {bar} {size(self._total)}</label>"


def _notebook_display() -> Any:
    """Return IPython's module for it where this runs in a notebook."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return import_module("IPython.display") if hasattr(shell, "kernel") else None
