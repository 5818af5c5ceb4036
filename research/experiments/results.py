"""What an experiment reports: comparisons with known numbers, tables, and panels of a figure."""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Samples = NDArray[np.float64]
Cell = str | int | float | None
Colour = Literal["ours", "other", "third", "fourth", "fifth", "truth"]


@dataclass(frozen=True)
class Known:
    """A number to compare with: its mean, the standard deviation of one run and over how many runs
    it was taken (None: exact, from a formula or an integral)."""

    mean: float
    sd: float | None = None
    runs: int | None = None


@dataclass(frozen=True)
class Comparison:
    """One measured mean over `runs` runs with its standard error, beside what it should be."""

    quantity: str
    mean: float
    error: float | None
    runs: int
    expected: Known | None = None
    published: str | None = None

    @property
    def z(self) -> float | None:
        """How many standard errors measured and expected lie apart; None where unknown."""
        if self.expected is None:
            return None
        error = self._expected_error()
        if not error:
            return None
        return (self.mean - self.expected.mean) / error

    def _expected_error(self) -> float | None:
        known = self.expected
        if known is None or known.sd is None:
            return self.error
        return known.sd * math.sqrt(1 / self.runs + (1 / known.runs if known.runs else 0))


def compare(
    quantity: str,
    samples: Sequence[float] | Samples,
    expected: Known | None = None,
    published: str | None = None,
) -> Comparison:
    """Compare the mean of one number per run with what it should be."""
    values = np.asarray(samples, dtype=float)
    return Comparison(
        quantity,
        float(values.mean()),
        standard_error(values),
        len(values),
        expected,
        published,
    )


def compare_share(quantity: str, wins: int, runs: int, expected: float | None) -> Comparison:
    """Compare how often something happened. Given its true chance, its standard error follows from
    it.
    """
    share = wins / runs
    chance = share if expected is None else expected
    known = None if expected is None else Known(expected, math.sqrt(chance * (1 - chance)))
    return Comparison(quantity, share, math.sqrt(chance * (1 - chance) / runs), runs, known)


def standard_error(values: Samples) -> float | None:
    """Return the standard error of the mean over the first axis; None for a single value."""
    if len(values) < 2:
        return None
    return float(values.std(ddof=1) / math.sqrt(len(values)))


@dataclass(frozen=True)
class Table:
    """Anything else worth reading, with a heading for each column."""

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


@dataclass(frozen=True)
class Series:
    """A line of a figure; `error` is the half width of a band around it. `marks` draws points."""

    label: str
    x: Sequence[float] | Samples
    y: Sequence[float] | Samples
    colour: Colour
    error: Sequence[float] | Samples | None = None
    dashed: bool = False
    marks: bool = False


@dataclass(frozen=True)
class Panel:
    """One pair of axes."""

    title: str
    x_label: str
    y_label: str
    series: tuple[Series, ...]
    log_x: bool = False
    log_y: bool = False


@dataclass(frozen=True)
class Result:
    """What one experiment found. `parameters` is all that is needed to run it again.

    rows: what was measured run by run, where that is worth keeping.
    """

    name: str
    title: str
    parameters: dict[str, Cell]
    comparisons: tuple[Comparison, ...] = ()
    tables: tuple[Table, ...] = ()
    panels: tuple[Panel, ...] = ()
    notes: tuple[str, ...] = field(default=())
    rows: tuple[dict[str, Cell], ...] = ()

    @property
    def largest_z(self) -> float | None:
        """The comparison that lies furthest from what it should be."""
        return max((abs(c.z) for c in self.comparisons if c.z is not None), default=None)

    def to_json(self) -> str:
        """Write everything as one JSON document; `z` is computed."""
        return json.dumps(self._document(), indent=1, allow_nan=False) + "\n"

    def _document(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "title": self.title,
            "parameters": self.parameters,
            "comparisons": [_comparison_json(comparison) for comparison in self.comparisons],
            "tables": [
                {"title": table.title, "headings": table.headings, "rows": _plain(table.rows)}
                for table in self.tables
            ],
            "panels": [_panel_json(panel) for panel in self.panels],
            "notes": self.notes,
            **({"rows": self.rows} if self.rows else {}),
        }

    def to_text(self) -> str:
        """Write everything but the figure as plain text."""
        settings = ", ".join(f"{name} {_cell(value)}" for name, value in self.parameters.items())
        parts = [self.title, settings]
        if self.comparisons:
            parts.append(_comparisons_text(self.comparisons))
        if self.largest_z is not None:
            count = sum(c.z is not None for c in self.comparisons)
            parts.append(f"largest |z| of {count}: {self.largest_z:.2f}")
        parts += [f"{table.title}\n{_aligned(table.headings, table.rows)}" for table in self.tables]
        parts += self.notes
        return "\n\n".join(parts) + "\n"


def _comparisons_text(comparisons: tuple[Comparison, ...]) -> str:
    headings = ("quantity", "measured", "s.e.", "expected", "z", "published")
    rows = tuple(
        (
            c.quantity,
            c.mean,
            c.error,
            None if c.expected is None else c.expected.mean,
            None if c.z is None else f"{c.z:+.2f}",
            c.published,
        )
        for c in comparisons
    )
    return _aligned(headings, rows)


def _aligned(headings: tuple[str, ...], rows: tuple[tuple[Cell, ...], ...]) -> str:
    """Align columns of text: the first to the left, the others to the right."""
    lines = [headings, *(tuple(_cell(cell) for cell in row) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(headings))]
    return "\n".join(
        "  ".join(
            text.ljust(width) if column == 0 else text.rjust(width)
            for column, (text, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def _cell(cell: Cell) -> str:
    if cell is None:
        return "-"
    if isinstance(cell, float):
        return f"{cell:.4f}" if abs(cell) < 10 else f"{cell:.1f}"
    return str(cell)


def _comparison_json(comparison: Comparison) -> dict[str, Any]:
    known = comparison.expected
    return {
        "quantity": comparison.quantity,
        "mean": comparison.mean,
        "standard_error": comparison.error,
        "runs": comparison.runs,
        "expected": None if known is None else known.mean,
        "expected_sd": None if known is None else known.sd,
        "z": comparison.z,
        "published": comparison.published,
    }


def _panel_json(panel: Panel) -> dict[str, Any]:
    return {
        "title": panel.title,
        "x": panel.x_label,
        "y": panel.y_label,
        "series": [
            {
                "label": series.label,
                "x": _plain(series.x),
                "y": _plain(series.y),
                "error": None if series.error is None else _plain(series.error),
            }
            for series in panel.series
        ],
    }


def _plain(values: Any) -> Any:
    """Round to 8 significant digits, in lists and Python numbers; JSON has no arrays of numpy."""
    if isinstance(values, np.ndarray | Sequence) and not isinstance(values, str):
        return [_plain(value) for value in values]
    if isinstance(values, float | np.floating):
        return float(f"{float(values):.8g}")
    return values.item() if isinstance(values, np.generic) else values
