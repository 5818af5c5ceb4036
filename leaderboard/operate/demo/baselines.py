"""The models whose predictions stand on the boards from the first day."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pandas as pd
from sklearn.base import ClassifierMixin
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from leaderboard.operate.demo.datasets import Tables


@dataclass(frozen=True)
class Baseline:
    """A team's name, the message of its submission, its model and the columns the model reads."""

    team: str
    message: str
    model: Callable[[], ClassifierMixin]
    columns: Sequence[str] | None = None

    def predict(self, tables: Tables, label: str) -> pd.DataFrame:
        """Fit the model to the training table and predict the test table."""
        features = list(self.columns or tables.test.columns.drop("id"))
        model = self.model().fit(tables.train[features], tables.train[label])
        return tables.test[["id"]].assign(**{label: model.predict(tables.test[features])})


DIGITS = (
    Baseline("Most common digit", "The most common digit of train.csv, always", DummyClassifier),
    Baseline("Linear discriminant", "Linear discriminant analysis", LinearDiscriminantAnalysis),
    Baseline(
        "Support vectors",
        "Support vector machine, radial kernel, C = 10",
        lambda: SVC(gamma="scale", C=10.0),
    ),
)

BREAST_CANCER = (
    Baseline("Always the same", "The most common diagnosis of train.csv", DummyClassifier),
    Baseline(
        "One threshold",
        "A single cut on the worst perimeter",
        lambda: DecisionTreeClassifier(max_depth=1, random_state=0),
        ("worst_perimeter",),
    ),
    Baseline(
        "Logistic regression",
        "All 30 measurements, scaled, C = 0.5",
        lambda: make_pipeline(StandardScaler(), LogisticRegression(C=0.5, max_iter=1000)),
    ),
)
