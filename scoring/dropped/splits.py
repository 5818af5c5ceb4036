"""How the server may split rows: by row, by group, or by time, by what test and training data show.

A suspect is only proposed where a person would call it a group: days, columns called after people
or places, and values that never come again in other data. Labels have no part in it.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from scoring.errors import ParameterError
from scoring.split import Shares, find_groups, split_groups, split_rows, split_times
from scoring.split_table import By, as_times, values_of

_UNITS: Final = (
    "user|customer|client|patient|subject|person|people|member|player|driver|rider|student|pupil|"
    "author|speaker|writer|worker|employee|session|visit|trip|household|family|account|device|"
    "sensor|machine|engine|store|shop|site|hospital|clinic|school|class|farm|field|plot|batch|lot|"
    "document|article|video|image|scan|donor|cell|molecule|compound|day|date|week|month|group"
)
_NAMED: Final = re.compile(
    rf"(^|[_\s])({_UNITS})s?([_\s]?(id|key|name|no|number|code))?$", re.IGNORECASE
)
FEWEST: Final = 20  # groups: of fewer next to nothing could be promised


@dataclass(frozen=True)
class SplitProposal:
    """A way to split, and why. column: of the test data; empty by row.

    by_day: of the column's moments the days count. groups: how many there are.
    """

    by: By
    column: str
    reason: str
    by_day: bool = False
    groups: int = 0


def propose_splits(
    test: pa.Table | None, train: pa.Table | None, id_column: str
) -> tuple[SplitProposal, ...]:
    """Return the ways to split, the proposed one first; by row is among them.

    test, train: the beginnings of both, each column of its own type.
    """
    by_row = SplitProposal(
        "row", "", "No column of the test data says which rows depend on each other."
    )
    if test is None or not len(test):
        return (by_row,)
    found, others = list[SplitProposal](), list[SplitProposal]()
    columns = {name: values for name, values in values_of(test).items() if name != id_column}
    for suspect in find_groups(columns):
        name, days = suspect.column, suspect.kind == "days"
        what = f"{len(test):,} rows of {suspect.groups:,} {'days' if days else 'values'}"
        proposal = SplitProposal("group", name, "", days, suspect.groups)
        if suspect.groups < FEWEST:
            others.append(replace(proposal, reason=f"“{name}”: {what}, few to split."))
        elif days or _NAMED.search(name.strip()):
            why = (
                f"“{name}” comes again: {what}. Rows that share one depend on each other, so they "
            )
            found.append(replace(proposal, reason=why + "stay in one set."))
        elif _is_apart(test, train, name):
            why = f"“{name}” comes again ({what}), and no value of it is in the training data: the "
            found.append(
                replace(proposal, reason=why + "test data were split by it, and so are the sets.")
            )
        else:
            others.append(replace(proposal, reason=f"“{name}”: {what}."))
    found.sort(key=lambda each: (not each.by_day, each.groups))
    times = [
        SplitProposal("time", name, why)
        for name in test.column_names
        if name != id_column and (why := _is_later(test, train, name))
    ]
    if found:
        return (*found, by_row, *times, *others)
    return (*times, by_row, *others)


def draw_split(
    proposal: SplitProposal, cells: Sequence[str] | None, rows: int, shares: Shares, seed: bytes
) -> tuple[NDArray[np.int8], NDArray[np.int64] | None]:
    """Return the set of each row, and the number of its group; None where each is its own.

    cells: of the proposal's column, in the order of the rows. Raise ParameterError naming the row,
    from 0, whose cell is empty, or a set that gets no rows.
    """
    if proposal.by == "row" or cells is None:
        return split_rows(rows, shares, seed), None
    texts = [cell.strip() for cell in cells]
    if "" in texts:
        raise ParameterError(
            "split",
            f"“{proposal.column}” is empty in row {texts.index('') + 1:,} of the test data.",
        )
    if proposal.by == "time":
        return split_times(as_times(texts), shares), None
    if proposal.by_day:
        texts = [text[: len("2026-01-31")] for text in texts]
    usage = split_groups(np.array(texts), shares, seed)
    return usage, number_groups(texts)


def number_groups(texts: Sequence[str]) -> NDArray[np.int64]:
    """Return groups by the order of their first rows."""
    numbers = dict[str, int]()
    return np.fromiter((numbers.setdefault(each, len(numbers)) for each in texts), np.int64)


def _is_apart(test: pa.Table, train: pa.Table | None, name: str) -> bool:
    """Return whether texts or whole numbers of the test data never come in the training data."""
    if train is None or name not in train.column_names or train[name].type != test[name].type:
        return False
    mine, theirs = test[name].drop_null().unique(), train[name].drop_null().unique()
    repeats = len(theirs) <= len(train) / 2
    return repeats and not pc.any(pc.is_in(mine, value_set=theirs)).as_py()


def _is_later(test: pa.Table, train: pa.Table | None, name: str) -> str:
    """Return why rows are a series that goes on after the training data; empty where not."""
    if train is None or name not in train.column_names:
        return ""
    kinds: list[Any] = [table[name].type for table in (train, test)]
    if not all(pa.types.is_temporal(kind) for kind in kinds) or kinds[0] != kinds[1]:
        return ""
    last, first = pc.max(train[name]).as_py(), pc.min(test[name]).as_py()
    if last is None or first is None or first < last:
        return ""
    return (
        f"“{name}” begins where the training data end ({str(last)[:10]}): the earliest rows are "
        "Public and the latest Final, so that no set tells of another's neighbours."
    )
