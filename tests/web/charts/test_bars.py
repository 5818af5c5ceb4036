"""Uploads by the hour, as bars."""

from datetime import UTC, datetime

import pytest

from leaderboard.queries.running import Hour
from leaderboard.web.charts.bars import bar_chart


@pytest.mark.parametrize("highest", range(1, 101))
def test_the_axis_of_counts_has_whole_numbers(highest: int) -> None:
    chart = bar_chart([Hour(datetime(2026, 1, 1, tzinfo=UTC), taken=highest, rejected=0)])
    assert chart is not None
    assert [label for _, label in chart.rows if not label.isdecimal()] == []
