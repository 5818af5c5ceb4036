"""Markdown of organizers is safe and descends properly; times and places read well."""

from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from leaderboard.templatetags.text import (
    ago,
    as_csv,
    expectation,
    markdown,
    message,
    moment,
    ordinal,
    relative,
    score,
    ticks,
)
from scoring.errors import Problem


@pytest.mark.parametrize(
    "attack",
    [
        "<script>alert(1)</script>",
        "[x](javascript:alert(1))",
        "![x](data:text/html;base64,PHNjcmlwdD4=)",
        '<img src=x onerror="alert(1)">',
        "<style>body{display:none}</style>",
        '<div style="position:fixed">x</div>',
        "[x](vbscript:x)",
        '<a href="https://example.org" onclick="x()">x</a>',
    ],
)
def test_markdown_carries_no_code(attack: str) -> None:
    html = markdown(attack)
    for danger in ("<script", "<style", "<img src=x", 'href="javascript', 'href="vbscript'):
        assert danger not in html
    assert "style=" not in html.replace("&lt;", "<") or "<div style" not in html
    assert '<a href="https://example.org" onclick' not in html


def test_markdown_renders_what_organizers_write() -> None:
    html = markdown("**Bold** and `code`\n\n| a | b |\n|---|---|\n| 1 | 2 |\n")
    assert "<strong>Bold</strong>" in html
    assert "<code>code</code>" in html
    assert "<td>1</td>" in html


def test_links_do_not_hand_over_the_page() -> None:
    assert 'rel="noopener nofollow ugc"' in markdown("[x](https://example.org)")


@pytest.mark.parametrize(
    ("text", "levels"),
    [
        ("# A\n## B\n### C\n# D", ["h2", "h3", "h4", "h2"]),
        ("### A\n###### B\n### C", ["h2", "h3", "h2"]),
        ("## A\n# B\n## C", ["h2", "h2", "h3"]),
    ],
)
def test_headings_begin_at_the_second_level_and_skip_none(text: str, levels: list[str]) -> None:
    html = markdown(text)
    found = [
        html[index + 1 : index + 3] for index in range(len(html)) if html[index:].startswith("<h")
    ]
    assert found == levels


def test_wide_tables_can_be_scrolled_by_keyboard() -> None:
    assert '<div class="scroll" tabindex="0"><table>' in markdown("| a |\n|---|\n| 1 |\n")


def test_names_between_backticks_become_code_and_the_rest_is_escaped() -> None:
    assert ticks("column `a<b`: <x>") == "column <code>a&lt;b</code>: &lt;x&gt;"
    assert ticks("a lone ` stays") == "a lone ` stays"


@pytest.mark.parametrize(
    ("number", "text"),
    [
        *((1, "1st"), (2, "2nd"), (3, "3rd"), (4, "4th"), (11, "11th"), (41, "41st")),
        *((112, "112th"), (1002, "1,002nd")),
    ],
)
def test_places_read_as_ordinals(number: int, text: str) -> None:
    assert ordinal(number) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (5, "just now"),
        (90, "1 min ago"),
        (7300, "2 h ago"),
        (86400 * 5, "5 d ago"),
        (86400 * 800, "2 y ago"),
        (-30, "in a moment"),
        (-(86400 * 90 - 60), "in 90 d"),
        (-3600 * 5, "in 5 h"),
    ],
)
def test_distances_in_time_have_one_unit(seconds: float, text: str) -> None:
    assert relative(seconds) == text


def test_moments_are_told_to_machines_too() -> None:
    when = datetime(2026, 3, 2, 9, 5, tzinfo=UTC)
    assert moment(when) == (
        '<time datetime="2026-03-02T09:05:00+00:00">2 March 2026, 09:05 UTC</time>'
    )
    assert "title=" in ago(timezone.now() - timedelta(hours=1))


def test_scores_have_the_digits_that_mean_something() -> None:
    assert score(0.9, 2) == "0.90"


@pytest.mark.parametrize(
    ("whole", "line", "column", "said"),
    [
        ("Line 3, column `p`: 'x' is not a number.", 3, "p", "'x' is not a number."),
        ("Line 3, column `p`: the cell is empty.", 3, "p", "The cell is empty."),
        ("Line 1: the column 'p' is missing.", 1, "p", "The column 'p' is missing."),
        ("Line 3 has 4 cells, the header has 3.", 3, None, "Line 3 has 4 cells, the header has 3."),
        ("1 id of the sample file's 3 is missing ('2').", None, "id", None),
        ("The file is empty.", None, None, None),
    ],
)
def test_beside_line_and_column_a_problem_is_said_without_them(
    whole: str, line: int | None, column: str | None, said: str | None
) -> None:
    problem = Problem("code", message=whole, line=line, column=column)
    assert message(problem) == message(problem.render()) == (said or whole)


def test_what_was_expected_is_said_once() -> None:
    whole = "'Dog' is not one of cat, dog; did you mean 'dog'?"
    assert expectation(Problem("unknown_label", message=whole, expected="one of cat, dog")) == ""
    other = Problem("not_a_number", message="'x' is not a number.", expected="a finite number")
    assert expectation(other) == "a finite number"
    assert expectation(Problem("no_code", message="The file is empty.")) == ""


@pytest.mark.parametrize(
    ("cell", "written"),
    [("Rome", "Rome"), ("New York, NY", '"New York, NY"'), ('say "hi"', '"say ""hi"""')],
)
def test_a_cell_is_shown_as_it_stands_in_a_file(cell: str, written: str) -> None:
    assert as_csv(cell) == written
