"""Figures in the product's colours, on a paper of their own: readable on a light or dark page.

The only module here that needs matplotlib. The same result always gives the same file.
"""

from pathlib import Path
from typing import Any, Final

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from research.experiments.results import Panel, Result, Series

# static/css/tokens.css, light scheme
PAPER: Final = "#faf9f6"
INK: Final = "#17211f"
INK_2: Final = "#4c5a57"
LINE: Final = "#e2e1da"
COLOURS: Final = {
    "ours": "#0b5e5a",
    "other": "#a8580b",
    "third": "#6a3fa3",
    "fourth": "#2f6db3",
    "fifth": "#8c2f55",
    "truth": "#59635f",
}

PANEL_WIDTH: Final = 4.6  # inches
ONE_PANEL_WIDTH: Final = 6.4
HEIGHT: Final = 4.5
MANY_LINES: Final = 4
STYLE: Final[dict[Any, Any]] = {
    "figure.facecolor": PAPER,
    "axes.facecolor": PAPER,
    "savefig.facecolor": PAPER,
    "axes.edgecolor": INK_2,
    "axes.labelcolor": INK_2,
    "axes.titlecolor": INK,
    "axes.titlesize": 10,
    "axes.labelsize": 9,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.color": LINE,
    "grid.linewidth": 0.8,
    "xtick.color": INK_2,
    "ytick.color": INK_2,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "text.color": INK,
    "font.family": "DejaVu Sans",
    "svg.hashsalt": "holdfast",
    "savefig.dpi": 160,
}


def draw(result: Result, path: Path) -> None:
    """Write the panels side by side as SVG or PNG, by the file's ending."""
    with mpl.rc_context(STYLE):
        count = len(result.panels)
        width = ONE_PANEL_WIDTH if count == 1 else PANEL_WIDTH * count
        figure = Figure(figsize=(width, HEIGHT), layout="constrained")
        figure.suptitle(result.title, fontsize=11)
        grid = figure.subplots(1, count, squeeze=False, sharey=_one_scale(result.panels))
        for axes, panel in zip(grid[0], result.panels, strict=True):
            _draw_panel(axes, panel)
        dated = {"Date": None} if path.suffix == ".svg" else {"Software": None}
        figure.savefig(path, metadata=dated)


def _one_scale(panels: tuple[Panel, ...]) -> bool:
    return len({panel.y_label for panel in panels}) == 1


def _draw_panel(axes: Axes, panel: Panel) -> None:
    axes.set_title(panel.title, loc="left")
    axes.set_xlabel(panel.x_label)
    axes.set_ylabel(panel.y_label)
    if panel.log_x:
        axes.set_xscale("log")
    if panel.log_y:
        axes.set_yscale("log")
    for place, series in enumerate(panel.series):
        _draw_series(axes, series, _line_width(place, len(panel.series)))
    axes.legend(loc="upper left", bbox_to_anchor=(-0.02, -0.16), ncols=2)


def _line_width(place: int, count: int) -> float:
    """Make the later of many lines thinner, so that one that lies on another hides nothing."""
    return 1.8 if count < MANY_LINES else max(1.2, 3.6 - 0.6 * place)


def _draw_series(axes: Axes, series: Series, width: float) -> None:
    colour = COLOURS[series.colour]
    x, y = np.asarray(series.x, dtype=float), np.asarray(series.y, dtype=float)
    axes.plot(
        x,
        y,
        color=colour,
        label=series.label,
        linewidth=width,
        linestyle="none" if series.marks else "--" if series.dashed else "-",
        marker="o" if series.marks else None,
        markersize=4,
    )
    if series.error is not None:
        error = np.asarray(series.error, dtype=float)
        axes.fill_between(x, y - error, y + error, color=colour, alpha=0.14, linewidth=0)
