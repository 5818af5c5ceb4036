"""Stand-ins for what mechanisms ask of metrics and solutions."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Metric:
    name: str
    kind: str
    units: int = 1


@dataclass(frozen=True)
class Counts:
    public: int = 0
    private: int = 0


ACCURACY = Metric("accuracy", "mean")
RMSE = Metric("rmse", "transformed_mean")
AUC = Metric("auc", "set_function")
