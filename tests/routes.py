"""Every address of the site, read from the URL conf: a new route is walked as soon as it is there.

A pattern is written the way people write addresses: `c/<slug>/submissions/<number>/`. Whoever walks
says what stands for each `<name>`; `ANYTHING` is the part that a catch-all takes.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from django.urls import URLPattern, URLResolver, get_resolver
from django.urls.resolvers import RegexPattern

ANYTHING = "<anything>"
_PARAMETER = re.compile(r"<(?:\w+:)?(\w+)>")


@dataclass(frozen=True)
class Route:
    """An address with its parameters open."""

    pattern: str

    @property
    def parameters(self) -> tuple[str, ...]:
        return tuple(_PARAMETER.findall(self.pattern))

    @property
    def area(self) -> str:
        """The part of the site: api, admin, organize, account, or pages."""
        first = self.pattern.split("/", 1)[0]
        return first if first in {"api", "admin", "organize", "account"} else "pages"

    @property
    def is_of_organizers(self) -> bool:
        """Return whether others are stopped at the door, as tests/test_permissions.py shows."""
        return self.pattern.startswith(("organize/", "admin/", "api/v1/organize/"))

    def path(self, values: Mapping[str, object]) -> str:
        """Fill in the address. Fail, saying so, if a parameter has no value."""
        missing = [name for name in self.parameters if name not in values]
        assert not missing, (
            f"The route {self.pattern} has a parameter {missing[0]} that no walk knows: give it a "
            "value in tests/walking.py."
        )
        return "/" + _PARAMETER.sub(lambda found: str(values[found[1]]), self.pattern)


@cache
def all_routes() -> tuple[Route, ...]:
    """Return every route once, in the order of the URL conf."""
    patterns = _walk(get_resolver().url_patterns, "")
    return tuple(Route(pattern) for pattern in dict.fromkeys(patterns))


def _walk(entries: list[URLPattern | URLResolver], before: str) -> Iterator[str]:
    for entry in entries:
        here = before + _readable(entry)
        if isinstance(entry, URLResolver):
            yield from _walk(entry.url_patterns, here)
        else:
            yield here


def _readable(entry: URLPattern | URLResolver) -> str:
    text = str(entry.pattern)
    if not isinstance(entry.pattern, RegexPattern):
        return _PARAMETER.sub(r"<\1>", text)
    if not text:
        return ANYTHING
    return re.sub(r"\(\?P<(\w+)>[^()]*\)", r"<\1>", text).removeprefix("^").removesuffix("$")
