"""The table of all metrics in docs/metrics.md, from what they declare.

python -m scoring.metrics.table
"""

import sys

from scoring.mechanisms import MECHANISMS
from scoring.metrics import METRICS, Metric

_CHOOSY = [each for each in MECHANISMS.values() if each.metric_kinds is not None]
_HEAD = (
    "Name",
    "What it is",
    "Takes",
    "Worst … best",
    "Kind",
    "Cut",
    "One label moves it by at most",
    *(mechanism.title for mechanism in _CHOOSY),
)
_KINDS = {
    "mean": "mean",
    "transformed_mean": "transform of a mean",
    "set_function": "set function",
    "any": "any",
}
_COLUMNS = {"one": "", "averaged": ", one or more columns", "together": ", several columns"}


def markdown() -> str:
    """Return the table, one metric a line."""
    rows = [_HEAD, tuple("---" for _ in _HEAD), *map(_row, METRICS.values())]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows) + "\n"


def _row(metric: Metric) -> tuple[str, ...]:
    worst, best = metric.score_range(metric.parse({}))
    given = " by default" if metric.parameters and metric.clipping else ""
    return (
        f"`{metric.name}`",
        f"**{metric.title}**. {metric.description}",
        " or ".join(metric.takes) + _COLUMNS[metric.columns],
        f"{worst:.4g} … {best:.4g}{given}",
        _KINDS[metric.kind] + ("" if metric.weighted else "; no weights"),
        _cut(metric),
        _move(metric),
        *("yes" if metric.fits(mechanism) else "no" for mechanism in _CHOOSY),
    )


def _cut(metric: Metric) -> str:
    names = {parameter.name: f"*{parameter.name}*" for parameter in metric.parameters}
    return metric.clipping.format(**names) if metric.clipping else "nothing"


def _move(metric: Metric) -> str:
    if metric.is_mean:
        loss = "" if metric.kind == "mean" else " of the mean under the transform"
        return f"1 / rows{loss}, in shares of the range"
    if metric.sensitivity is None:
        return "no useful bound"
    near = f", if {metric.sensitivity.condition}" if metric.sensitivity.condition else ""
    return f"{metric.sensitivity.formula}{near} ({metric.sensitivity.source})"


if __name__ == "__main__":
    sys.stdout.write(markdown())
