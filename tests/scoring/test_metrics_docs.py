"""docs/metrics.md beside the registry."""

from pathlib import Path

from scoring.metrics import METRICS
from scoring.metrics.table import markdown

PAGE = (Path(__file__).parents[2] / "docs" / "metrics.md").read_text()


def test_the_page_has_the_table_of_all_metrics() -> None:
    assert markdown() in PAGE


def test_the_page_proves_every_bound_that_names_it_as_its_source() -> None:
    proofs = PAGE.split("## Why the bounds hold")[1].casefold()
    for metric in METRICS.values():
        if metric.sensitivity and metric.sensitivity.source == "docs/metrics.md":
            assert metric.name.split("_")[0] in proofs
