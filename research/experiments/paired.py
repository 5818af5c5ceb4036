"""The end of a contest: which entries are surely better, by paired tests, under attack.

Three kinds of contest, in all of which the truth of every entry is known exactly:

- "not alike": entries that are exactly as good as one another, on rows of very different chances.
  Every row has a twin with the same chances; of two tied entries one guesses on the one what the
  other guesses on the other. Two, three or ten classes.
- "voted": labels are coins. A team asks which of two opposite guesses is the better on the Private
  rows, and enters what the answers vote for, and the opposite of it. Both are worth 1/2. Holm's
  procedure at beta finds the vote better; at beta exp(-code) it may not.
- "season": 60 models within 8 points on fresh rows, which share what is hard. Paired tests beside
  intervals that hold for all 60 at once: which pairs are told apart?
"""

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

from research.experiments.results import (
    Panel,
    Result,
    Series,
    Table,
    compare,
)
from scoring.guarantees.fields import SPREAD, draw_field
from scoring.guarantees.finals import untouched_interval
from scoring.guarantees.paired import Integers
from scoring.guarantees.rank_sets import RankSets, Rows, rank_entries

BETA: Final = 0.05
CLASSES: Final = (2, 3, 10)
ROWS: Final = 600
TIED: Final = 8  # pairs of entries in a contest of the first kind
QUESTIONS: Final = (0, 2, 5, 10, 20, 40, 80)
MODELS: Final = 60
LOSS: Final = 0.2
FRESH: Final = (500, 1000, 2000, 4000, 8000)
SHOWN: Final = 4000
SEASONS: Final = 20  # one of so many contests is followed by a season of each size

Guesses = NDArray[np.int64]


def run(runs: int, seed: int, rows: int = ROWS, fresh: tuple[int, ...] = FRESH) -> Result:
    """Play so many contests of the first two kinds, and a season for every 20 of them."""
    generator = np.random.default_rng(seed)
    tied = {classes: [False] * 0 for classes in CLASSES}
    for contest in range(runs):
        classes = CLASSES[contest % len(CLASSES)]
        tied[classes].append(separates_ties(rows, classes, generator))
    voted = np.array([_vote(rows, generator) for _ in range(runs)])
    seasons = {
        size: [season(size, generator) for _ in range(max(1, runs // SEASONS))] for size in fresh
    }
    shares = {size: np.mean(found, axis=0) for size, found in seasons.items()}
    shown = SHOWN if SHOWN in seasons else fresh[0]
    return Result(
        "paired",
        "Who is surely better: paired tests of all pairs, under attack",
        {"runs": runs, "seed": seed, "beta": BETA, "n": rows, "models": MODELS},
        (
            *(
                compare(f"tied, {classes} classes: contests with a false separation", found)
                for classes, found in tied.items()
                if found
            ),
            *(
                compare(f"voted, {QUESTIONS[-1]} questions, {name}", voted[:, place, -1])
                for place, name in enumerate(("level beta", "level beta exp(-code)"))
            ),
            *(
                compare(f"season, n={shown}: {name}", [each[place] for each in seasons[shown]])
                for place, name in enumerate(("pairs told apart", "pairs of disjoint intervals"))
            ),
        ),
        (_table(tied, runs),),
        (_voted_panel(voted), _season_panel(shares)),
        ("False separations may be found in a share of beta of all contests.",),
    )  # fmt: skip


def separates_ties(rows: int, classes: int, generator: np.random.Generator) -> bool:
    """Return whether a contest of exact ties ends with any entry surely better than an equal."""
    chances = generator.dirichlet(np.full(classes, 0.3), rows // 2)
    guesses = generator.integers(0, classes, (2, TIED, rows // 2))
    # An entry, and one that guesses on each row what it guesses on the row's twin, or not.
    swapped = np.where(generator.random((TIED, rows // 2)) < 0.5, guesses, guesses[::-1])
    codes = np.concatenate([np.hstack(list(guesses)), np.hstack(list(swapped))])
    truth = np.take_along_axis(np.vstack([chances] * 2), codes.T, axis=1).sum(axis=0)
    thresholds = np.vstack([chances] * 2).cumsum(axis=1)
    labels = (thresholds[:, :-1] < generator.random((rows // 2 * 2, 1))).sum(axis=1)
    better = _rank(codes, labels, classes, BETA).better
    return any(truth[a] <= truth[b] + 1e-9 for a, b in np.argwhere(better))


def season(rows: int, generator: np.random.Generator) -> tuple[float, float]:
    """Return the shares of pairs that paired tests and disjoint intervals order."""
    losses = draw_field(rows, MODELS, LOSS, generator)
    better = rank_entries(losses, losses, Rows(two_classes=True), units=1, level=BETA).better
    ends = [untouched_interval(float(mean), rows, MODELS, BETA) for mean in losses.mean(axis=1)]
    apart = np.array([[high < low for low, _ in ends] for _, high in ends])
    pairs = MODELS * (MODELS - 1) / 2
    return float(better.sum() / pairs), float(apart.sum() / pairs)


def _rank(codes: Guesses, labels: Integers, classes: int, level: float) -> RankSets:
    losses = (codes != labels).astype(np.int8)
    return rank_entries(losses, codes, Rows(two_classes=classes == 2), units=1, level=level)


def _vote(rows: int, generator: np.random.Generator) -> list[list[bool]]:
    """Return after each number of questions whether the vote is separated from its opposite.

    At beta, and at beta exp(-code): a question is a bit, so that it costs ln 2.
    """
    labels = generator.integers(0, 2, rows)
    guesses = generator.integers(0, 2, (QUESTIONS[-1], rows))
    right = (guesses == labels).sum(axis=1) * 2 > rows
    kept = np.where(right[:, np.newaxis], guesses, 1 - guesses)
    separated = list[list[bool]]()
    for uses_code in (False, True):
        found = list[bool]()
        for asked in QUESTIONS:
            ones = 2 * kept[:asked].sum(axis=0)
            vote = np.where(ones == asked, guesses[-1], ones > asked)
            codes = np.stack([vote, 1 - vote])
            level = BETA * math.exp(-asked * math.log(2) * uses_code)
            found.append(bool(_rank(codes, labels, 2, level).better.any()))
        separated.append(found)
    return separated


def _table(tied: dict[int, list[bool]], runs: int) -> Table:
    return Table(
        f"Contests of {2 * TIED} entries, each tied with another, on rows that are not alike",
        ("classes", "contests", "with a false separation", "allowed"),
        tuple(
            (classes, len(found), sum(found), BETA * len(found)) for classes, found in tied.items()
        ),
    )


def _voted_panel(voted: NDArray[np.bool_]) -> Panel:
    at_beta, with_code = voted.mean(axis=0)
    return Panel(
        "Labels are coins, the entries are voted for",
        "answers on the same rows",
        "contests with a false separation",
        (
            Series("Holm at beta", QUESTIONS, at_beta, "other"),
            Series("Holm at beta exp(-code)", QUESTIONS, with_code, "ours"),
            Series("claim", QUESTIONS, [BETA] * len(QUESTIONS), "truth", dashed=True),
        ),
    )


def _season_panel(shares: dict[int, NDArray[np.float64]]) -> Panel:
    sizes = list(shares)
    return Panel(
        f"{MODELS} models within {100 * SPREAD:.0f} points, fresh rows",
        "rows",
        "share of pairs told apart",
        (
            Series("paired tests", sizes, [shares[n][0] for n in sizes], "ours"),
            Series("disjoint intervals", sizes, [shares[n][1] for n in sizes], "other"),
        ),
    )
