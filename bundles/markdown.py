"""HTML pages as Markdown: headings, paragraphs, lists, emphasis, code and links; no layout."""

import re
from html.parser import HTMLParser
from typing import Final

_AROUND: Final = {"b": "**", "strong": "**", "i": "*", "em": "*", "code": "`"}
_BLOCKS: Final = {"p", "div", "section", "ul", "ol", "table", "tr", "br", "pre", "blockquote"}
_SKIPPED: Final = {"script", "style", "head", "iframe"}


def from_html(text: str) -> str:
    """Return the text of a page as Markdown."""
    reader = _Reader()
    reader.feed(text.replace("\0", ""))
    reader.close()
    lines = (re.sub(r"[ \t]+", " ", line).strip() for line in "".join(reader.parts).splitlines())
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self.skipped = 0
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _SKIPPED:
            self.skipped += 1
        elif re.fullmatch("h[1-6]", tag):
            self.parts.append(f"\n\n{'#' * int(tag[1])} ")
        elif tag == "li":
            self.parts.append("\n- ")
        elif tag in _BLOCKS:
            self.parts.append("\n\n")
        elif tag == "a":
            href = dict(attrs).get("href") or ""
            self.links.append(href if re.match(r"https?://|mailto:", href) else "")
            self.parts.append("[" if self.links[-1] else "")
        else:
            self.parts.append(_AROUND.get(tag, ""))

    def handle_endtag(self, tag: str) -> None:
        if tag in _SKIPPED:
            self.skipped = max(0, self.skipped - 1)
        elif tag == "a" and self.links:
            href = self.links.pop()
            self.parts.append(f"]({href})" if href else "")
        elif tag in _BLOCKS or re.fullmatch("h[1-6]", tag):
            self.parts.append("\n\n")
        else:
            self.parts.append(_AROUND.get(tag, ""))

    def handle_data(self, data: str) -> None:
        if not self.skipped:
            self.parts.append(re.sub(r"\s+", " ", data))
