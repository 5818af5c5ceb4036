"""The step chart of the leading scores."""

import itertools
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaderboard.queries import Interval
from leaderboard.web.charts.steps import HEIGHT, Series, spread, step_chart

START = datetime(2026, 3, 2, tzinfo=UTC)
END = START + timedelta(days=10)
LIMITS = Interval(0, 1)


def series(name: str, *points: tuple[float, float]) -> Series:
    return Series(name, tuple((START + timedelta(days=day), score) for day, score in points))


def test_there_is_no_chart_without_a_released_score() -> None:
    assert step_chart([], START, END, LIMITS) is None
    assert step_chart([Series("alice", ())], START, END, LIMITS) is None


def test_a_score_holds_until_it_is_beaten_and_to_the_end() -> None:
    chart = step_chart([series("alice", (0, 0.5), (5, 0.9))], START, END, LIMITS)
    assert chart is not None
    level, rise, rest = chart.lines[0].segments
    assert (level.x1, level.x2) == (0, 50)
    assert level.y1 == level.y2 == rise.y1
    assert (rise.x1, rise.x2) == (50, 50)
    assert (rest.x1, rest.x2) == (50, 100)


def test_a_better_score_stands_higher() -> None:
    chart = step_chart([series("alice", (0, 0.5)), series("bob", (1, 0.9))], START, END, LIMITS)
    assert chart is not None
    assert chart.lines[1].points[0].y < chart.lines[0].points[0].y


@pytest.mark.parametrize(
    ("score", "limits", "labels"),
    [
        (1, Interval(0, 1), ["0.96", "0.98", "1.00"]),
        (0, Interval(0, 1), ["0.00", "0.02", "0.04"]),
        (0.5, Interval(0, 1), ["0.450", "0.475", "0.500", "0.525", "0.550"]),
        (30, Interval(0, 60), ["28", "30", "32"]),
    ],
)
def test_the_axis_of_a_single_score_has_no_score_that_the_metric_cannot_give(
    score: float, limits: Interval, labels: list[str]
) -> None:
    chart = step_chart([series("alice", (0, score))], START, END, limits)
    assert chart is not None
    assert [row.label for row in chart.rows] == labels


def test_five_lines_at_most_each_with_a_shape_of_its_own() -> None:
    chart = step_chart([series(f"team {n}", (n, 0.5)) for n in range(8)], START, END, LIMITS)
    assert chart is not None
    assert [line.name for line in chart.lines] == [f"team {n}" for n in range(5)]
    assert len({line.shape for line in chart.lines}) == 5


def test_labels_of_equal_scores_do_not_overlap() -> None:
    chart = step_chart([series(f"team {n}", (n, 0.5)) for n in range(5)], START, END, LIMITS)
    assert chart is not None
    labels = sorted(line.label_y for line in chart.lines)
    assert all(below - above >= 20 for above, below in itertools.pairwise(labels))
    assert labels[-1] <= HEIGHT


def test_labels_keep_their_places_where_there_is_room() -> None:
    assert spread([30, 90, 60], gap=20, low=0, high=100) == [30, 90, 60]


def test_labels_at_the_bottom_are_pushed_up() -> None:
    assert spread([100, 100], gap=20, low=0, high=100) == pytest.approx([80, 100])


@given(st.lists(st.floats(0, 200), max_size=8))
def test_spread_labels_keep_their_distance_and_order(heights: list[float]) -> None:
    placed = spread(heights, gap=20, low=0, high=200)
    order = sorted(range(len(heights)), key=lambda index: heights[index])
    steps = [placed[b] - placed[a] for a, b in itertools.pairwise(order)]
    assert all(step >= 20 - 0.11 for step in steps)
    assert all(-0.1 <= place <= 200.1 for place in placed)
