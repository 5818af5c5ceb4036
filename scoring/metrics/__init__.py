"""Metrics: declared in a file per family, found by name in `METRICS`.

metric = get("rmse")
params = metric.parse({"clip": "10"})
metric.check(schema, solution, params)
mean = metric.measure(predictions, solution, mask, params)
"""

from scoring.metrics import (
    classification,
    classification_agreement,
    correlation,
    expression,
    lists,
    probability,
    ranking,
    regression,
    text,
)
from scoring.metrics.base import Metric
from scoring.metrics.registry import METRICS, get

__all__ = [
    "METRICS",
    "Metric",
    "classification",
    "classification_agreement",
    "correlation",
    "expression",
    "get",
    "lists",
    "probability",
    "ranking",
    "regression",
    "text",
]
