"""The models whose predictions stand on the boards from the first day, or the last."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pandas as pd
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import GradientBoostingRegressor, RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
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
    model: Callable[[], ClassifierMixin | RegressorMixin]
    columns: Sequence[str] | None = None

    def predict(self, tables: Tables, label: str) -> pd.DataFrame:
        """Fit the model to the training table and predict the test table."""
        features = list(self.columns or tables.test.columns.drop("id"))
        model = self.model().fit(tables.train[features], tables.train[label])
        return tables.test[["id"]].assign(**{label: model.predict(tables.test[features])})


def _median() -> RegressorMixin:
    return DummyRegressor(strategy="median")


def _tree(depth: int | None) -> ClassifierMixin:
    return DecisionTreeClassifier(max_depth=depth, random_state=0)


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

_TRIP = ("hour", "line", "rain")
BUS_DELAYS = (
    Baseline("Always the median", "The median delay of train.csv", _median),
    Baseline("Straight line", "Linear regression on hour, line and rain", LinearRegression, _TRIP),
    Baseline(
        "Boosted trees",
        "Gradient boosting on hour, line and rain",
        lambda: GradientBoostingRegressor(loss="absolute_error", random_state=0),
        _TRIP,
    ),
)

ODD_OR_EVEN = (
    Baseline("Coin", "Always the more common answer of train.csv", DummyClassifier),
    Baseline("One pixel", "A single cut on one pixel", lambda: _tree(1)),
    Baseline("Small tree", "A decision tree of depth 3", lambda: _tree(3)),
    Baseline("Deep tree", "A decision tree without a limit", lambda: _tree(None)),
    Baseline("Bell curves", "Gaussian naive Bayes", GaussianNB),
    Baseline("Straight cut", "Linear discriminant analysis", LinearDiscriminantAnalysis),
    Baseline(
        "Forest",
        "A random forest of 100 trees",
        lambda: RandomForestClassifier(n_estimators=100, random_state=0),
    ),
    Baseline("Five neighbours", "Five nearest neighbours", KNeighborsClassifier),
    Baseline(
        "Margins",
        "Support vector machine, radial kernel, C = 10",
        lambda: SVC(gamma="scale", C=10.0),
    ),
)
