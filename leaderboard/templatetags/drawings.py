"""Tags that render a part of a page once for all who see the same."""

from collections.abc import Hashable
from typing import Final

from django import template
from django.template import Context, Node, NodeList
from django.template.base import FilterExpression, Parser, Token
from django.utils import timezone

register = template.Library()

_MOST_KEPT: Final = 2000


@register.tag
def once(parser: Parser, token: Token) -> "OnceNode":
    """Render what is inside once for each name: `{% once drawing "rows" %}...{% endonce %}`.

    Nothing in it may depend on who looks. Without a drawing it is rendered each time.
    """
    drawing, *name = map(parser.compile_filter, token.split_contents()[1:])
    nodes = parser.parse(("endonce",))
    parser.delete_first_token()
    return OnceNode(drawing, name, nodes)


class OnceNode(Node):
    """Template text that a drawing keeps."""

    def __init__(
        self, drawing: FilterExpression, name: list[FilterExpression], nodelist: NodeList
    ) -> None:
        self.drawing, self.name, self.nodelist = drawing, name, nodelist

    def render(self, context: Context) -> str:
        """Return the text, as it was rendered before."""
        drawing = self.drawing.resolve(context, ignore_failures=True)
        if not drawing:
            return self.nodelist.render(context)
        name = ("rendered", *(each.resolve(context) for each in self.name))
        text: str = drawing.part(name, lambda: self.nodelist.render(context))
        return text


@register.tag
def same(parser: Parser, token: Token) -> "SameNode":
    """Render what is inside once a minute for each value: `{% same line axis %}...{% endsame %}`.

    It may depend on nothing but these values, and on the time by the minute.
    """
    values = [parser.compile_filter(each) for each in token.split_contents()[1:]]
    nodes = parser.parse(("endsame",))
    parser.delete_first_token()
    return SameNode(values, nodes)


class SameNode(Node):
    """Template text that is kept in memory by what it is made of."""

    def __init__(self, values: list[FilterExpression], nodelist: NodeList) -> None:
        self.values, self.nodelist = values, nodelist
        self._kept: dict[Hashable, str] = {}
        self._minute = 0

    def render(self, context: Context) -> str:
        """Return the text, as it was rendered before."""
        minute = int(timezone.now().timestamp() // 60)
        if minute != self._minute or len(self._kept) >= _MOST_KEPT:
            self._kept, self._minute = {}, minute
        kept, key = self._kept, tuple(each.resolve(context) for each in self.values)
        if key not in kept:
            kept[key] = self.nodelist.render(context)
        return kept[key]
