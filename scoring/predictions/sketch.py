"""Sketches: a few numbers of a prediction file, by which near-identical files are found.

A count sketch (Charikar, Chen, Farach-Colton 2002): each value of each row is added, with a random
sign, to a random one of `CELLS` sums. The Euclidean distance of two sketches estimates that of the
files' arrays, within about 18 % for 64 cells. Nothing of it depends on labels: cells and signs
follow from the row's place in the sample submission alone.
"""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from scoring.predictions import texts
from scoring.predictions.lists import Lists
from scoring.predictions.reader import Predictions

CELLS: Final = 64
_SEED: Final = 20_261_122
_PART: Final = 1 << 16  # rows at a time, to spare memory
_SAMPLED: Final = 300  # files that tell the usual distance
_LARGEST: Final = 1e30  # of a value, so that no sum of squares overflows


def sketch(predictions: Predictions) -> NDArray[np.float32]:
    """Return the sketch of predictions, of shape (CELLS,); its cost grows with their size alone."""
    sums = np.zeros(CELLS)
    for place, column in enumerate(predictions.schema.columns):
        values = predictions.columns[column.name]
        for first in range(0, predictions.rows, _PART):
            rng = np.random.default_rng([_SEED, place, first])
            rows = slice(first, min(first + _PART, predictions.rows))
            sums += _sums(values, rows, rng.integers(0, 1 << 62, rows.stop - rows.start))
    return sums.astype(np.float32)


def _sums(values: Any, rows: slice, random: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the sums that a part of a column adds; `random` are 62 bits for each of its rows."""
    if isinstance(values, Lists) and values.are_texts:
        codes = texts.codes(values[np.arange(rows.start, rows.stop)])
        return _add(random, codes >> np.uint64(32), np.ones(len(codes)))
    if isinstance(values, Lists):
        offsets = values.offsets[rows.start : rows.stop + 1]
        lengths = np.diff(offsets)
        codes, random = values.codes[offsets[0] : offsets[-1]], np.repeat(random, lengths)
        # Of a ranking the first ones weigh most.
        places = np.arange(len(codes)) - np.repeat(offsets[:-1] - offsets[0], lengths)
        return _add(random, codes, 1.0 / (1 + places))
    part = values[rows]
    if part.dtype == np.int32:
        return _add(random, part, np.ones(len(part)))
    return _add(random, np.zeros(len(part), np.int32), np.clip(part, -_LARGEST, _LARGEST))


def _add(
    random: NDArray[np.int64], codes: NDArray[Any], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return sums in which each class of a row has a cell and a sign of its own."""
    mixed = (random + 1) * (2 * codes.astype(np.int64) + 1)  # an odd factor keeps all bits apart
    mixed ^= mixed >> 29
    signs = 1.0 - 2.0 * ((mixed >> 7) & 1)
    cells = mixed & (CELLS - 1)
    return np.bincount(cells, signs * weights, CELLS).astype(np.float64, copy=False)


def find_near(sketches: NDArray[np.float32], share: float) -> list[tuple[int, int, float]]:
    """Return pairs that lie nearer than a share of the usual distance, the nearest first.

    sketches: of shape (files, CELLS). The usual distance is the median over pairs of some of them;
    the third value is the distance as a share of it. Fewer than three files have no usual distance.
    """
    if len(sketches) < 3:
        return []
    points = sketches / (np.abs(sketches).max() or 1.0)
    points = (points - points.mean(axis=0)).astype(np.float64)
    norms = (points**2).sum(axis=1)
    squared = norms[:, None] + norms[None, :] - 2 * points @ points.T
    every = slice(None, None, 1 + len(points) // _SAMPLED)
    sample = squared[every, every]
    usual = float(np.median(sample[np.triu_indices(len(sample), 1)]))
    if usual <= 0:
        return []
    pairs = np.argwhere(np.triu(squared <= share**2 * usual, 1))
    found = [(int(i), int(j), float(max(squared[i, j], 0) / usual) ** 0.5) for i, j in pairs]
    return sorted(found, key=lambda pair: pair[2])
