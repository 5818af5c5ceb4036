"""The experiment of Dwork et al. (Science 2015, figures 1, 2 and S2): choose attributes that look
good on the training set and on the holdout, and read the classifier's accuracy off the holdout.

n rows with d attributes N(0, 1) and a label of one fair sign; in figure 2, 20 attributes have the
mean 6/sqrt(n) times the label. The correlation of an attribute is the mean of attribute times
label. Attributes are chosen whose correlations on both sets are beyond 1/sqrt(n) on the same side,
the k largest on the training set are added up with their signs, and the sign of the sum is the
prediction. The published program is Data S1 of the paper.

Here are the parts that the exact law and the literal form share: what the boards answer and what
the analyst does with it.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from research.experiments.boards import PLAIN_BOARDS, PlainBoard
from research.experiments.results import Samples

SIZES: Final = (0, 10, 20, 30, 45, 70, 100, 150, 200, 250, 300, 400, 500)
BIAS: Final = 6.0  # of an informative attribute, in units of 1/sqrt(n)
INFORMATIVE: Final = 20
THRESHOLD: Final = 4.0  # T and the noise of Data S1, in units of 1/sqrt(n): 0.04 and 0.01
TOLERANCE: Final = 1.0

Indices = NDArray[np.intp]


@dataclass(frozen=True)
class Setting:
    """`rows` n in each of the three sets, `attributes` d, of which `informative` carry signal."""

    rows: int = 10_000
    attributes: int = 10_000
    informative: int = 0

    @property
    def unit(self) -> float:
        """1/sqrt(n): the standard deviation of a correlation."""
        return 1 / math.sqrt(self.rows)

    def true_means(self) -> Samples:
        """Return the true correlation of each attribute, shape (attributes,)."""
        means = np.zeros(self.attributes)
        means[: self.informative] = BIAS * self.unit
        return means


@dataclass(frozen=True)
class Accuracies:
    """Of the classifiers of one analyst, one for each size: shape (sizes,)."""

    train: Samples
    holdout: Samples
    fresh: Samples


class Sample(Protocol):
    """One draw of the training set, the holdout and the fresh set."""

    @property
    def train(self) -> Samples:
        """Correlations on the training set, shape (attributes,)."""
        ...

    @property
    def holdout(self) -> Samples:
        """Correlations on the holdout, shape (attributes,)."""
        ...

    def accuracies(self, chosen: Indices) -> Accuracies:
        """Return the accuracies of the classifiers that use the first k of `chosen`, for each k of
        SIZES.
        """
        ...


Draw = Callable[[Setting, np.random.Generator], Sample]


class GaussianThresholdout:
    """The Thresholdout of Data S1: Gaussian noise of one size for the comparison and the answer, no
    noise on the threshold, no budget. It carries no guarantee at all."""

    name = "Thresholdout of the paper's program"

    def __init__(self, unit: float, generator: np.random.Generator) -> None:
        self._threshold = THRESHOLD * unit
        self._tolerance = TOLERANCE * unit
        self._generator = generator

    def answer(self, train: Samples, holdout: Samples) -> tuple[Samples, NDArray[np.bool_]]:
        """Return the answers to independent questions and which of them fired."""
        comparison, added = self._generator.normal(0, self._tolerance, (2, *train.shape))
        fired: NDArray[np.bool_] = np.abs(train - holdout) > self._threshold + comparison
        return np.where(fired, holdout + added, train), fired


def choose(train: Samples, shown: Samples, unit: float) -> Indices:
    """Return attributes beyond one unit on the same side on both, the largest on the training set
    first; at most as many as the largest classifier takes.
    """
    agree = ((train > unit) & (shown > unit)) | ((train < -unit) & (shown < -unit))
    candidates = np.flatnonzero(agree)
    order = np.argsort(-np.abs(train[candidates]), kind="stable")
    return candidates[order][: SIZES[-1]]


@dataclass
class Curves:
    """Accuracies over all runs: each curve has shape (runs, sizes), counts have shape (runs,)."""

    runs: int
    curves: dict[tuple[str, str], Samples] = field(default_factory=dict)
    selected: Samples = field(init=False)
    fired_attributes: Samples = field(init=False)
    fired_classifiers: Samples = field(init=False)

    def __post_init__(self) -> None:
        self.selected = np.zeros(self.runs)
        self.fired_attributes = np.zeros(self.runs)
        self.fired_classifiers = np.zeros(self.runs)

    def put(self, run: int, board: str, name: str, values: Samples) -> None:
        curve = self.curves.setdefault((board, name), np.empty((self.runs, len(SIZES))))
        curve[run] = values


def play(setting: Setting, runs: int, generator: np.random.Generator, draw: Draw) -> Curves:
    """Play all runs of the analyst in front of the plain boards and the published Thresholdout."""
    curves = Curves(runs)
    for run in range(runs):
        sample = draw(setting, generator)
        for board in PLAIN_BOARDS:
            _play_plain(setting, board, sample, curves, run)
        _play_thresholdout(setting, sample, curves, run, generator)
    return curves


def _play_plain(
    setting: Setting, board: PlainBoard, sample: Sample, curves: Curves, run: int
) -> None:
    chosen = choose(sample.train, board.show(sample.holdout), setting.unit)
    accuracies = sample.accuracies(chosen)
    curves.put(run, board.name, "train", accuracies.train)
    curves.put(run, board.name, "reported", board.show(accuracies.holdout))
    curves.put(run, board.name, "fresh", accuracies.fresh)
    if board.decimals is None:
        agree = (sample.train * sample.holdout > 0) & (
            np.minimum(np.abs(sample.train), np.abs(sample.holdout)) > setting.unit
        )
        curves.selected[run] = np.count_nonzero(agree)


def _play_thresholdout(
    setting: Setting, sample: Sample, curves: Curves, run: int, generator: np.random.Generator
) -> None:
    board = GaussianThresholdout(setting.unit, generator)
    shown, fired = board.answer(sample.train, sample.holdout)
    accuracies = sample.accuracies(choose(sample.train, shown, setting.unit))
    reported, fired_classifiers = board.answer(accuracies.train, accuracies.holdout)
    reported[0] = 0.5  # no attributes, no question: as in the published program
    curves.put(run, board.name, "train", accuracies.train)
    curves.put(run, board.name, "reported", reported)
    curves.put(run, board.name, "holdout", accuracies.holdout)
    curves.put(run, board.name, "fresh", accuracies.fresh)
    curves.fired_attributes[run] = np.count_nonzero(fired)
    curves.fired_classifiers[run] = np.count_nonzero(fired_classifiers[1:])


def blocks(chosen: Indices) -> list[Indices]:
    """Return the attributes that each size adds to the one before it."""
    return [chosen[first:last] for first, last in zip((0, *SIZES[:-1]), SIZES, strict=True)]
