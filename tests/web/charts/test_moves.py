"""The moves from the released board to the final one."""

from hypothesis import given
from hypothesis import strategies as st

from leaderboard.web.charts.moves import ROW, Move, moves_chart


def test_there_is_no_chart_where_nobody_moved() -> None:
    assert moves_chart([]) is None
    assert moves_chart([Move("a", 1, 1), Move("b", 2, 2)]) is None


def test_a_line_leads_from_place_to_place_and_says_which_way() -> None:
    chart = moves_chart([Move("a", 7, 1), Move("b", 1, 2), Move("c", 3, 3)])
    assert chart is not None
    first, second, third, below = (ROW * (place - 0.5) for place in (1, 2, 3, 4))
    drawn = [(s.move.name, s.start, s.end, s.direction) for s in chart.slopes]
    assert drawn == [
        ("a", below, first, "up"),
        ("b", first, second, "down"),
        ("c", third, third, "same"),
    ]
    assert chart.height == 4 * ROW


@given(st.lists(st.integers(1, 40), min_size=2, max_size=12, unique=True))
def test_a_line_rises_where_the_team_did(before: list[int]) -> None:
    chart = moves_chart([Move(str(rank), rank, place) for place, rank in enumerate(before, 1)])
    for slope in chart.slopes if chart else ():
        assert (slope.start > slope.end) == (slope.direction == "up")
        assert (slope.start < slope.end) == (slope.direction == "down")


@given(st.permutations(range(1, 9)))
def test_no_two_lines_share_an_end(before: list[int]) -> None:
    chart = moves_chart([Move(str(rank), rank, place) for place, rank in enumerate(before, 1)])
    if chart is not None:
        assert len({slope.start for slope in chart.slopes}) == 8
        assert len({slope.end for slope in chart.slopes}) == 8
