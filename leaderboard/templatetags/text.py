"""Filters for text: Markdown of organizers, moments, ordinals."""

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from html import unescape
from typing import Any, Final
from urllib.parse import urljoin

import nh3
from django import template
from django.core.paginator import Paginator
from django.utils import timezone
from django.utils.html import escape, format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.token import Token

from leaderboard.queries import BoardRow, FinalRow
from leaderboard.templatetags import tex
from scoring.errors import Problem
from scoring.wording import in_bytes

register = template.Library()
register.filter("in_bytes", in_bytes)

_TAGS = {
    *("p", "br", "hr", "blockquote", "pre", "code", "em", "strong", "s", "a", "img"),
    *("ul", "ol", "li", "table", "thead", "tbody", "tr", "th", "td"),
    *("h2", "h3", "h4", "h5", "h6", "div"),
    *tex.TAGS,
}
_ATTRIBUTES = {
    "a": {"href", "title"},
    "img": {"src", "alt", "title"},
    "ol": {"start"},
    "div": {"class", "tabindex"},
    "pre": {"tabindex"},
    **tex.ATTRIBUTES,
}
_SCHEMES = {"http", "https", "mailto"}
_PARSER = tex.read_tex(MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"]))

# What user agents hold, the most telling first: nearly all call themselves Mozilla and Safari.
_AGENTS: Final = (
    (
        *(("Edg/", "Edge"), ("OPR/", "Opera"), ("Firefox/", "Firefox"), ("Chrome/", "Chrome")),
        *(("CriOS/", "Chrome"), ("Safari/", "Safari")),
    ),
    (
        *(("Android", "Android"), ("iPhone", "iPhone"), ("iPad", "iPad"), ("Windows", "Windows")),
        *(("Mac OS", "macOS"), ("Linux", "Linux")),
    ),
)


@register.filter
def markdown(text: str) -> SafeString:
    """Return Markdown with TeX as safe HTML whose headings begin at level 2, below the page's own.

    Raw HTML is shown as text; what the renderer makes is sanitised once more. Levels are never
    skipped: a text that begins with `###` gets a second-level heading first.
    """
    tokens = _PARSER.parse(text)
    _descend(tokens)
    html = _PARSER.renderer.render(tokens, _PARSER.options, {})
    # Wide tables and listings scroll by themselves, and so must be reachable by keyboard.
    html = html.replace("<table>", '<div class="scroll" tabindex="0"><table>')
    html = html.replace("</table>", "</table></div>").replace("<pre>", '<pre tabindex="0">')
    clean = nh3.clean(
        html,
        tags=_TAGS,
        attributes=_ATTRIBUTES,
        url_schemes=_SCHEMES,
        link_rel="noopener nofollow ugc",
    )
    return mark_safe(clean)  # noqa: S308  # sanitised one line above


@register.filter
def absolute(html: SafeString, base: str) -> SafeString:
    """Return what `markdown` made with absolute addresses, for where there is no page: a mail."""

    def resolve(found: re.Match[str]) -> str:
        return f'{found[1]}="{escape(urljoin(base, unescape(found[2])))}"'

    return mark_safe(re.sub(r'\b(href|src)="([^"]*)"', resolve, html))  # noqa: S308  # escaped


def _descend(tokens: list[Token]) -> None:
    """Rename headings so that they begin at h2 and go down one level at a time."""
    outer: list[int] = []
    for token in tokens:
        if token.type == "heading_open":
            level = int(token.tag[1])
            while outer and outer[-1] >= level:
                outer.pop()
            outer.append(level)
            token.tag = f"h{min(len(outer) + 1, 6)}"
        elif token.type == "heading_close":
            token.tag = f"h{min(len(outer) + 1, 6)}"


@register.filter
def ticks(text: str) -> SafeString:
    """Return plain text in which names between backticks are set as code."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return format_html("{}", text)
    return format_html_join(
        "",
        "{}{}{}",
        (
            (mark_safe("<code>"), part, mark_safe("</code>")) if index % 2 else ("", part, "")
            for index, part in enumerate(parts)
        ),
    )


@register.filter
def as_csv(cell: str) -> str:
    """Return a cell as it is written in a CSV file."""
    return '"' + cell.replace('"', '""') + '"' if set(cell) & set(',"\r\n') else cell


@register.filter
def message(problem: Problem | Mapping[str, Any]) -> str:
    """Return a problem's message without the line and column that stand beside it in a table."""
    _, text, line, column = _of(problem)
    places = [f"Line {line}", f"line {line}"] if line is not None else []
    rest = text
    for place in (*places, f"Column `{column}`", f"column `{column}`"):
        if rest.startswith((f"{place}, ", f"{place}: ")):
            rest = rest[len(place) + 2 :]
    return rest[:1].upper() + rest[1:]


@register.filter
def expectation(problem: Problem | Mapping[str, Any]) -> str:
    """Return what was expected, unless the message says so itself."""
    expected, text, *_ = _of(problem)
    return "" if expected is None or expected in text else expected


def _of(problem: Problem | Mapping[str, Any]) -> tuple[str | None, str, int | None, str | None]:
    """Return expected, message, line and column of a problem, just found or stored."""
    found = problem if isinstance(problem, Problem) else Problem.from_json(problem)
    return found.expected, found.message, found.line, found.column


@register.filter
def ordinal(number: int) -> str:
    """Return 1 as "1st", 42 as "42nd", 1002 as "1,002nd"."""
    tail = (
        "th" if number % 100 in {11, 12, 13} else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    )
    return f"{number:,}{tail}"


@register.filter
def place(row: BoardRow | FinalRow) -> str:
    """Return the place of a row of a board: "4", or "1=" where others have it too."""
    return "" if row.rank is None else f"{row.rank:,}{'=' if row.tied else ''}"


@register.filter
def around(pages: int, page: int) -> Iterator[int | str]:
    """Return the numbers of the pages to link to: the ends, those around this one, and gaps."""
    return Paginator(range(pages), 1).get_elided_page_range(page, on_each_side=2, on_ends=1)


@register.filter
def moment(when: datetime) -> SafeString:
    """Return a moment in full, in UTC, as a `time` element."""
    utc = f"{when.day} {when:%B %Y, %H:%M} UTC"
    return format_html('<time datetime="{}">{}</time>', when.isoformat(), utc)


@register.filter
def value(written: str | datetime) -> str:
    """Return what was written somewhere: a moment as everywhere, a text as it is."""
    return moment(written) if isinstance(written, datetime) else written


@register.filter
def browser(user_agent: str) -> str:
    """Return browser and system of a user agent as people know them; itself where neither is."""
    found = [next((name for part, name in kind if part in user_agent), "") for kind in _AGENTS]
    return " on ".join(filter(None, found)) or user_agent or "No browser named"


@register.filter
def ago(when: datetime) -> SafeString:
    """Return how long ago in one unit ("3 h ago"), or until ("in 5 d"), the moment as a tip."""
    return _distance(when, '<time datetime="{}" title="{}">{}</time>')


@register.filter
def until(when: datetime) -> SafeString:
    """Return the same for a deadline, whose last day a script counts down."""
    return _distance(when, '<time data-countdown datetime="{}" title="{}">{}</time>')


def _distance(when: datetime, element: str) -> SafeString:
    seconds = (timezone.now() - when).total_seconds()
    full = f"{when.day} {when:%B %Y, %H:%M} UTC"
    return format_html(element, when.isoformat(), full, relative(seconds))


def relative(seconds: float) -> str:
    """Return a distance in time in words: positive is past, negative is to come."""
    # What was 90 days ahead when it was set is a little less when it is read.
    size = seconds if seconds >= 0 else -seconds * 1.01
    units = ((86400 * 365, "y"), (86400, "d"), (3600, "h"), (60, "min"))
    text = next((f"{int(size // length)} {unit}" for length, unit in units if size >= length), "")
    if not text:
        return "just now" if seconds >= 0 else "in a moment"
    return f"{text} ago" if seconds >= 0 else f"in {text}"


@register.filter
def lasts(seconds: int) -> str:
    """Return a length of time in words."""
    return f"{seconds} s" if seconds < 60 else relative(-seconds).removeprefix("in ")


@register.filter
def score(value: float, digits: int) -> str:
    """Return a score with the digits that mean something."""
    return f"{value:.{digits}f}"
