"""How far two submissions of a team differ: their files alone are read, never labels."""

from dataclasses import dataclass
from functools import reduce
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leaderboard.errors import Refused
from leaderboard.models import FileRole, Submission
from leaderboard.pipeline.parse import row_ids
from leaderboard.platform.files import FileDamaged, open_whole
from scoring.errors import PredictionError
from scoring.predictions import Column, Limits, Lists, Predictions, Schema, read_predictions, texts
from scoring.predictions.problems import shortened

MOST_BYTES = 32_000_000  # of a file, packed and unpacked: it is read while somebody waits
ROWS_SHOWN = 10
PATIENCE = 10  # seconds
_LARGEST = float(np.finfo(np.float64).max)
# Reading takes several times the text, so a process does it once at a time.
_READING = Lock()


@dataclass(frozen=True)
class ColumnDifference:
    """How many cells of a column differ, and of numbers how far on average and at most."""

    name: str
    differing: int
    mean: float | None
    largest: float | None


@dataclass(frozen=True)
class RowDifference:
    """A row that differs: its id, and each column's two values as texts."""

    id: str
    values: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Comparison:
    """How far two submissions differ: in all, by column, and the first rows that do."""

    rows: int
    differing: int
    columns: tuple[ColumnDifference, ...]
    first: tuple[RowDifference, ...]

    @property
    def percent(self) -> str:
        """Return how many rows differ; something and not everything never reads as 0 or 100."""
        percent = 100 * self.differing / self.rows
        return f"{min(max(percent, 0.01), 99.99):.2f}" if 0 < percent < 100 else f"{percent:.0f}"

    @property
    def has_numbers(self) -> bool:
        return any(each.mean is not None for each in self.columns)


def compare(one: Submission, other: Submission) -> Comparison:
    """Compare the predictions of two submissions of a team. Raises Refused, and StorageAway."""
    if one.number == other.number:
        raise Refused("not_comparable")
    round = one.round
    if (round.origin, round.schema) != (other.round.origin, other.round.schema):
        raise Refused("not_comparable", variant="other_rows")
    sample = round.origin.files.get(role=FileRole.SAMPLE)
    if max(sample.size, one.size, other.size) > MOST_BYTES:
        raise Refused("not_comparable", variant="too_large", limit=MOST_BYTES)
    if not _READING.acquire(timeout=PATIENCE):
        raise Refused("throttled", seconds=PATIENCE)
    try:
        return _compared(_read(one), _read(other))
    finally:
        _READING.release()


def _read(submission: Submission) -> Predictions:
    """Return the predictions of a file that a worker has found good."""
    if not submission.file:
        raise Refused("not_comparable", variant="lost", number=submission.number)
    if submission.release is None:
        raise Refused("not_comparable", variant="unread", number=submission.number)
    schema = Schema.from_json(submission.round.schema)
    limits = Limits(max_bytes=MOST_BYTES, max_expanded_bytes=MOST_BYTES)
    try:
        with open_whole(submission.file, submission.sha256) as file:
            return read_predictions(file, schema, row_ids(submission.round, schema), limits)
    except PredictionError as error:
        if error.problems[0].code == "too_many_bytes":
            raise Refused("not_comparable", variant="too_large", limit=MOST_BYTES) from error
        raise Refused("not_comparable", variant="unread", number=submission.number) from error
    except (FileDamaged, FileNotFoundError) as error:
        raise Refused("not_comparable", variant="lost", number=submission.number) from error


def _compared(one: Predictions, other: Predictions) -> Comparison:
    columns = one.schema.columns
    pairs = [(one.columns[each.name], other.columns[each.name]) for each in columns]
    masks = [_differs(*pair) for pair in pairs]
    differs = reduce(np.logical_or, masks)
    places = np.flatnonzero(differs)[:ROWS_SHOWN].tolist()
    return Comparison(
        rows=one.rows,
        differing=int(np.count_nonzero(differs)),
        columns=tuple(
            _of_column(column, *pair, mask)
            for column, pair, mask in zip(columns, pairs, masks, strict=True)
        ),
        first=tuple(
            RowDifference(
                one.row_ids[place],
                tuple(
                    (_text(column, first, place), _text(column, second, place))
                    for column, (first, second) in zip(columns, pairs, strict=True)
                ),
            )
            for place in places
        ),
    )


def _differs(one: Any, other: Any) -> NDArray[np.bool_]:
    """Return which rows differ. Lists of the same length are compared code by code."""
    if not isinstance(one, Lists):
        return np.asarray(one != other)
    differs = np.asarray(one.lengths != other.lengths)
    same = np.flatnonzero(~differs)
    left, right = one[same], other[same]
    rows = np.repeat(same, left.lengths)
    differs[rows[left.codes != right.codes]] = True
    return differs


def _of_column(column: Column, one: Any, other: Any, mask: NDArray[np.bool_]) -> ColumnDifference:
    mean = largest = None
    if column.is_plain and not column.classes:
        with np.errstate(over="ignore"):
            apart = np.abs(one - other)
            mean, largest = (min(float(each), _LARGEST) for each in (apart.mean(), apart.max()))
    return ColumnDifference(column.name, int(np.count_nonzero(mask)), mean, largest)


def _text(column: Column, values: Any, place: int) -> str:
    if column.kind == "text":
        return shortened(" | ".join(texts.of_row(values, place)))
    if isinstance(values, Lists):
        start, end = values.offsets[place : place + 2]
        return column.separator.join(column.classes[code] for code in values.codes[start:end])
    return column.classes[values[place]] if column.classes else f"{values[place]:.6g}"
