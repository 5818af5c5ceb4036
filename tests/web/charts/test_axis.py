"""Axes have round ticks and put every value between 0 and 100 per cent."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaderboard.web.charts.axis import decimals, nice_step, number_axis, time_axis

START = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("span", "ticks", "step"),
    [(1.0, 5, 0.2), (0.22, 5, 0.05), (0.09, 4, 0.025), (7, 5, 2), (100, 4, 25), (0.003, 3, 0.001)],
)
def test_a_step_is_the_smallest_nice_number_that_fits(span: float, ticks: int, step: float) -> None:
    assert nice_step(span, ticks) == pytest.approx(step)


@pytest.mark.parametrize(("step", "places"), [(1.0, 0), (0.5, 1), (0.25, 2), (0.025, 3), (20, 0)])
def test_labels_have_the_digits_that_tell_ticks_apart(step: float, places: int) -> None:
    assert decimals(step) == places


def test_a_number_axis_labels_its_round_values() -> None:
    axis = number_axis(0.78, 0.98)
    assert [tick.label for tick in axis.ticks] == ["0.80", "0.85", "0.90", "0.95"]
    assert axis.ticks[0].position == pytest.approx(10)


def test_numbers_that_do_not_fit_beside_an_axis_are_short() -> None:
    labels = [tick.label for tick in number_axis(0, 1e10, ticks=4).ticks]
    assert labels == ["0", "2.5e9", "5e9", "7.5e9", "1e10"]
    assert number_axis(0, 999_999).ticks[1].label == "200000"


def test_an_axis_without_length_is_widened() -> None:
    axis = number_axis(0.5, 0.5)
    assert axis.low < 0.5 < axis.high
    assert axis.at(0.5) == pytest.approx(50)


def test_values_beyond_the_ends_lie_on_the_ends() -> None:
    axis = number_axis(0, 1)
    assert (axis.at(-3), axis.at(7)) == (0, 100)


@given(
    st.floats(-1e6, 1e6, allow_nan=False),
    st.floats(1e-3, 1e6, allow_nan=False),
    st.integers(2, 10),
)
def test_ticks_lie_on_the_axis_and_are_not_too_many(low: float, span: float, ticks: int) -> None:
    axis = number_axis(low, low + span, ticks)
    assert all(0 <= tick.position <= 100 for tick in axis.ticks)
    assert 0 < len(axis.ticks) <= ticks + 1
    assert len({tick.label for tick in axis.ticks}) == len(axis.ticks)


def test_hours_are_labelled_by_the_clock_and_midnight_by_its_day() -> None:
    axis = time_axis(START, START + timedelta(hours=24))
    assert [tick.label for tick in axis.ticks] == ["12:00", "18:00", "3 Mar", "06:00"]


def test_weeks_begin_on_monday() -> None:
    axis = time_axis(START, START + timedelta(days=30))
    assert [tick.label for tick in axis.ticks] == ["9 Mar", "16 Mar", "23 Mar", "30 Mar"]


def test_years_are_labelled_by_month() -> None:
    axis = time_axis(START, START + timedelta(days=900))
    assert axis.ticks
    assert all(len(tick.label) == len("Mar 2026") for tick in axis.ticks)


def test_a_moment_has_a_time_axis_too() -> None:
    axis = time_axis(START, START)
    assert axis.at(START) == 0
    assert axis.end > axis.start


@given(st.integers(1, 10**9))
def test_time_ticks_are_never_too_many(seconds: int) -> None:
    end = START + timedelta(seconds=min(seconds, 60 * 364 * 86400))
    assert len(time_axis(START, end).ticks) <= 61
