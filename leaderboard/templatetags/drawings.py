"""The tag that renders a part of a page once for all who see the same drawing."""

from django import template
from django.template import Context, Node, NodeList
from django.template.base import FilterExpression, Parser, Token

register = template.Library()


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
