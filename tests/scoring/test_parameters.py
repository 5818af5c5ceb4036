"""What an organizer may type."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.errors import ParameterError
from scoring.parameters import Parameter, parse_all, show

COUNT = Parameter("count", "Count", "How many.", "integer", 5, minimum=1, maximum=10)
SHARE = Parameter("share", "Share", "How much.", "fraction", Fraction(1, 2), minimum=Fraction(0))
MODE = Parameter("mode", "Mode", "Which.", "choice", "a", choices=("a", "b"))


@pytest.mark.parametrize(
    ("parameter", "typed", "value"),
    [
        (COUNT, "7", 7),
        (COUNT, " 7 ", 7),
        (COUNT, 7, 7),
        (COUNT, "+7", 7),
        (SHARE, "0.02", Fraction(1, 50)),
        (SHARE, "1/50", Fraction(1, 50)),
        (SHARE, ".5", Fraction(1, 2)),
        (SHARE, "1e-15", Fraction(1, 10**15)),
        (SHARE, "3", Fraction(3)),
        (SHARE, 0.1, Fraction(1, 10)),
        (SHARE, Fraction(1, 3), Fraction(1, 3)),
        (MODE, "b", "b"),
    ],
)
def test_a_parameter_reads_what_people_type(
    parameter: Parameter, typed: object, value: object
) -> None:
    assert parameter.parse(typed) == value


@pytest.mark.parametrize(
    ("parameter", "typed", "message"),
    [
        (COUNT, "", "whole number"),
        (COUNT, "7.0", "whole number from 1 to 10"),
        (COUNT, "٧", "whole number"),
        (COUNT, "9" * 40, "whole number"),
        (COUNT, True, "whole number"),
        (COUNT, None, "whole number"),
        (COUNT, "0", "at least 1"),
        (COUNT, "11", "at most 10"),
        (SHARE, "nan", "a number"),
        (SHARE, "60,5", "no comma"),
        (SHARE, "1e9", "a number"),
        (SHARE, "1/0", "denominator 0"),
        (SHARE, "-0.1", "at least 0"),
        (MODE, "c", "one of a, b"),
    ],
)
def test_a_parameter_says_what_is_wrong(parameter: Parameter, typed: object, message: str) -> None:
    with pytest.raises(ParameterError, match=message) as caught:
        parameter.parse(typed)
    assert caught.value.field == parameter.name


@given(st.fractions(0, 10**6, max_denominator=10**6))
def test_a_fraction_survives_its_text_form(number: Fraction) -> None:
    assert SHARE.parse(str(number)) == number
    assert SHARE.parse(show(number)) == number


def test_missing_parameters_take_their_defaults() -> None:
    assert parse_all((COUNT, MODE), {"mode": "b"}) == {"count": 5, "mode": "b"}


def test_an_unknown_parameter_is_refused_by_name() -> None:
    with pytest.raises(ParameterError) as caught:
        parse_all((COUNT,), {"cuont": "5"})
    assert caught.value.field == "cuont"


def test_numbers_are_shown_as_decimals_where_those_are_exact() -> None:
    assert show(Fraction(1, 50)) == "0.02"
    assert show(Fraction(1, 3)) == "1/3"
    assert show(1000) == "1000"
    assert show(Fraction(1, 10_000_000)) == "0.0000001"
