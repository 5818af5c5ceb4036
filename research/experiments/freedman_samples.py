"""Two ways to draw the three data sets of `freedman`: their exact law, and literally.

The exact law. Times its label, an attribute is N(mu, 1) in every row and labels play no further
part. The correlations are then independent N(mu, 1/n), and given its correlation w a column is
w + g - mean(g) with g standard normal. A signed sum of M columns is therefore
sqrt(M) (g - mean(g)) + sum of s w, with one vector g for each block of columns that a larger
classifier adds: a few million numbers in place of 300 million. Analysts who choose different
attributes from the same sample get independent residuals: each analyst's law is exact, the
correlation between two analysts is not kept.
"""

import math

import numpy as np
from numpy.typing import NDArray

from research.experiments.freedman import SIZES, Accuracies, Indices, Setting, blocks
from research.experiments.results import Samples

Singles = NDArray[np.float32]


class ExactLaw:
    """One draw from the exact law. See the module's docstring."""

    def __init__(self, setting: Setting, generator: np.random.Generator) -> None:
        self._setting = setting
        self._generator = generator
        self._means = setting.true_means()
        shape = (2, setting.attributes)
        self.train, self.holdout = generator.normal(self._means, setting.unit, shape)

    def accuracies(self, chosen: Indices) -> Accuracies:
        signs = np.sign(self.train)
        return Accuracies(
            train=self._curve(chosen, signs * self.train, centred=True),
            holdout=self._curve(chosen, signs * self.holdout, centred=True),
            fresh=self._curve(chosen, signs * self._means, centred=False),
        )

    def _curve(self, chosen: Indices, signed: Samples, *, centred: bool) -> Samples:
        """Return the accuracy of each size on one set; `signed` are signs times the set's means."""
        rows = self._setting.rows
        sums = np.zeros(rows)
        accuracies = np.full(len(SIZES), 0.5)
        for place, block in enumerate(blocks(chosen)):
            if place == 0:
                continue  # no attributes: a coin
            residual = self._generator.standard_normal(rows)
            if centred:
                residual -= residual.mean()
            sums += math.sqrt(len(block)) * residual + signed[block].sum()
            accuracies[place] = np.count_nonzero(sums > 0) / rows
        return accuracies


class Literal:
    """One draw of rows, attributes and labels, 8 n d bytes: 800 MB at n = d = 10,000.

    Attributes are in single precision. Of the fresh set only chosen attributes are drawn, since a
    classifier gives the others no weight.
    """

    def __init__(self, setting: Setting, generator: np.random.Generator) -> None:
        self._setting = setting
        self._generator = generator
        everything = np.arange(setting.attributes)
        self._train, self._train_labels = self._set(everything)
        self._holdout, self._holdout_labels = self._set(everything)
        self.train: Samples = self._correlations(self._train, self._train_labels)
        self.holdout: Samples = self._correlations(self._holdout, self._holdout_labels)

    def accuracies(self, chosen: Indices) -> Accuracies:
        signs = np.sign(self.train[chosen]).astype(np.float32)
        fresh, fresh_labels = self._set(chosen)
        return Accuracies(
            train=self._curve(chosen, self._train[chosen], self._train_labels, signs),
            holdout=self._curve(chosen, self._holdout[chosen], self._holdout_labels, signs),
            fresh=self._curve(chosen, fresh, fresh_labels, signs),
        )

    def _correlations(self, values: Singles, labels: Singles) -> Samples:
        return (values @ labels).astype(float) / self._setting.rows

    def _set(self, attributes: Indices) -> tuple[Singles, Singles]:
        """Draw attributes by rows, and labels: the sign of a normal number, as in Data S1."""
        shape = (len(attributes), self._setting.rows)
        values = self._generator.standard_normal(shape, dtype=np.float32)
        normal = self._generator.standard_normal(self._setting.rows, dtype=np.float32)
        labels = np.sign(normal)
        means = self._setting.true_means()[attributes].astype(np.float32)
        informative = np.flatnonzero(means)
        values[informative] += means[informative, None] * labels
        return values, labels

    def _curve(self, chosen: Indices, values: Singles, labels: Singles, signs: Singles) -> Samples:
        sums = np.zeros(self._setting.rows, dtype=np.float32)
        accuracies = np.full(len(SIZES), 0.5)
        first = 0
        for place, block in enumerate(blocks(chosen)):
            last = first + len(block)
            sums = sums + signs[first:last] @ values[first:last]
            first = last
            if place > 0:
                accuracies[place] = float(np.mean(np.sign(sums) == labels))
        return accuracies
