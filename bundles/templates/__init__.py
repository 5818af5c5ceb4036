"""Bundles to begin with: texts, columns and scoring of usual competitions, without data."""

from dataclasses import dataclass
from importlib.resources import files
from typing import Final

from bundles.bundle import Bundle, read_bundle
from bundles.errors import fail
from bundles.folders import from_files


@dataclass(frozen=True)
class Template:
    """A bundle that comes with Holdfast, and when it fits."""

    name: str
    title: str
    fits: str


TEMPLATES: Final = (
    Template("binary", "Two classes", "A probability for each row, by ROC AUC."),
    Template("classes", "Several classes", "One of several labels for each row, by accuracy."),
    Template("regression", "A number", "A number for each row, by the mean absolute error."),
    Template(
        "language_model",
        "A language model",
        "Answers in words, of one or several runs, by the choice that they name; without an end.",
    ),
)


def read_template(name: str) -> Bundle:
    """Return a template's bundle. Raises BundleError where there is none of this name."""
    known = [template.name for template in TEMPLATES]
    if name not in known:
        raise fail("", f"There is no template “{name[:40]}”; there are {', '.join(known)}.")
    folder = files("bundles.templates") / name
    return read_bundle(
        from_files({each.name: each.read_bytes() for each in folder.iterdir() if each.is_file()})
    )
