"""The boards as CSV files, safe to open in a spreadsheet: released values, and the final scores."""

import csv
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from io import StringIO
from itertools import chain, islice
from typing import Literal, TypeVar

from leaderboard.queries import BoardRow, FinalRow, Interval

# Where a formula may begin: a cell, or what becomes one where spreadsheets split at semicolons.
FORMULA = re.compile(r"(^|[;\t])(?=\s*[=+\-@\t\r＝＋－＠])")
DIGITS = 6
PART_ROWS = 500
Row = TypeVar("Row")


def board_csv(rows: Iterable[BoardRow]) -> Iterator[bytes]:
    """Return the whole file in parts; nothing is there for what has not been released."""
    return write_csv(BOARD, rows)


def final_csv(rows: Iterable[FinalRow]) -> Iterator[bytes]:
    """Return the final board in parts: a team's best entry, its exact loss as a fraction."""
    return write_csv(FINAL, rows)


def plain_text(text: str) -> str:
    """Return text that no spreadsheet runs as a formula (OWASP, CSV injection)."""
    return FORMULA.sub(r"\1'", text)


def write_csv(
    columns: Mapping[str, Callable[[Row], object]], rows: Iterable[Row]
) -> Iterator[bytes]:
    """Write lines as they are read, so that the longest board takes no more memory."""
    lines = (tuple(cell(row) for cell in columns.values()) for row in rows)
    left = chain((tuple(columns),), lines)
    while part := list(islice(left, PART_ROWS)):
        out = StringIO()
        csv.writer(out, lineterminator="\r\n").writerows(part)
        yield out.getvalue().encode()


def _end(interval: Interval | None, end: Literal["low", "high"]) -> float | None:
    return None if interval is None else round(getattr(interval, end), DIGITS)


def _flag(value: bool | None) -> str | None:
    return None if value is None else str(value).lower()


BOARD: Mapping[str, Callable[[BoardRow], object]] = {
    "rank": lambda row: row.rank,
    "team": lambda row: plain_text(row.team),
    "score": lambda row: row.score,
    "sampling_low": lambda row: _end(row.sampling, "low"),
    "sampling_high": lambda row: _end(row.sampling, "high"),
    "certificate_low": lambda row: _end(row.certificate, "low"),
    "certificate_high": lambda row: _end(row.certificate, "high"),
    "change": lambda row: row.change,
    "entries": lambda row: row.entries,
    "variants": lambda row: row.variants,
    "runs": lambda row: row.runs,
    "spread": lambda row: None if row.spread is None else round(row.spread, DIGITS),
    "last_improvement": lambda row: row.improved_at and row.improved_at.isoformat(),
    "last_answer": lambda row: row.last_kind,
    "baseline": lambda row: _flag(row.is_baseline),
    "verified": lambda row: _flag(row.is_verified),
    "version": lambda row: row.version,
}
FINAL: Mapping[str, Callable[[FinalRow], object]] = {
    "rank": lambda row: row.rank,
    "best_place": lambda row: row.best_place,
    "worst_place": lambda row: row.worst_place,
    "could_be_first": lambda row: _flag(row.could_be_first),
    "team": lambda row: plain_text(row.team),
    "score": lambda row: row.best.score,
    "sampling_low": lambda row: _end(row.best.sampling, "low"),
    "sampling_high": lambda row: _end(row.best.sampling, "high"),
    "simultaneous_low": lambda row: _end(row.best.interval, "low"),
    "simultaneous_high": lambda row: _end(row.best.interval, "high"),
    "loss_numerator": lambda row: row.best.loss.numerator,
    "loss_denominator": lambda row: row.best.loss.denominator,
    "submission": lambda row: row.best.number,
    "entered": lambda row: " ".join(
        str(number) for number in sorted(each.number for each in (row.best, *row.others))
    ),
    "released_rank": lambda row: row.released_rank,
    "released_score": lambda row: row.released_score,
    "move": lambda row: row.move,
    "baseline": lambda row: _flag(row.is_baseline),
    "verified": lambda row: _flag(row.is_verified),
}
