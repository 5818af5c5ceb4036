"""Metrics: declared in a file per family, found by name in `METRICS`.

metric = get("rmse")
params = metric.parse({"clip": "10"})
metric.check(schema, solution, params)
mean = metric.measure(predictions, solution, mask, params)
"""

from scoring.metrics import classification, probability, ranking, regression
from scoring.metrics.base import METRICS, Metric, get

__all__ = [
    "METRICS",
    "Metric",
    "classification",
    "get",
    "probability",
    "ranking",
    "regression",
]
