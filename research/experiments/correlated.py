"""Rows in groups: what becomes of certificates that count rows as if they were independent.

This experiment is ours. Zhao (WPES 2017) claims a reusable holdout for correlated data but states
no setting that could be repeated, and correlates attributes, not rows. Here the rows of a group (a
user, a site, a day) share a label and a part of every attribute, so that a mean over n rows
scatters as one over fewer. The remedy is to count groups: the rows of a group become one row with
their mean loss, and n the number of groups.

The set-up is that of `freedman` without signal. Times its label, an attribute is
sqrt(1 - s) e + sqrt(s) c with e for the row and c for the group, so that a correlation has the
variance (1 + (g - 1) s) / n for groups of g rows. Given its mean a column is the mean plus a
column of the same law less its own mean, as before, since every row covaries with the mean alike.
"""

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from research.bounds.tails import hoeffding_width
from research.experiments.boards import MechanismBoard, breaks
from research.experiments.freedman import THRESHOLD, TOLERANCE, Indices, choose
from research.experiments.results import (
    Panel,
    Result,
    Samples,
    Series,
    Table,
    compare,
    compare_share,
)
from scoring.measurement import Mean

BETA: Final = 0.05
FIRST_ANSWER: Final = BETA * (6 / math.pi**2) ** 2  # what the ledger spends on it
SINGLE_CLASSIFIERS: Final = 20  # scored one by one in each run, for coverage


@dataclass(frozen=True)
class Grouped:
    """`rows` in groups of `size`; `shared` is the share s of an attribute's variance."""

    rows: int = 10_000
    attributes: int = 10_000
    size: int = 10
    shared: float = 0.8

    @property
    def groups(self) -> int:
        return self.rows // self.size

    @property
    def inflation(self) -> float:
        """The variance of a correlation, in units of 1/n."""
        return 1 + (self.size - 1) * self.shared

    @property
    def accuracy_sd(self) -> float:
        """Of one classifier's accuracy: two normals of correlation s have the same sign with
        covariance asin(s) / (2 pi) between the indicators."""
        covariance = math.asin(self.shared) / (2 * math.pi)
        return math.sqrt((0.25 + (self.size - 1) * covariance) / self.rows)

    def column(self, generator: np.random.Generator) -> Samples:
        """Draw one attribute times its label, shape (rows,), groups one after another."""
        row = math.sqrt(1 - self.shared) * generator.standard_normal(self.rows)
        group = math.sqrt(self.shared) * generator.standard_normal(self.groups)
        return row + np.repeat(group, self.size)


@dataclass(frozen=True)
class Outcome:
    """One run: the largest classifier's reported and true accuracy on each board, in `BOARDS`'
    order, and how many single scores lay outside the two widths and the two certificates."""

    reported: tuple[float, ...]
    fresh: tuple[float, ...]
    outside_rows: int
    outside_groups: int
    broken_rows: int
    broken_groups: int


BOARDS: Final = ("plain", "Thresholdout for n rows", "Thresholdout for n/g groups")


def run(runs: int, seed: int, setting: Grouped | None = None) -> Result:
    """Count rows, and groups beside them."""
    setting = setting or Grouped()
    generator = np.random.default_rng(seed)
    outcomes = [_run(setting, generator) for _ in range(runs)]
    scores = runs * SINGLE_CLASSIFIERS
    return Result(
        "correlated",
        "Rows in groups (our own experiment): count the groups, not the rows",
        {
            "runs": runs,
            "seed": seed,
            "n": setting.rows,
            "d": setting.attributes,
            "rows in a group": setting.size,
            "shared variance": setting.shared,
        },
        (
            compare_share(
                "single scores outside Hoeffding for n rows (claimed: at most 0.05)",
                sum(o.outside_rows for o in outcomes), scores,
                _chance_outside(setting, setting.rows),
            ),
            compare_share(
                "single scores outside Hoeffding for n/g groups",
                sum(o.outside_groups for o in outcomes), scores,
                _chance_outside(setting, setting.groups),
            ),
            *(
                compare(f"{board}, k=500: {name}", [values(o)[place] for o in outcomes])
                for place, board in enumerate(BOARDS)
                for name, values in (("reported", _reported), ("fresh rows", _fresh))
            ),
        ),
        (_ladder_table(outcomes, scores),),
        (_panel(setting, outcomes),),
        ("Ours: the paper that this answers has no repeatable experiment.",),
    )  # fmt: skip


def _reported(outcome: Outcome) -> tuple[float, ...]:
    return outcome.reported


def _fresh(outcome: Outcome) -> tuple[float, ...]:
    return outcome.fresh


