"""The narrowest of several bounds, each with its part of beta."""

from fractions import Fraction

import pytest

from research.bounds.split import Bound, narrowest
from research.bounds.tails import hoeffding_width
from scoring.errors import ConditionError


def test_of_several_bounds_the_narrowest_at_its_part_of_beta_is_shown_by_name() -> None:
    plain = Bound("plain", Fraction(1, 2), lambda beta: hoeffding_width(1000, beta))
    wide = Bound("wide", Fraction(1, 2), lambda beta: 0.2)
    shown = narrowest([wide, plain], 0.05)
    assert (shown.name, shown.width) == ("plain", hoeffding_width(1000, 0.025))


def test_a_bound_whose_conditions_fail_is_left_out() -> None:
    failing = Bound("failing", Fraction(1, 2), lambda beta: hoeffding_width(0, beta))
    wide = Bound("wide", Fraction(1, 2), lambda beta: 0.2)
    assert narrowest([failing, wide], 0.05).name == "wide"
    with pytest.raises(ConditionError, match="No bound"):
        narrowest([failing], 0.05)


@pytest.mark.parametrize("parts", [(Fraction(2, 3), Fraction(1, 2)), (Fraction(0), Fraction(1))])
def test_parts_of_beta_are_positive_and_add_up_to_at_most_one(parts: tuple[Fraction, ...]) -> None:
    bounds = [Bound("each", part, lambda beta: 0.1) for part in parts]
    with pytest.raises(ConditionError):
        narrowest(bounds, 0.05)
