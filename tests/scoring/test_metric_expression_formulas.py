"""What formulas may be, and how they are refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.metrics.formula import DEEPEST, FUNCTIONS, LONGEST, FormulaError, read_formula


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1 + 2 * 3", 7),
        ("(1 + 2) * 3", 9),
        ("8 / 4 / 2", 1),
        ("7 - 2 - 1", 4),
        ("-2 ** 2", -4),
        ("2 ** -1", 0.5),
        ("9 ** 0.5", 3),
        ("- - 2 + +1", 3),
        ("1 < 2 and 2 < 1 or 3 > 2", 1),
        ("not 1 < 2", 0),
        ("(1 < 2) + (2 < 3)", 2),
        ("where(1 == 1, .5, log(0 - 1))", 0.5),
        ("clip(7, 0, 3) + min(4, 2, 3) + max(1, 5)", 10),
        ("floor(-1.5) + sign(-3) + abs(-2)", -1),
        ("1.5e1", 15),
    ],
)
def test_formulas_mean_what_they_mean_elsewhere(text: str, value: float) -> None:
    assert read_formula(text).evaluate({}) == value


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("9**9**9", 5, "Expected one exponent only"),
        ("2 ** 99", 6, "Expected a number from -10 to 10 as the exponent, not “99”."),
        ("2 ** label", 6, "Expected a number from -10 to 10 as the exponent"),
        ("label.real", 6, "Expected an operator such as + or the end, not “.”."),
        ("label[0]", 6, "Expected an operator such as + or the end, not “[”."),
        ("'text'", 1, "Expected a number, a column, a function or “(”, not “'”."),
        ("__import__(1)", 1, "There is no function “__import__”; expected one of abs, clip"),
        ("eval(label)", 1, "There is no function “eval”"),
        ("getattr(label, label)", 1, "There is no function “getattr”"),
        ("lambda: label", 7, "Expected an operator"),
        ("abs(label", 10, "Expected an operator or “)”, not the end."),
        ("1 +", 4, "Expected a number, a column, a function or “(”, not the end."),
        ("1 2", 3, "Expected an operator such as + or the end, not “2”."),
        ("0 < 1 < 2", 7, "Expected `and` between two comparisons"),
        ("where(label, 1, 2)", 7, "Expected a condition here, such as label > 0."),
        ("1 and 2 > 1", 1, "Expected a condition here"),
        ("max(1)", 6, "Expected “,”: max takes 2 to 8 arguments, not “)”."),
        ("abs(1, 2)", 6, "Expected “)”: abs takes 1 argument, not “,”."),
        ("log + 1", 5, "Expected “(” after the function log, not “+”."),
        ("1e999", 1, "The number is too large."),
        ("1; 2", 2, "Expected an operator"),
        ("label = 1", 7, "Expected an operator"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(text: str, place: int, message: str) -> None:
    with pytest.raises(FormulaError) as caught:
        read_formula(text)
    assert caught.value.place == place
    assert caught.value.message.startswith(message)


@pytest.mark.parametrize(
    "text",
    [
        "1+" * LONGEST + "1",
        "(" * (DEEPEST + 1) + "1" + ")" * (DEEPEST + 1),
        "-" * (DEEPEST + 1) + "1",
        "not " * (DEEPEST + 1) + "1 < 2",
        "abs(" * (DEEPEST + 1) + "1" + ")" * (DEEPEST + 1),
        "1" + "+1" * 150,
    ],
)
def test_formulas_are_bounded(text: str) -> None:
    with pytest.raises(FormulaError):
        read_formula(text)


SIGNS = ["(", ")", ",", "+", "-", "**", "<", "==", "and", "not", ".", "[", "1", "2e9", "label"]


@given(st.lists(st.sampled_from([*SIGNS, *FUNCTIONS, "import", "__class__", "☃"]), max_size=40))
def test_any_row_of_words_is_read_or_refused_and_what_is_read_is_total(words: list[str]) -> None:
    text = " ".join(words)
    try:
        names = {name: np.array([0.0, np.inf, -1.0]) for name in read_formula(text).names}
        assert read_formula(text).evaluate(names).dtype == np.float64
    except FormulaError as error:
        places = range(1, len(text) + 2)
        if error.place not in places:
            raise