def _chance_outside(setting: Grouped, counted: int) -> float:
    return math.erfc(hoeffding_width(counted, BETA) / setting.accuracy_sd / math.sqrt(2))


def _run(setting: Grouped, generator: np.random.Generator) -> Outcome:
    sd = math.sqrt(setting.inflation / setting.rows)
    train, holdout = generator.normal(0, sd, (2, setting.attributes))
    by_rows, by_groups = 1 / math.sqrt(setting.rows), 1 / math.sqrt(setting.groups)
    reported, fresh = [], []
    for board, unit in zip(BOARDS, (by_rows, by_rows, by_groups), strict=True):
        shown = holdout if board == "plain" else _answer(train, holdout, unit, generator)
        chosen = choose(train, shown, by_rows)
        scores = [_accuracy(setting, chosen, np.sign(train) * means, generator)
                  for means in (train, holdout)]  # fmt: skip
        on_train, on_holdout = (np.array([score]) for score in scores)
        answered = (
            on_holdout if board == "plain" else _answer(on_train, on_holdout, unit, generator)
        )
        reported.append(float(answered[0]))
        fresh.append(_fresh_accuracy(setting, chosen, generator))
    return Outcome(tuple(reported), tuple(fresh), *_coverage(setting, generator))


def _answer(
    train: Samples, holdout: Samples, unit: float, generator: np.random.Generator
) -> Samples:
    """Answer as the published Thresholdout, its threshold and noise in units of 1/sqrt(what is
    counted).
    """
    comparison, added = generator.normal(0, TOLERANCE * unit, (2, *train.shape))
    fired = np.abs(train - holdout) > THRESHOLD * unit + comparison
    return np.where(fired, holdout + added, train)


def _accuracy(
    setting: Grouped, chosen: Indices, signed: Samples, generator: np.random.Generator
) -> float:
    """Return the accuracy of all chosen attributes, given their means times their signs."""
    if len(chosen) == 0:
        return 0.5
    residual = setting.column(generator)
    residual -= residual.mean()
    sums = math.sqrt(len(chosen)) * residual + signed[chosen].sum()
    return float(np.count_nonzero(sums > 0)) / setting.rows


def _fresh_accuracy(setting: Grouped, chosen: Indices, generator: np.random.Generator) -> float:
    if len(chosen) == 0:
        return 0.5
    return float(np.count_nonzero(setting.column(generator) > 0)) / setting.rows


def _coverage(setting: Grouped, generator: np.random.Generator) -> tuple[int, int, int, int]:
    """Cover single classifiers that nobody has chosen; their true loss is 1/2."""
    outside = {setting.rows: 0, setting.groups: 0}
    broken = dict(outside)
    for _ in range(SINGLE_CLASSIFIERS):
        wrong = int(np.count_nonzero(setting.column(generator) <= 0))
        for counted in outside:
            loss = Mean(wrong, counted, setting.rows // counted)
            outside[counted] += abs(wrong / setting.rows - 0.5) > hoeffding_width(counted, BETA)
            answer = MechanismBoard("ladder", {"steps": 100}, generator).ask(loss)
            broken[counted] += breaks(answer, 0.5)
    rows, groups = setting.rows, setting.groups
    return outside[rows], outside[groups], broken[rows], broken[groups]


def _ladder_table(outcomes: list[Outcome], scores: int) -> Table:
    return Table(
        "First answers of our Ladder: how many certificates are wrong, and how many may be",
        ("what the certificate counts", "first answers", "wrong", "share", "allowed"),
        tuple(
            (name, scores, broken, broken / scores, FIRST_ANSWER)
            for name, broken in (
                ("rows", sum(o.broken_rows for o in outcomes)),
                ("groups", sum(o.broken_groups for o in outcomes)),
            )
        ),
    )


def _panel(setting: Grouped, outcomes: list[Outcome]) -> Panel:
    """Draw the chance that a single score lies outside, as the shared variance grows."""
    shared = [place / 20 for place in range(21)]
    settings = [Grouped(setting.rows, setting.attributes, setting.size, s) for s in shared]
    share = sum(o.outside_rows for o in outcomes) / (len(outcomes) * SINGLE_CLASSIFIERS)
    series = (
        Series("counting rows", shared, [_chance_outside(s, s.rows) for s in settings], "other"),
        Series("counting groups", shared, [_chance_outside(s, s.groups) for s in settings], "ours"),
        Series("counting rows, simulated", [setting.shared], [share], "other", marks=True),
        Series("claim", shared, [BETA] * len(shared), "truth", dashed=True),
    )
    return Panel(
        f"Groups of {setting.size} rows",
        "variance shared within a group",
        "chance of a score outside its interval",
        series,
    )
