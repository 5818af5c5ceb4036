"""Splits: by rows, groups or time, never by labels; and what looks like a group."""

import inspect
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring import split
from scoring.errors import ParameterError
from scoring.predictions import Usage
from scoring.predictions.solution import find_split_group
from scoring.split import (
    Shares,
    Suspect,
    find_groups,
    split_groups,
    split_rows,
    split_times,
)

THIRDS = Shares(Fraction(1, 3), Fraction(1, 3), Fraction(1, 3))
NO_FINAL = Shares(Fraction(3, 10), Fraction(7, 10), Fraction(0))
SEED = bytes(range(32))


def sizes(usage: Any) -> list[int]:
    return [int(np.sum(usage == each)) for each in (Usage.PUBLIC, Usage.PRIVATE, Usage.FINAL)]


def lines(usage: Any) -> Any:
    return np.arange(2, len(usage) + 2, dtype=np.int32)


@given(st.integers(10, 3000))
def test_rows_are_split_to_the_row(rows: int) -> None:
    found = sizes(split_rows(rows, NO_FINAL, SEED))
    assert sum(found) == rows
    assert abs(found[0] - 0.3 * rows) <= 1
    assert found[2] == 0


@given(st.integers(0, 2**32), st.integers(10, 60))
def test_groups_stay_whole_and_shares_are_met_as_far_as_they_allow(seed: int, count: int) -> None:
    groups = np.random.default_rng(seed).integers(0, count, 400)
    usage = split_groups(groups, THIRDS, seed.to_bytes(5))
    assert find_split_group(groups, usage, lines(usage)) is None
    largest = int(np.bincount(groups).max())
    assert all(abs(size - 400 / 3) <= largest for size in sizes(usage))


def test_a_split_by_rows_tears_groups_apart() -> None:
    """That the check can fail: groups of ten rows never survive a split by rows."""
    groups = np.repeat(np.arange(40), 10)
    usage = split_rows(400, THIRDS, SEED)
    assert find_split_group(groups, usage, lines(usage)) is not None


def test_the_first_torn_row_is_found_with_the_one_before_it() -> None:
    groups = np.array(["a", "b", "a", "b", "c"])
    usage = np.array([1, 0, 0, 0, 2], np.int8)
    assert find_split_group(groups, usage, np.array([6, 2, 3, 4, 5], np.int32)) == (0, 2)


def test_ignored_rows_may_be_of_any_group() -> None:
    usage = np.array([1, 3, 1, 2], np.int8)
    assert find_split_group(np.array([1, 1, 1, 3]), usage, lines(usage)) is None
    assert find_split_group(np.array([1, 1, 1, 1]), usage, lines(usage)) == (3, 0)


def test_time_splits_into_past_and_future_and_keeps_moments_whole() -> None:
    times = np.random.default_rng(1).integers(0, 50, 500)
    usage = split_times(times, THIRDS)
    moments = [times[usage == each] for each in (Usage.PUBLIC, Usage.PRIVATE, Usage.FINAL)]
    assert moments[0].max() < moments[1].min()
    assert moments[1].max() < moments[2].min()
    dates = np.datetime64("2026-01-01") + times.astype("timedelta64[D]")
    assert np.array_equal(split_times(dates, THIRDS), usage)
    assert np.array_equal(split_times(dates.astype(str), THIRDS), usage)


GOLDEN = [0, 1, 0, 2, 1, 0, 1, 0, 1, 2, 0, 2, 1, 0, 1, 2, 0, 0, 1, 2, 2, 1, 2, 2]


def test_the_seed_decides_everything_and_the_same_everywhere() -> None:
    usage = split_rows(24, THIRDS, SEED)
    assert usage.tolist() == GOLDEN
    assert not np.array_equal(usage, split_rows(24, THIRDS, b"another"))
    named = split_groups(np.array([f"row {place:02}" for place in range(24)]), THIRDS, SEED)
    assert named.tolist() == GOLDEN


def test_every_row_and_group_has_the_same_chance() -> None:
    """Over many seeds: shares of 0.3 and 0.7, for a large group as for small ones, if rows are
    many."""
    groups = np.repeat(np.arange(100), np.arange(1, 101) % 5 + 1)
    public = np.mean([split_groups(groups, NO_FINAL, bytes([a, b])) == Usage.PUBLIC
                      for a in range(40) for b in range(25)], axis=0)  # fmt: skip
    assert np.abs(public - 0.3).max() < 5 * np.sqrt(0.21 / 1000)


def test_no_splitter_can_be_given_labels() -> None:
    for function in (split_rows, split_groups, split_times):
        names = set(inspect.signature(function).parameters)
        assert names <= {"rows", "groups", "times", "shares", "seed"}


def test_labels_are_as_common_in_every_set() -> None:
    """The split is blind: nothing is stratified, counts of a label scatter as drawn ones do."""
    label = np.arange(1000) % 2
    counts = [int(label[split_rows(1000, NO_FINAL, bytes([a])) == 0].sum()) for a in range(200)]
    assert np.mean(counts) == pytest.approx(150, abs=2.5)
    assert np.var(counts) == pytest.approx(300 * 0.25 * 0.7, rel=0.4)


@pytest.mark.parametrize(
    ("shares", "field"),
    [
        ((-1, 1, 1), "public"),
        ((1, 0, 0), "private"),
        ((Fraction(1, 2), Fraction(1, 2), Fraction(1, 4)), "final"),
    ],
)
def test_shares_that_cannot_be_are_refused(shares: tuple[Any, ...], field: str) -> None:
    with pytest.raises(ParameterError) as caught:
        Shares(*map(Fraction, shares))
    assert caught.value.field == field


def test_a_set_without_rows_is_refused_by_name() -> None:
    small = Shares(Fraction(1, 100), Fraction(98, 100), Fraction(1, 100))
    with pytest.raises(ParameterError, match="Public gets no rows"):
        split_rows(20, small, SEED)
    with pytest.raises(ParameterError, match="gets no rows"):
        split_groups(np.repeat([1, 2], 50), THIRDS, SEED)


def test_columns_that_look_like_groups_are_found() -> None:
    place = np.arange(400)
    days = (np.datetime64("2026-01-01") + (place // 10).astype("timedelta64[D]")).astype(str)
    columns = {
        "id": place,
        "sex": place % 2,
        "store": place % 40,
        "user": np.array([f"user-{each % 100}" for each in place]),
        "note": np.array([f"{each}" for each in place]),
        "seen": np.array(
            [f"{day}T{each % 24:02}:00:{each % 60:02}" for each, day in enumerate(days)]
        ),
        "moment": days.astype("datetime64[s]"),
        "almost": np.array(["2026-13-01" if each % 2 else f"2026-01-{each:03}" for each in place]),
        "price": place % 40 / 7,
    }
    assert find_groups(columns) == [
        Suspect("store", "values", 40),
        Suspect("user", "values", 100),
        Suspect("seen", "days", 40),
        Suspect("moment", "days", 40),
    ]
    assert split.find_groups({}) == []
