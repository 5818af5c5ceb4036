"""The board's forest plot: positions, cut whiskers, rows far away."""

from hypothesis import given
from hypothesis import strategies as st

from leaderboard.queries import Interval
from leaderboard.web.charts.forest import Estimate, Forest, forest

UNIT = Interval(0.0, 1.0)


def around(score: float, reach: float) -> Interval:
    return Interval(max(0.0, score - reach), min(1.0, score + reach))


def estimate(score: float, sampling: float = 0.02) -> Estimate:
    return Estimate(score, around(score, sampling))


def plot(*rows: Estimate | None) -> Forest:
    return forest(rows, UNIT)


def test_better_scores_lie_further_to_the_right() -> None:
    marks = plot(estimate(0.9), estimate(0.8), estimate(0.7)).marks
    positions = [mark.position for mark in marks if mark]
    assert positions == sorted(positions, reverse=True)


def test_a_row_without_a_score_has_no_mark_but_keeps_its_place() -> None:
    marks = plot(estimate(0.9), None, estimate(0.8)).marks
    assert [mark is None for mark in marks] == [False, True, False]


def test_an_empty_board_shows_the_scores_that_are_possible() -> None:
    axis = plot().axis
    assert (axis.low, axis.high) == (0, 1)


def test_sampling_whiskers_fit_onto_the_axis() -> None:
    for mark in plot(estimate(0.9), estimate(0.5)).marks:
        assert mark is not None
        assert mark.sampling is not None
        assert not (mark.sampling.cut_start)
        assert not (mark.sampling.cut_end)
        assert mark.sampling.start < mark.position < mark.sampling.end


def test_one_team_far_below_does_not_flatten_the_plot() -> None:
    drawn = plot(*(estimate(0.9 + step / 100) for step in range(8)), estimate(0.1))
    last = drawn.marks[-1]
    assert last is not None
    assert last.beyond == "start"
    assert last.sampling is None
    assert drawn.axis.low > 0.5


def test_the_axis_never_leaves_the_scores_that_are_possible() -> None:
    axis = plot(estimate(1.0), estimate(0.99)).axis
    assert axis.high == 1


def test_scores_without_a_sampling_error_are_plain_dots() -> None:
    mark = plot(Estimate(0.9), Estimate(0.8)).marks[0]
    assert mark is not None
    assert mark.sampling is None


@given(st.lists(st.floats(0, 1), min_size=1, max_size=60))
def test_every_dot_lies_on_the_axis(scores: list[float]) -> None:
    for mark in plot(*map(estimate, sorted(scores, reverse=True))).marks:
        assert mark is not None
        assert 0 <= mark.position <= 100


def test_the_axis_reaches_to_the_first_score_of_the_board_and_to_the_last_if_asked() -> None:
    rows = [estimate(0.5 + step / 100) for step in range(8)]
    limits = Interval(0, 1)
    assert forest(rows, limits, (0.9, 0.1)).axis.holds(0.9)
    assert not forest(rows, limits, (0.9, 0.1)).axis.holds(0.1)
    assert forest(rows, limits, (0.9, 0.1), whole=True).axis.holds(0.1)
