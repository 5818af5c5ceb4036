"""TeX between dollar signs in Markdown, as MathML made on the server.

What is no TeX that is known here stays as it was typed. Formulas are short and few, so that no text
takes long to render, whoever wrote it.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from html import escape
from typing import Any, Final
from xml.etree import ElementTree

from latex2mathml.converter import convert
from markdown_it import MarkdownIt
from markdown_it.token import Token
from mdit_py_plugins.dollarmath import dollarmath_plugin

LONGEST: Final = 1_000  # characters of a formula; the slowest of these take a tenth of a second
MOST: Final = 8_000  # of all formulas of a text
TAGS: Final = frozenset(
    {
        *("math", "mrow", "mi", "mn", "mo", "ms", "mtext", "mspace", "mstyle", "mpadded"),
        *("mphantom", "menclose", "mfrac", "msqrt", "mroot", "msub", "msup", "msubsup", "munder"),
        *("mover", "munderover", "mmultiscripts", "mprescripts", "none", "mtable", "mtr", "mtd"),
    }
)
_FORM: Final = {"stretchy", "fence", "form", "separator", "minsize", "maxsize", "lspace", "rspace"}
ATTRIBUTES: Final[dict[str, set[str]]] = {
    "math": {"display"},
    "mo": _FORM | {"largeop", "movablelimits", "accent"},
    "mspace": {"width", "height", "depth", "linebreak"},
    "mpadded": {"width", "height", "depth", "lspace", "voffset"},
    "mstyle": {"displaystyle", "scriptlevel"},
    "menclose": {"notation"},
    "mfrac": {"linethickness"},
    "mtable": {"displaystyle", "columnalign", "columnlines", "rowlines"},
    "mtd": {"columnalign"},
    "mi": {"mathvariant"},
    "mover": {"accent"},
    "munder": {"accentunder"},
}
_MACROS: Final = re.compile(r"\\(def|let|gdef|(re)?new\w+|providecommand|DeclareMathOperator)")
_NAMESPACE: Final = "{http://www.w3.org/1998/Math/MathML}"


def read_tex(parser: MarkdownIt) -> MarkdownIt:
    """Let a parser read `$…$` and `$$…$$`; "$5 and $6" is money."""
    dollarmath_plugin(
        parser,
        allow_labels=False,
        allow_space=False,
        allow_digits=False,
        allow_blank_lines=False,
        double_inline=True,
    )
    for name in ("math_inline", "math_inline_double", "math_block"):
        parser.add_render_rule(name, _render)
    return parser


def _render(_: Any, tokens: Sequence[Token], index: int, options: Any, env: dict[str, Any]) -> str:
    name, tex = tokens[index].type, tokens[index].content.strip()
    is_block = name != "math_inline"
    env["tex"] = env.get("tex", 0) + len(tex)
    found = mathml(tex, is_block) if len(tex) <= LONGEST and env["tex"] <= MOST else None
    if found is None:
        mark = "$$" if is_block else "$"
        typed = f"{mark}{escape(tex)}{mark}"
        return f"<p>{typed}</p>\n" if name == "math_block" else typed
    if name == "math_block":
        return f'<div class="scroll formula" tabindex="0">{found}</div>\n'
    return found


@lru_cache(maxsize=1024)
def mathml(tex: str, is_block: bool) -> str | None:
    """Return a formula as MathML, not sanitised yet; None where it is no TeX that is known."""
    braces = re.sub(r"\\[\\{}]", "", tex)
    if _MACROS.search(tex) or braces.count("{") != braces.count("}"):
        return None
    # `aligned` is what other converters call the same.
    tex = re.sub(r"(\\(?:begin|end)\{)aligned\}", r"\1align*}", tex)
    try:
        found = convert(tex, display="block" if is_block else "inline")
    except Exception:  # of many kinds, RecursionError among them: all say that it is none
        return None
    return found if _is_sound(found) else None


def _is_sound(found: str) -> bool:
    """Return whether it is MathML and nothing else, made of commands that the converter knows.

    It leaves unknown ones as they are, and doesn't escape what `text` holds.
    """
    try:
        root = ElementTree.fromstring(found)  # noqa: S314  (it begins with <math: no entities)
    except ElementTree.ParseError:
        return False
    return all(
        each.tag.removeprefix(_NAMESPACE) in TAGS and not (each.text or "").startswith("\\")
        for each in root.iter()
    )
