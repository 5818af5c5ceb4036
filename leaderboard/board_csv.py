"""The board as a CSV file: released values only, safe to open in a spreadsheet."""

import csv
from collections.abc import Iterable
from datetime import datetime
from io import StringIO

from leaderboard.queries import BoardRow, Interval

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
)
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "＝", "＋", "－", "＠")
DIGITS = 6


def board_csv(rows: Iterable[BoardRow]) -> str:
    """The whole file, with a header; nothing is there for what has not been released."""
    out = StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(HEADER)
    writer.writerows(_cells(row) for row in rows)
    return out.getvalue()


def plain_text(text: str) -> str:
    """Text that no spreadsheet runs as a formula (OWASP, CSV injection)."""
    return f"'{text}" if text.lstrip().startswith(FORMULA_STARTS) else text


def _cells(row: BoardRow) -> tuple[object, ...]:
    return (
        row.rank,
        plain_text(row.team),
        row.score,
        *_ends(row.sampling),
        *_ends(row.certificate),
        row.entries,
        _moment(row.improved_at),
        row.last_kind.value,
        str(row.is_baseline).lower(),
        str(row.is_verified).lower(),
    )


def _ends(interval: Interval | None) -> tuple[float | None, float | None]:
    if interval is None:
        return None, None
    return round(interval.low, DIGITS), round(interval.high, DIGITS)


def _moment(when: datetime | None) -> str | None:
    return when.isoformat() if when else None
