"""Texts of organizers: Markdown with TeX, as safe HTML with MathML."""

import re

import pytest

from leaderboard.templatetags import tex
from leaderboard.templatetags.text import markdown


def test_tex_between_dollar_signs_becomes_mathml() -> None:
    assert "<msup><mi>x</mi><mn>2</mn></msup>" in markdown("The error is $x^2$.")


def test_a_formula_of_its_own_is_a_block_that_keyboards_reach() -> None:
    html = markdown("$$\n\\frac ab\n$$")
    assert '<div class="scroll formula" tabindex="0"><math display="block">' in html


def test_aligned_equations_keep_their_columns() -> None:
    html = markdown("$$\\begin{aligned}a&=b\\\\c&=d\\end{aligned}$$")
    assert html.count("<mtr>") == 2
    assert 'columnalign="right"' in html


@pytest.mark.parametrize(
    "money",
    [
        "Entry costs $5 and $6.",
        "$1,000 for the first, $500 for the second.",
        "US$5, or US$6",
        "From $5 (about €4) to $10",
        "a 5$ note",
        r"\$5 and 6\$",
    ],
)
def test_money_is_no_formula(money: str) -> None:
    assert "<math" not in markdown(money)


@pytest.mark.parametrize(
    "bad", [r"\frac{a", r"\foo x", r"\left( x", "}{", "a & b", "^", r"\begin{matrix} x"]
)
def test_what_is_no_tex_stays_as_it_was_typed(bad: str) -> None:
    html = markdown(f"See ${bad}$ there.")
    assert "<math" not in html
    assert f"${bad.replace('&', '&amp;')}$" in html


def test_code_and_escaped_signs_are_left_alone() -> None:
    assert "<math" not in markdown("`$x$` and \\$x\\$")


@pytest.mark.parametrize(
    "hostile",
    [
        r"\href{javascript:alert(1)}{x}",
        r"\style{background:url(//evil)}{x}",
        r"\class{admin}{x}",
        r"\text{<img src=x onerror=alert(1)>}",
        r"\text{</math><script>alert(1)</script>}",
        r"\text{<a href=https://evil.example>x</a>}",
        r"\color{red}{x}",
        r"\htmlData{x=y}{z}",
        "<script>alert(1)</script>",
    ],
)
def test_nothing_but_mathml_comes_out_of_a_formula(hostile: str) -> None:
    html = markdown(f"${hostile}$")
    tags = set(re.findall(r"</?([a-zA-Z]+)", html))
    assert tags <= tex.TAGS | {"p"}
    assert not re.findall(r"<[^>]*\b(href|style|src|class|on\w+)=", html)


@pytest.mark.parametrize(
    "nested",
    ["{" * 500 + "}" * 500, r"\sqrt" * 190 + "x", "^" * 1000, "x^{" * 200 + "}" * 200, "[" * 1000],
)
def test_deep_formulas_break_nothing(nested: str) -> None:
    assert markdown(f"${nested}$")


def test_a_long_formula_is_not_read() -> None:
    assert "<math" in markdown(f"${'x' * tex.LONGEST}$")
    assert "<math" not in markdown(f"${'x' * (tex.LONGEST + 1)}$")


def test_of_very_many_formulas_only_the_first_are_read() -> None:
    count = 3 * tex.MOST // 500
    html = markdown("\n\n".join(f"${'y' * 500}$" for _ in range(count)))
    assert html.count("<math") == tex.MOST // 500


def test_macros_are_not_read() -> None:
    """One line of them could stand for a million characters."""
    assert "<math" not in markdown(r"$\newcommand{\a}{xx}\a$ and $\def\b{\b\b}\b$")
