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
ODD_TRAINING_ROWS, ODD_PUBLIC_ROWS, ODD_FINAL_ROWS = 197, 400, 600

DAYS, TRIPS_A_DAY = 800, 8
TRAINING_DAYS, PUBLIC_DAYS = 200, 200
RAINY = 0.3  # the part of the days


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


def odd_digits() -> Tables:
    """Cut the same digits: 197 to learn from, 1,600 to predict; 400 Public, 600 Final."""
    source = load_digits()
    pixels = [f"pixel_{row}_{column}" for row in range(8) for column in range(8)]
    rows = pd.DataFrame(source.data.astype(int), columns=pixels)
    rows["parity"] = np.where(source.target % 2, "odd", "even")
    shuffled, generator = _shuffle(rows, SEED + 1)  # other ids than those of the other competition
    to_predict = len(rows) - ODD_TRAINING_ROWS
    usage = np.full(to_predict, "Private", dtype=object)
    chosen = generator.permutation(to_predict)
    usage[chosen[:ODD_PUBLIC_ROWS]] = "Public"
    usage[chosen[ODD_PUBLIC_ROWS : ODD_PUBLIC_ROWS + ODD_FINAL_ROWS]] = "Final"
    return _cut(shuffled, ODD_TRAINING_ROWS, "parity", usage=usage)


def bus_delays() -> Tables:
    """Make up 6,400 bus trips on 800 days: trips of one day share its weather and its traffic.

    200 days to learn from and 600 to predict, of these 200 Public and 400 Private, each day whole.
    """
    generator = np.random.default_rng(SEED)
    day = np.repeat(np.arange(DAYS), TRIPS_A_DAY)
    trips = len(day)
    rain = (generator.random(DAYS) < RAINY)[day]
    luck_of_the_day = generator.normal(0, 2.5, DAYS)[day]
    hour = generator.integers(6, 22, trips)
    line = generator.integers(1, 6, trips)
    rush = np.exp(-((hour - 8) ** 2) / 4) + np.exp(-((hour - 17) ** 2) / 6)
    expected = 1.5 + line + 6 * rush + 4 * rain * (1 + rush) + luck_of_the_day
    delay = np.round(np.maximum(0, expected + generator.exponential(2.0, trips) - 1), 1)
    rows = pd.DataFrame(
        {"day": day, "hour": hour, "line": line, "rain": rain.astype(int), "delay": delay}
    )
    shuffled, _ = _shuffle(rows)
    order = generator.permutation(DAYS)
    train = shuffled[shuffled["day"].isin(order[:TRAINING_DAYS])]
    rest = shuffled[~shuffled["day"].isin(order[:TRAINING_DAYS])]
    public = rest["day"].isin(order[TRAINING_DAYS : TRAINING_DAYS + PUBLIC_DAYS])
    tables = _cut(
        pd.concat([train, rest]), len(train), "delay", usage=np.where(public, "Public", "Private")
    )
    solution = tables.solution.assign(Group=rest["day"])
    return Tables(tables.train, tables.test, tables.sample.assign(delay=5.0), solution)


def _shuffle(rows: pd.DataFrame, seed: int = SEED) -> tuple[pd.DataFrame, np.random.Generator]:
    """Put the rows in random order and number them in that order, so that ids tell nothing."""
    generator = np.random.default_rng(seed)
    shuffled = rows.iloc[generator.permutation(len(rows))].reset_index(drop=True)
    shuffled.insert(0, "id", np.arange(1, len(rows) + 1))
    return shuffled, generator


def _cut(rows: pd.DataFrame, training_rows: int, label: str, *, usage: Any) -> Tables:
    train, rest = rows.iloc[:training_rows], rows.iloc[training_rows:]
    solution = rest[["id", label]].assign(Usage=usage)
    sample = rest[["id"]].assign(**{label: train[label].min()})
    return Tables(train, rest.drop(columns=label), sample, solution)
