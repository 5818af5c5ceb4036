"""Numbers that the experiments are held against, and where each comes from.

Freedman: means and standard deviations of one run over 4,000 runs of the exact law, from a program
written independently of this one. Boosting: 300 runs, likewise; the published numbers are those of
the files that Blum and Hardt's program wrote, five runs each. Pair flips: as stated.
"""

from typing import Final

from research.experiments.results import Known

FREEDMAN_RUNS: Final = 4000
FREEDMAN_COLUMNS: Final = (
    ("plain", "train"),
    ("plain", "reported"),
    ("plain", "fresh"),
    ("Thresholdout of the paper's program", "train"),
    ("Thresholdout of the paper's program", "reported"),
    ("Thresholdout of the paper's program", "holdout"),
    ("Thresholdout of the paper's program", "fresh"),
)

# For each size the columns above: mean, standard deviation of one run in units of 1e-4.
_NO_SIGNAL: Final = {
    10: "5381 34 5192 36 5001 50 5430 33 5254 209 5049 45 5000 51",
    100: "5890 37 5606 34 5001 50 6103 34 5098 108 5098 47 5000 50",
    300: "6211 39 6042 35 5000 49 6643 34 5126 109 5126 48 5001 51",
    500: "6336 42 6325 38 5001 50 6942 34 5136 111 5137 48 5000 51",
}
_SIGNAL: Final = {
    10: "5847 44 5753 50 5754 49 5846 45 5845 47 5753 50 5753 49",
    20: "6058 48 6053 52 6050 53 6059 49 6059 49 6043 56 6041 56",
    30: "6081 44 5975 45 5867 51 6108 44 6092 77 5894 50 5866 50",
    100: "6204 38 5957 38 5478 49 6365 37 5558 110 5559 47 5478 49",
    500: "6502 40 6482 36 5216 51 7068 34 5347 109 5346 48 5213 50",
}
_COUNTS: Final = {
    0: {"selected": (503.8, 22.3), "fired attributes": (208.7, 14.2)},
    20: {"selected": (522.2, 22.1)},
}
_FIRED_CLASSIFIERS: Final = {0: 11.25, 20: 8.58}

PUBLISHED_FREEDMAN: Final = {("plain", "train", 500): ">0.63", ("plain", "reported", 500): ">0.63"}


def freedman(informative: int) -> dict[tuple[str, str, int], Known]:
    """Return the expected curves by board, curve and size."""
    known = {}
    for size, text in (_SIGNAL if informative else _NO_SIGNAL).items():
        numbers = [int(word) / 10_000 for word in text.split()]
        for (board, curve), mean, sd in zip(
            FREEDMAN_COLUMNS, numbers[::2], numbers[1::2], strict=True
        ):
            known[board, curve, size] = Known(mean, sd, FREEDMAN_RUNS)
    return known


def freedman_counts(informative: int) -> dict[str, Known]:
    """Return how many attributes agree on both sets and how many questions fire."""
    counts = {
        name: Known(mean, sd, FREEDMAN_RUNS) for name, (mean, sd) in _COUNTS[informative].items()
    }
    counts["fired classifiers"] = Known(_FIRED_CLASSIFIERS[informative])
    return counts


BOOSTING_RUNS: Final = 300
BOOSTING_SD: Final = 0.0065
# By number of submissions: exact scores, 2 decimals, parameter-free Ladder, step 1/sqrt(n).
_BOOSTING: Final = {
    10: (0.4891, 0.4924, 0.4923, 0.4924),
    100: (0.4644, 0.4758, 0.4884, 0.4892),
    200: (0.4496, 0.4664, 0.4872, 0.4885),
    400: (0.4302, 0.4533, 0.4859, 0.4877),
}
BOOSTING_BOARDS: Final = (
    "rounded to 5 decimals",
    "rounded to 2 decimals",
    "parameter-free Ladder",
    "Ladder, step 1/63",
)
PUBLISHED_BOOSTING: Final = {
    "rounded to 5 decimals": "0.42745",
    "rounded to 2 decimals": "0.45065",
    "parameter-free Ladder": "0.48425, 0.4878",
}


def boosting() -> dict[tuple[str, int], Known]:
    """Return the expected losses by board and number of submissions."""
    return {
        (board, submissions): Known(mean, BOOSTING_SD, BOOSTING_RUNS)
        for submissions, means in _BOOSTING.items()
        for board, mean in zip(BOOSTING_BOARDS, means, strict=True)
    }
