"""States as a shape and a word, so that colour never speaks alone."""

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

from scoring.mechanisms import answer_kind

register = template.Library()

_CIRCLE = '<circle cx="8" cy="8" r="6.25" fill="none" stroke="currentColor" stroke-width="1.75"/>'
_BAR = '<rect x="1.5" y="6" width="13" height="4" rx="1" fill="currentColor"/>'
_CROSS = '<path d="M3 3l10 10M13 3L3 13" stroke="currentColor" stroke-width="2.75"/>'
_CHECK = (
    '<path d="M2 8.5l4 4 8-9" fill="none" stroke="currentColor" stroke-width="2.5"'
    ' stroke-linejoin="round"/>'
)
_CHECKED = (
    '<path fill="currentColor" fill-rule="evenodd" d="M8 .75a7.25 7.25 0 1 1 0 14.5A7.25 7.25 0 0 1'
    ' 8 .75zM7 11.6l5-5.4-1.4-1.3L7 8.9 5.4 7.2 4 8.5z"/>'
)
_ALERT = (
    '<path fill="currentColor" fill-rule="evenodd" d="M8 1l7.5 13.5H.5zM7.1 5.8l.3 4.2h1.2l.3-4.2z'
    'M8 11a.9.9 0 1 0 0 1.8A.9.9 0 0 0 8 11z"/>'
)
_INFO = _CIRCLE + '<path d="M8 7v4.5M8 4.2v1.6" stroke="currentColor" stroke-width="1.75"/>'

SHAPES = {
    "confirmed": _CHECKED,
    "improved": '<path d="M8 1.5l7 12.5H1z" fill="currentColor"/>',
    "corrected": '<path d="M8 .5L15.5 8 8 15.5.5 8z" fill="currentColor"/>',
    "not_improved": _BAR,
    "pass": _CHECK,
    "fail": _BAR,
    "exhausted": (
        '<rect x="2" y="2" width="12" height="12" rx="1" fill="none" stroke="currentColor"'
        ' stroke-width="2.25"/>'
    ),
    "rejected": _CROSS,
    "failed": _ALERT,
    "queued": (
        '<circle cx="8" cy="8" r="6.25" fill="none" stroke="currentColor" stroke-width="1.75"'
        ' stroke-dasharray="3 1.9"/>'
    ),
    "scoring": _CIRCLE + '<path d="M8 1.75a6.25 6.25 0 0 1 0 12.5z" fill="currentColor"/>',
    "open": '<circle cx="8" cy="8" r="5" fill="currentColor"/>',
    "upcoming": _CIRCLE,
    "closed": _BAR,
    "draft": _CIRCLE,
    "up": '<path d="M8 2l6 7h-4v5H6V9H2z" fill="currentColor"/>',
    "down": '<path d="M8 14L2 7h4V2h4v5h4z" fill="currentColor"/>',
    "same": _BAR,
    "success": _CHECKED,
    "info": _INFO,
    "warning": _ALERT,
    "error": _CROSS,
}


@register.simple_tag
def mark(name: str) -> SafeString:
    """Return the shape of a state as inline SVG, hidden from screen readers: a word stands by."""
    return format_html(
        '<svg class="mark" viewBox="0 0 16 16" aria-hidden="true" focusable="false">{}</svg>',
        mark_safe(SHAPES.get(name, _INFO)),  # noqa: S308  # constants of this file
    )


@register.simple_tag
def state(name: str, word: str) -> SafeString:
    """Return shape and word of a state, in its colour."""
    return format_html('<span class="state state-{}">{} {}</span>', name, mark(name), word)


@register.simple_tag
def answer(code: str) -> SafeString:
    """Return what a mechanism answered, by the code of its kind, as shape and word."""
    kind = answer_kind(code)
    return state(kind.mark, kind.label)
