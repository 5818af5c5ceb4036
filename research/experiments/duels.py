"""Duels during a season: which gaps they find, and how often they are wrong about equal files.

- "gap": two classes, a share of the rows on which predictions differ. A duel at the length that is
  due among 6,000 declared questions and 2 nats of answers: from which gap on is its answer yes in
  half of the cases? A file is right on the row of rank k by its own chance, so the gap that each
  case needs is that of an order statistic.
- "equal": files of exactly the same worth, by binomial tests (two classes) and by betting (four),
  where all of beta is set aside for the one duel: on coins, and on rows that are not alike.
"""

import math
from fractions import Fraction
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from research.experiments.results import Panel, Result, Series, Table, compare
from scoring.duels import Comparison, is_surely_better
from scoring.guarantees.paired import duel_threshold
from scoring.guarantees.rank_sets import Rows, compare_pairs
from scoring.laws.exact import MILLION, micro
from scoring.laws.index import declared

BETA: Final = Fraction(1, 20)
QUESTIONS: Final = 6000
NATS: Final = 2
SIZES: Final = (500, 2000, 10_000)
SHARES: Final = (0.05, 0.1, 0.2)
SHOWN: Final = (2000, 0.1)
TIED_ROWS: Final = 400

# Classes, and how alike the chances of rows are.
EQUAL: Final = {"coins": (2, 1e9), "2 classes": (2, 0.3), "4 classes": (4, 0.3)}

Losses = NDArray[np.int64]


def run(runs: int, seed: int) -> Result:
    """Play so many duels of each size, and of each kind of equal files."""
    generator = np.random.default_rng(seed)
    gaps = {
        (rows, share): needed_gaps(rows, share, runs, generator)
        for rows in SIZES
        for share in SHARES
    }
    wrong = {
        name: [equal_files(classes, alike, generator) for _ in range(runs)]
        for name, (classes, alike) in EQUAL.items()
    }
    medians = {case: float(np.median(found)) for case, found in gaps.items()}
    return Result(
        "duels",
        "Duels: which gaps they find, and how often equal files are told apart",
        {"runs": runs, "seed": seed, "beta": float(BETA), "questions": QUESTIONS, "nats": NATS},
        (
            compare("gap of .04 found, n=2000, 10% differ", list(gaps[SHOWN] <= 0.04)),
            *(compare(f"equal files, {name}: yes", found) for name, found in wrong.items()),
        ),
        (
            Table(
                "The gap that is found in half of the cases",
                ("private rows", *(f"{share:.0%} of rows differ" for share in SHARES)),
                tuple((rows, *(medians[rows, share] for share in SHARES)) for rows in SIZES),
            ),
        ),
        (_panel(gaps),),
        ("Of equal files a share of beta may be told apart.",),
    )


def needed_gaps(
    rows: int, share: float, runs: int, generator: np.random.Generator
) -> NDArray[np.float64]:
    """Return the smallest gap in loss at which each of so many duels is answered by yes.

    A is right on each of the D rows that differ with chance (1 + gap / share) / 2: on k of them as
    soon as that exceeds the k-th smallest of D uniform numbers.
    """
    differ = round(rows * share)
    threshold = duel_threshold(differ, math.exp(-duel_length() / MILLION))
    if threshold is None:
        return np.full(runs, np.inf)
    ranks = generator.beta(threshold, differ - threshold + 1, runs)
    return share * (2 * ranks - 1)


def duel_length() -> int:
    """Return L of a duel among the declared questions, in millionths of a nat."""
    return micro(BETA) + declared(1, QUESTIONS) + NATS * MILLION


def equal_files(classes: int, alike: float, generator: np.random.Generator) -> bool:
    """Return whether two files of the same worth are told apart, where beta is for this duel.

    Each row has a twin of the same chances, on which one guesses what the other guesses on the row.
    """
    chances = generator.dirichlet(np.full(classes, alike), TIED_ROWS // 2)
    guesses = generator.integers(0, classes, (2, TIED_ROWS // 2))
    codes = np.stack([guesses.ravel(), guesses[::-1].ravel()])
    thresholds = np.vstack([chances] * 2).cumsum(axis=1)[:, :-1]
    labels = (thresholds < generator.random((TIED_ROWS, 1))).sum(axis=1)
    losses: Losses = (codes != labels).astype(np.int64)
    pairs = compare_pairs(losses, codes, Rows(two_classes=classes == 2), units=1)
    p = float(pairs.p[0]) if pairs.better[0] == 0 else 1.0
    return is_surely_better(Comparison(p), micro(BETA))


def _panel(gaps: dict[tuple[int, float], NDArray[np.float64]]) -> Panel:
    grid = np.linspace(0, 0.12, 61)
    kinds: tuple[Literal["truth", "ours", "other"], ...] = ("truth", "ours", "other")
    return Panel(
        "10 % of the rows differ",
        "gap in loss",
        "duels answered by yes",
        tuple(
            Series(
                f"{rows:,} private rows",
                grid,
                [float(np.mean(gaps[rows, SHOWN[1]] <= gap)) for gap in grid],
                kind,
            )
            for rows, kind in zip(SIZES, kinds, strict=True)
        ),
    )
