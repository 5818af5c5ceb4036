"""The moves from the released board to the final one."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from leaderboard.web.charts.moves import GAP, ROW, Move, moves_chart

ranks = st.lists(st.tuples(st.integers(1, 40), st.integers(1, 40)), min_size=2, max_size=12)


def test_there_is_no_chart_where_nobody_moved() -> None:
    assert moves_chart([], 3) is None
    assert moves_chart([Move("a", 1, 1), Move("b", 2, 2)], 3) is None


def test_a_line_leads_from_place_to_place_and_says_which_way() -> None:
    teams = [Move("a", 7, 1), Move("b", 1, 2), Move("c", 3, 3), Move("d", 2, 60)]
    chart = moves_chart(teams, 3)
    assert chart is not None
    first, second, third, below = (ROW * (place - 0.5) for place in (1, 2, 3, 4))
    drawn = [(s.move.name, s.start, s.end, s.direction) for s in chart.slopes]
    assert drawn == [
        ("a", below + GAP, first, "up"),
        ("b", first, second, "down"),
        ("c", third, third, "same"),
        ("d", second, below + GAP, "down"),
    ]
    assert chart.height == 4 * ROW + GAP


@given(ranks)
def test_a_line_rises_where_the_team_did_and_names_stand_apart(
    places: list[tuple[int, int]],
) -> None:
    """Of every team one of the places is among the first ones; places are shared at will."""
    teams = [(min(a, 12), b) if n % 2 else (a, min(b, 12)) for n, (a, b) in enumerate(places)]
    teams.sort(key=lambda each: each[1])
    chart = moves_chart([Move(str(n), *each) for n, each in enumerate(teams)], 12)
    for slope in chart.slopes if chart else ():
        assert (slope.start > slope.end) == (slope.direction == "up")
        assert (slope.start < slope.end) == (slope.direction == "down")
    labels = [slope.label for slope in chart.slopes] if chart else []
    assert all(b - a >= ROW for a, b in itertools.pairwise(labels))
