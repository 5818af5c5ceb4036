"""The demo's tables: shuffled, split, and cut into what participants get and what is sealed."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_digits

# Any number would do: it only makes two installations serve the same rows under the same ids.
SEED = 20150807

DIGITS_TRAINING_ROWS = 597
CANCER_TRAINING_ROWS = 100
CANCER_PUBLIC_ROWS = 119


@dataclass(frozen=True, repr=False)
class Tables:
    """A competition's files as tables. `solution` holds the private labels: seal it, drop it."""

    train: pd.DataFrame
    test: pd.DataFrame
    sample: pd.DataFrame
    solution: pd.DataFrame


def digits() -> Tables:
    """Cut 1,797 handwritten digits: 597 to learn from, 1,200 to predict, all of them Private."""
    source = load_digits()
    pixels = [f"pixel_{row}_{column}" for row in range(8) for column in range(8)]
    rows = pd.DataFrame(source.data.astype(int), columns=pixels)
    rows["label"] = source.target.astype(str)
    shuffled, _ = _shuffle(rows)
    return _cut(shuffled, DIGITS_TRAINING_ROWS, "label", usage="Private")


def breast_cancer() -> Tables:
    """Cut 569 biopsies: 100 to learn from, 469 to predict, of these 119 Public, 350 Private."""
    source = load_breast_cancer()
    names = [name.replace(" ", "_") for name in source.feature_names]
    rows = pd.DataFrame(source.data, columns=names)
    rows["diagnosis"] = source.target_names[source.target]
    shuffled, generator = _shuffle(rows)
    to_predict = len(rows) - CANCER_TRAINING_ROWS
    usage = np.full(to_predict, "Private", dtype=object)
    usage[generator.choice(to_predict, CANCER_PUBLIC_ROWS, replace=False)] = "Public"
    return _cut(shuffled, CANCER_TRAINING_ROWS, "diagnosis", usage=usage)


def _shuffle(rows: pd.DataFrame) -> tuple[pd.DataFrame, np.random.Generator]:
    """Put the rows in random order and number them in that order, so that ids tell nothing."""
    generator = np.random.default_rng(SEED)
    shuffled = rows.iloc[generator.permutation(len(rows))].reset_index(drop=True)
    shuffled.insert(0, "id", np.arange(1, len(rows) + 1))
    return shuffled, generator


def _cut(rows: pd.DataFrame, training_rows: int, label: str, *, usage: Any) -> Tables:
    train, rest = rows.iloc[:training_rows], rows.iloc[training_rows:]
    solution = rest[["id", label]].assign(Usage=usage)
    sample = rest[["id"]].assign(**{label: train[label].min()})
    return Tables(train, rest.drop(columns=label), sample, solution)
