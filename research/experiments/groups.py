"""Whiskers of scores on rows in groups: by rows, and by the published design.

Like flights by day: what happens on a day happens to all its flights. A row's loss has a part of
its day, and days differ in size. The published design is the number of rows that groups count as:
for the worst case (Kish), or by the scatter of a baseline's losses over the Public groups
(theory.md 10.7). Whiskers are made of it and of released values only, never of a Private group's
loss.
"""

import math
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from research.experiments.results import Colour, Panel, Result, Samples, Series, compare
from scoring.guarantees.groups import choose_design, kish, scatter_rows
from scoring.guarantees.intervals import wilson_interval

BETA: Final = 0.05
STEPS: Final = 10_000  # of the grid that values are released on
WAYS: Final = ("by rows", "by the design, worst case", "by the design, Public scatter")
SHARED: Final = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4)
COLOURS: Final[tuple[Colour, ...]] = ("other", "third", "ours")
SCORES: Final = 25  # models that are scored in one run


@dataclass(frozen=True)
class Flights:
    """`groups` of about `size` rows; of the variance of a row's loss `shared` is its group's."""

    groups: int = 100
    size: int = 1000
    shared: float = 0.095
    loss: float = 0.12
    sd: float = 0.075

    def sizes(self, generator: np.random.Generator) -> Samples:
        """Draw the rows of each group; their coefficient of variation is 0.2."""
        return np.maximum(1, np.rint(generator.gamma(25, self.size / 25, self.groups)))

    def losses(self, sizes: Samples, models: int, generator: np.random.Generator) -> Samples:
        """Draw the mean loss of each model in each group, of rows whose losses are normal.

        They stay in [0, 1] for any practical purpose, but for single rows.
        """
        days = generator.normal(0, math.sqrt(self.shared), (models, len(sizes)))
        rest = generator.normal(0, np.sqrt((1 - self.shared) / sizes), (models, len(sizes)))
        return self.loss + self.sd * (days + rest)

    def effect(self, sizes: Samples) -> float:
        """Return the design effect: the variance of a mean, over that of as many lone rows."""
        return float(1 + self.shared * ((sizes**2).sum() / sizes.sum() - 1))


def run(runs: int, seed: int, setting: Flights | None = None) -> Result:
    """Score fixed models on many draws of the rows, and count how often whiskers hold the truth."""
    setting = setting or Flights()
    generator = np.random.default_rng(seed)
    held, widths, effects = _average(setting, runs, generator)
    curves = [_average(replace(setting, shared=shared), runs // 4 + 1, generator)
              for shared in SHARED]  # fmt: skip
    x = [float(effect.mean()) for _, _, effect in curves]
    return Result(
        "groups",
        "Rows in groups: 95 % whiskers by rows, and by the published design",
        {
            "runs": runs,
            "seed": seed,
            "groups": setting.groups,
            "rows in a group": setting.size,
            "shared variance": setting.shared,
        },
        (
            compare("design effect", effects),
            *(compare(f"{way}: hold the truth", held[:, at]) for at, way in enumerate(WAYS)),
            *(compare(f"{way}: half length", widths[:, at]) for at, way in enumerate(WAYS)),
        ),
        (),
        (
            Panel(
                f"{setting.groups} groups of about {setting.size:,} rows",
                "design effect",
                "share of whiskers that hold the truth",
                (
                    *(
                        Series(
                            way, x, [float(share[:, at].mean()) for share, _, _ in curves], colour
                        )
                        for at, (way, colour) in enumerate(zip(WAYS, COLOURS, strict=True))
                    ),
                    Series("claim", x, [1 - BETA] * len(x), "truth", dashed=True),
                ),
            ),
        ),
    )


def _average(
    setting: Flights, runs: int, generator: np.random.Generator
) -> tuple[Samples, Samples, Samples]:
    """Return for each run which share of whiskers holds the truth, and their half length."""
    held, widths, effects = zip(*(_score(setting, generator) for _ in range(runs)), strict=True)
    return np.array(held), np.array(widths), np.array(effects)


def _score(
    setting: Flights, generator: np.random.Generator
) -> tuple[list[float], list[float], float]:
    public, private = setting.sizes(generator), setting.sizes(generator)
    design = choose_design(private, setting.loss, math.log(2 / BETA))
    baseline = setting.losses(public, 1, generator)[0]
    scatter = scatter_rows(baseline, public) / kish(public) * design.sampling_rows
    means = setting.losses(private, SCORES, generator) @ private / private.sum()
    released = np.rint(means * STEPS) / STEPS
    held, widths = list[float](), list[float]()
    for rows in (float(private.sum()), design.sampling_rows, scatter):
        low, high = np.array([_whisker(float(each), rows) for each in released]).T
        held.append(float(np.mean((low <= setting.loss) & (setting.loss <= high))))
        widths.append(float(np.mean(high - low) / 2))
    return held, widths, setting.effect(private)


def _whisker(released: float, rows: float) -> tuple[float, float]:
    """Return where the truth lies for any mean that is released as this: its whole cell."""
    half = 0.5 / STEPS
    low, _ = wilson_interval(max(0.0, released - half), rows, BETA)
    _, high = wilson_interval(min(1.0, released + half), rows, BETA)
    return low, high
