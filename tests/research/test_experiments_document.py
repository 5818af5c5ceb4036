"""docs/theory.md says what the code computes."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from research.bounds.blum_hardt import best_ladder
from research.bounds.dwork_nips import sparse_width, theorem9_accuracy
from research.bounds.jung import best_thresholdout_width
from research.experiments import EXPERIMENTS
from scoring.errors import ConditionError
from scoring.guarantees.intervals import bonferroni_width

DOCS = Path(__file__).parents[2] / "docs"
TEXT = (DOCS / "theory.md").read_text()
BETA = 0.05
SIZES = (
    (100, 5, 10**4),
    (1000, 20, 10**3),
    (1000, 20, 10**4),
    (1000, 20, 10**5),
    (1000, 20, 10**6),
    (1000, 20, 10**7),
    (10_000, 50, 10**5),
)


@pytest.mark.parametrize(("questions", "budget", "rows"), SIZES)
def test_the_table_of_costs_is_what_the_functions_give(
    questions: int, budget: int, rows: int
) -> None:
    cells = [
        f"{questions:,}, {budget}",
        f"{rows:,}",
        f"{bonferroni_width(rows, questions, BETA):.4f}",
        f"{sparse_width(rows, questions, budget, BETA):.4f}",
        f"{sparse_width(rows, questions, budget, BETA, 101):.4f}",
        f"{best_ladder(rows, questions, BETA)[1]:.4f}",
        certified(lambda: best_thresholdout_width(rows, questions, budget, BETA)),
        certified(lambda: theorem9_accuracy(rows, questions, BETA, budget)),
    ]
    assert f"| {' | '.join(cells)} |" in TEXT


def certified(width: Callable[[], float]) -> str:
    try:
        value = width()
    except ConditionError:
        return "-"
    return f"{value:.4f}" if value < 1 else "-"


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_is_drawn_and_shown(name: str) -> None:
    assert (DOCS / "figures" / f"{name}.svg").is_file()
    assert f"(figures/{name}.svg)" in TEXT
    document = json.loads((DOCS / "figures" / f"{name}.json").read_text())
    assert document["parameters"]["runs"] == EXPERIMENTS[name].runs


def test_drawn_results_agree_with_what_they_should_be() -> None:
    for name in EXPERIMENTS:
        document = json.loads((DOCS / "figures" / f"{name}.json").read_text())
        scores = [line["z"] for line in document["comparisons"] if line["z"] is not None]
        assert all(abs(z) < 4 for z in scores), name


@pytest.mark.parametrize(
    ("name", "quantity", "digits"),
    [
        ("boosting", "plain, k=400", 4),
        ("boosting", "rounded to 2 decimals, k=400", 4),
        ("boosting", "parameter-free Ladder, k=400", 4),
        ("boosting", "Ladder, step 1/63, k=400", 4),
        ("boosting", "Thresholdout, k=400", 4),
        ("figure1", "plain reported, k=500", 4),
        ("figure2", "plain reported, k=500", 4),
        ("figure1", "Thresholdout reported, k=500", 4),
        ("figure2", "Thresholdout reported, k=500", 4),
        ("pairflip", "parameter-free Ladder, n=4000 of 4000, k=400, 2 flips", 4),
        ("pairflip", "parameter-free Ladder, n=200 of 200, k=100, 2 flips", 4),
        ("thresholdhunt", "budget 1000, t=10", 3),
        ("thresholdhunt", "budget 10000, t=20", 3),
        ("thresholdhunt", "budget 100, t=8", 3),
    ],
)
def test_quoted_numbers_are_those_of_the_figures(name: str, quantity: str, digits: int) -> None:
    document = json.loads((DOCS / "figures" / f"{name}.json").read_text())
    mean = next(line["mean"] for line in document["comparisons"] if line["quantity"] == quantity)
    assert f"{mean:.{digits}f}" in TEXT


def test_sections_that_the_code_refers_to_exist() -> None:
    named = set(re.findall(r"^#+ (\d+(?:\.\d+)?)\.? ", TEXT, flags=re.MULTILINE))
    named |= {f"4.{n}" for n in re.findall(r"^- \*\*4\.(\d)", TEXT, flags=re.MULTILINE)}
    for section in ("0", "5", "9"):
        start = TEXT.index(f"## {section}. ")
        end = TEXT.find("\n## ", start + 1)
        items = re.findall(r"^(\d+)\. ", TEXT[start:end], flags=re.MULTILINE)
        named |= {f"{section}.{item}" for item in items}
    named |= set(re.findall(r"^\| (E\d+) \|", TEXT, flags=re.MULTILINE))
    referred: set[str] = set()
    folders = [DOCS.parent / name for name in ("scoring", "research")]
    for path in [path for folder in folders for path in folder.rglob("*.py")]:
        for reference in re.findall(
            r"theory\.md ((?:[\dE][\d.]*(?:, | and )?)+)", path.read_text()
        ):
            referred |= {part.strip(".") for part in re.split(r", | and ", reference) if part}
    assert referred <= named
    assert {f"E{number}" for number in range(1, 22)} <= named
