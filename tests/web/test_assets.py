"""What is served beside the pages: contrast, vendored files, nothing from elsewhere."""

import re
from itertools import accumulate
from pathlib import Path

import pytest
from django.conf import settings

STATIC = settings.BASE_DIR / "static"
TEMPLATES = settings.BASE_DIR / "templates"
SHEETS = sorted((STATIC / "css").glob("*.css"))
TOKENS = dict(
    re.findall(
        r"--([\w-]+): light-dark\((#\w+, #\w+)\);",
        (STATIC / "css" / "tokens.css").read_text(),
    )
)
TEXT_COLOURS = (
    *("ink", "ink-2", "ink-3", "accent"),
    *("confirmed", "improved", "corrected", "not-improved", "exhausted", "rejected"),
    *(f"series-{number}" for number in range(1, 6)),
)


def luminance(colour: str) -> float:
    """Relative luminance by WCAG 2.2."""
    channels = [int(colour[index : index + 2], 16) / 255 for index in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    """Contrast ratio by WCAG 2.2."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("name", TEXT_COLOURS)
def test_text_can_be_read_on_every_ground(name: str, scheme: int) -> None:
    grounds = ["paper", "surface", "sunken", "mine"]
    if f"{name}-wash" in TOKENS:
        grounds.append(f"{name}-wash")
    text = TOKENS[name].split(", ")[scheme]
    for ground in grounds:
        assert contrast(text, TOKENS[ground].split(", ")[scheme]) >= 4.5, ground


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_fields_and_buttons_stand_out(scheme: int) -> None:
    def colour(name: str) -> str:
        return str(TOKENS[name].split(", ")[scheme])

    assert contrast(colour("field-line"), colour("paper")) >= 3
    assert contrast(colour("whisker"), colour("paper")) >= 3
    assert contrast(colour("accent-ink"), colour("accent")) >= 4.5


@pytest.mark.parametrize(
    "folder", sorted(p.name for p in (STATIC / "vendor").iterdir() if p.is_dir())
)
def test_vendored_files_have_their_licence_and_are_listed(folder: str) -> None:
    assert (STATIC / "vendor" / folder / "LICENSE").is_file()
    assert f"`{folder}/`" in (STATIC / "vendor" / "README.md").read_text()


def test_our_scripts_and_styles_load_nothing_from_elsewhere() -> None:
    ours = [*(STATIC / "css").glob("*.css"), *(STATIC / "js").glob("*.js")]
    for path in ours:
        assert not re.search(r"(?:https?:)?//[a-z0-9-]+\.[a-z]", path.read_text()), path.name


# Mail programs read no style sheets.
OF_PAGES = sorted({*TEMPLATES.rglob("*.html")} - {*(TEMPLATES / "mail").glob("*.html")})


def test_templates_have_no_inline_code_or_style() -> None:
    for path in OF_PAGES:
        text = path.read_text()
        assert not re.search(r"<style|\sstyle=|\son[a-z]+=|javascript:", text), path
        assert not re.search(r"<script(?![^>]*\bsrc=)(?![^>]*application/json)", text), path


@pytest.mark.parametrize("sheet", SHEETS, ids=lambda path: path.name)
def test_a_style_sheet_closes_every_block_that_it_opens(sheet: Path) -> None:
    depths = accumulate({"{": 1, "}": -1}.get(character, 0) for character in sheet.read_text())
    levels = list(depths)
    assert min(levels) >= 0
    assert levels[-1] == 0
