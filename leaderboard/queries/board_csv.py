"""The boards as CSV files, safe to open in a spreadsheet: released values, and the final scores."""

import csv
import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from io import StringIO
from itertools import chain, islice

from leaderboard.queries import BoardRow, FinalRow, Interval

HEADER = (
    "rank",
    "team",
    "score",
    "sampling_low",
    "sampling_high",
    "certificate_low",
    "certificate_high",
    "entries",
    "last_improvement",
    "last_answer",
    "baseline",
    "verified",
    "version",
)
FINAL_HEADER = (
    "rank",
    "team",
    "score",
    "low",
    "high",
    "loss_numerator",
    "loss_denominator",
    "submission",
    "entered",
    "released_rank",
    "released_score",
    "move",
    "with_winner",
    "baseline",
    "verified",
)
# Where a formula may begin: a cell, or what becomes one where spreadsheets split at semicolons.
FORMULA = re.compile(r"(^|[;\t])(?=\s*[=+\-@\t\r＝＋－＠])")
DIGITS = 6
PART_ROWS = 500


def board_csv(rows: Iterable[BoardRow]) -> Iterator[bytes]:
    """Return the whole file in parts; nothing is there for what has not been released."""
    return _csv(HEADER, (_cells(row) for row in rows))


def final_csv(rows: Iterable[FinalRow]) -> Iterator[bytes]:
    """Return the final board in parts: a team's best entry, its exact loss as a fraction."""
    return _csv(FINAL_HEADER, (_final_cells(row) for row in rows))


def plain_text(text: str) -> str:
    """Return text that no spreadsheet runs as a formula (OWASP, CSV injection)."""
    return FORMULA.sub(r"\1'", text)


def _csv(header: tuple[str, ...], rows: Iterable[tuple[object, ...]]) -> Iterator[bytes]:
    """Write lines as they are read, so that the longest board takes no more memory."""
    left = chain((header,), rows)
    while part := list(islice(left, PART_ROWS)):
        out = StringIO()
        csv.writer(out, lineterminator="\r\n").writerows(part)
        yield out.getvalue().encode()


def _cells(row: BoardRow) -> tuple[object, ...]:
    return (
        row.rank,
        plain_text(row.team),
        row.score,
        *_ends(row.sampling),
        *_ends(row.certificate),
        row.entries,
        _moment(row.improved_at),
        row.last_kind,
        str(row.is_baseline).lower(),
        str(row.is_verified).lower(),
        row.version,
    )


def _final_cells(row: FinalRow) -> tuple[object, ...]:
    entered = sorted(each.number for each in (row.best, *row.others))
    return (
        row.rank,
        plain_text(row.team),
        row.best.score,
        *_ends(row.best.interval),
        row.best.loss.numerator,
        row.best.loss.denominator,
        row.best.number,
        " ".join(map(str, entered)),
        row.released_rank,
        row.released_score,
        row.move,
        None if row.with_winner is None else str(row.with_winner).lower(),
        str(row.is_baseline).lower(),
        str(row.is_verified).lower(),
    )


def _ends(interval: Interval | None) -> tuple[float | None, float | None]:
    if interval is None:
        return None, None
    return round(interval.low, DIGITS), round(interval.high, DIGITS)


def _moment(when: datetime | None) -> str | None:
    return when.isoformat() if when else None
