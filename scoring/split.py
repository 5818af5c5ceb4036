"""Splitting rows into Public, Private and Final, by nothing that a label has a part in.

A row's set must not depend on its label (no stratification), and rows that depend on each other, a
group, stay in one set: else Public rows tell of Private ones (theory.md 10.7). Everything
here is a function of a seed, shares, and of groups or times; the same seed gives the same split on
every machine. A seed is as secret as the split.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from scoring.errors import ParameterError
from scoring.predictions.solution import Usage

Values = NDArray[Any]
Usages = NDArray[np.int8]

_SETS: Final = (Usage.PUBLIC, Usage.PRIVATE, Usage.FINAL)
_DAY: Final = len("2026-01-31")


@dataclass(frozen=True)
class Shares:
    """How much of the rows each set gets; they add up to 1, and Private is not empty."""

    public: Fraction
    private: Fraction
    final: Fraction

    def __post_init__(self) -> None:
        """Raise ParameterError naming the share that is wrong."""
        for name, share in vars(self).items():
            if not 0 <= share <= 1:
                raise ParameterError(name, "A share lies between 0 and 1.")
        if not self.private:
            raise ParameterError("private", "Private rows are needed: the board answers from them.")
        if self.public + self.private + self.final != 1:
            raise ParameterError("final", "The shares have to add up to 1.")


def split_rows(rows: int, shares: Shares, seed: bytes) -> Usages:
    """Return the set of each row, drawn row by row. Raise ParameterError if a set gets none."""
    return split_groups(np.arange(rows), shares, seed)


def split_groups(groups: Values, shares: Shares, seed: bytes) -> Usages:
    """Return the set of each row, whole groups drawn in a random order.

    groups: what each row belongs to, numbers or texts. Sizes come as near to the shares as whole
    groups allow: a group goes where its middle row falls. Raise ParameterError if a set gets none.
    """
    names, numbers = np.unique(groups, return_inverse=True)
    keys = np.frombuffer(hashlib.shake_256(seed).digest(8 * len(names)), "<u8")
    return _fill(numbers, np.argsort(keys, kind="stable"), shares)


def split_times(times: Values, shares: Shares) -> Usages:
    """Return the set of each row: the earliest are Public, the latest Final.

    times: numbers, dates, or texts whose order is that of time. Rows of the same time stay
    together. Raise ParameterError if a set gets none.
    """
    names, numbers = np.unique(times, return_inverse=True)
    return _fill(numbers, np.arange(len(names)), shares)


@dataclass(frozen=True)
class Suspect:
    """A column whose rows may depend on each other where they share a value, or a day."""

    column: str
    kind: Literal["values", "days"]
    groups: int


def find_groups(columns: Mapping[str, Values]) -> list[Suspect]:
    """Return the columns that look like groups, for a warning; a person decides.

    columns: of texts, whole numbers or numpy dates; others are passed over. At least ten groups,
    since fewer could not be split, of two rows and more on average. Rows of one day count as a
    group, whatever their times.
    """
    found = list[Suspect]()
    for name, values in columns.items():
        days = _days(values)
        count = len(np.unique(values if days is None else days))
        if values.dtype.kind in "iuUM" and 10 <= count <= len(values) / 2:
            found.append(Suspect(name, "values" if days is None else "days", count))
    return found


def _fill(numbers: NDArray[np.int64], order: NDArray[np.int64], shares: Shares) -> Usages:
    """Return the set of each row, given its group's number, and the order that groups come in."""
    sizes = np.bincount(numbers)[order]
    ends = np.cumsum(sizes)
    # In half rows, so that a middle is a whole number; of one row it lies within that row.
    middles = 2 * ends - sizes
    whole = 2 * len(numbers)
    limits = [round(share * whole) for share in (shares.public, shares.public + shares.private)]
    usage = np.empty(len(sizes), np.int8)
    usage[order] = np.searchsorted(limits, middles, side="left")
    for at, share in zip(_SETS, vars(shares).values(), strict=True):
        if share and not np.any(usage == at):
            title = at.name.title()
            raise ParameterError(at.name.lower(), f"The share is too small: {title} gets no rows.")
    split: Usages = usage[numbers]
    return split


def _days(values: Values) -> Values | None:
    """Return the day of each, if all are dates: numpy's, or texts that begin YYYY-MM-DD."""
    if values.dtype.kind == "U":
        days = values.astype(f"U{_DAY}")
        letters = days.view("U1").reshape(len(days), _DAY)
        if not np.all(letters[:, [4, 7]] == "-"):
            return None
        try:
            return days.astype("datetime64[D]")
        except ValueError:
            return None
    return values.astype("datetime64[D]") if values.dtype.kind == "M" else None
