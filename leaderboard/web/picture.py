"""The picture of a board that links to it show elsewhere (Open Graph): 1200 by 630 pixels, PNG."""

import io
from functools import cache, lru_cache
from typing import Final

from django.conf import settings
from PIL import Image, ImageDraw, ImageFont

from leaderboard.web.summary import Summary

SIZE: Final = (1200, 630)
ROWS: Final = 5
_PAPER, _SURFACE, _LINE = "#faf9f6", "#ffffff", "#e2e1da"
_INK, _QUIET, _ACCENT = "#17211f", "#4c5a57", "#0b5e5a"
_LEFT, _RIGHT, _RULE = 72, 1128, 300
_ROW_HEIGHT: Final = 46
# The letters that the first of the two files of the face has; the second has the other Latin ones.
_BASIC: Final = frozenset([*map(chr, range(0x20, 0x100)), *map(chr, range(0x2000, 0x2070))])


@lru_cache(maxsize=64)
def draw(summary: Summary) -> bytes:
    """Return the picture. The same summary is drawn once."""
    image = Image.new("RGB", SIZE, _PAPER)
    canvas = ImageDraw.Draw(image)
    canvas.rectangle((0, 0, SIZE[0], 12), fill=_ACCENT)
    _logo(canvas, _LEFT, 56)
    _text(canvas, (_LEFT + 52, 72), "Holdfast", 28, 600, _ACCENT)
    _text(canvas, (_RIGHT, 72), summary.state, 26, 400, _QUIET, right=True)
    _text(canvas, (_LEFT, 156), summary.title, 60, 650, _INK)
    _text(canvas, (_LEFT, 228), summary.tagline, 30, 400, _QUIET)
    canvas.line((_LEFT, _RULE - 28, _RIGHT, _RULE - 28), fill=_LINE, width=2)
    if summary.note:
        _text(canvas, (_LEFT, _RULE + 40), summary.note.capitalize(), 40, 500, _QUIET)
    for place, line in enumerate(summary.lines[:ROWS]):
        middle = _RULE + 10 + place * _ROW_HEIGHT
        weight = 600 if line.rank == "1" else 400
        _text(canvas, (_LEFT + 40, middle), line.rank, 30, 400, _QUIET, right=True)
        _text(canvas, (_LEFT + 64, middle), line.team, 30, weight, _INK, until=_RIGHT - 220)
        _text(canvas, (_RIGHT, middle), line.score, 30, weight, _INK, right=True)
    if summary.guarantee:
        first, second = _broken(summary.guarantee, 24)
        _text(canvas, (_LEFT, SIZE[1] - 80), first, 24, 400, _ACCENT)
        _text(canvas, (_LEFT, SIZE[1] - 46), second, 24, 400, _ACCENT)
    file = io.BytesIO()
    image.quantize(64).save(file, "PNG", optimize=True)
    return file.getvalue()


def _logo(canvas: ImageDraw.ImageDraw, x: int, y: int) -> None:
    """Draw static/img/logo.svg at 36 pixels."""
    unit = 36 / 28

    def at(*places: float) -> list[float]:
        return [each * unit + (y if odd else x) for odd, each in _odd(places)]

    canvas.rounded_rectangle(at(0, 0, 28, 28), radius=6 * unit, fill=_ACCENT)
    for bar in ((7, 6, 7, 22), (21, 6, 21, 22), (7, 14, 21, 14)):
        canvas.line(at(*bar), fill=_SURFACE, width=3)
    canvas.ellipse(at(10.25, 10.25, 17.75, 17.75), fill=_SURFACE)


def _odd(places: tuple[float, ...]) -> list[tuple[int, float]]:
    return [(index % 2, each) for index, each in enumerate(places)]


def _text(
    canvas: ImageDraw.ImageDraw,
    at: tuple[float, float],
    text: str,
    size: int,
    weight: int,
    colour: str,
    *,
    right: bool = False,
    until: float = _RIGHT,
) -> None:
    """Write a line around the height `at[1]`, cut off with an ellipsis before `until`."""
    x, y = at
    room = (x - _LEFT) if right else (until - x)
    if _length(text, size, weight) > room:
        while text and _length(f"{text}…", size, weight) > room:
            text = text[:-1]
        text = f"{text.rstrip()}…"
    if right:
        x -= _length(text, size, weight)
    for run, face in _runs(text, size, weight):
        canvas.text((x, y), run, font=face, fill=colour, anchor="lm")
        x += face.getlength(run)


def _broken(text: str, size: int) -> tuple[str, str]:
    """Return two lines, the first as long as there is room."""
    first, rest = list[str](), text.split()
    while rest and _length(" ".join([*first, rest[0]]), size, 400) <= _RIGHT - _LEFT:
        first.append(rest.pop(0))
    return " ".join(first), " ".join(rest)


def _length(text: str, size: int, weight: int) -> float:
    return sum(face.getlength(run) for run, face in _runs(text, size, weight))


def _runs(text: str, size: int, weight: int) -> list[tuple[str, ImageFont.FreeTypeFont]]:
    """Return the parts of a text with the file that has their letters."""
    runs = list[tuple[str, bool]]()
    for letter in text:
        is_basic = letter in _BASIC
        if runs and runs[-1][1] == is_basic:
            runs[-1] = (runs[-1][0] + letter, is_basic)
        else:
            runs.append((letter, is_basic))
    return [(run, _face("latin" if basic else "latin-ext", size, weight)) for run, basic in runs]


@cache
def _face(letters: str, size: int, weight: int) -> ImageFont.FreeTypeFont:
    folder = settings.BASE_DIR / "static" / "vendor" / "inter"
    # Layout by hand: the other engine would need a library of the system.
    face = ImageFont.truetype(
        folder / f"inter-{letters}-opsz-normal.woff2", size, layout_engine=ImageFont.Layout.BASIC
    )
    face.set_variation_by_axes([min(32, size), weight])
    return face
