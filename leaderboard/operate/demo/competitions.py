"""What the demo's competitions are called, ask and run by."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from leaderboard.operate.demo import baselines, datasets
from leaderboard.operate.demo.baselines import Baseline
from leaderboard.operate.demo.datasets import Tables
from scoring.predictions import Column, Schema

TEXTS = Path(__file__).parent / "texts"


@dataclass(frozen=True)
class DemoCompetition:
    """A competition to be set up. Its texts are the Markdown files in `texts/<slug>/`."""

    slug: str
    title: str
    tagline: str
    schema: Schema
    metric: str
    mechanism: str
    mechanism_parameters: dict[str, str]
    tables: Callable[[], Tables]
    baselines: Sequence[Baseline]
    metric_parameters: dict[str, str] = field(default_factory=dict)
    is_finished: bool = False

    @property
    def label(self) -> str:
        """Return the column to predict."""
        return self.schema.columns[0].name

    def text(self, page: str) -> str:
        """Read the Markdown of a page: description, rules or data."""
        return (TEXTS / self.slug / f"{page}.md").read_text(encoding="utf-8")


DEMO_COMPETITIONS = (
    DemoCompetition(
        slug="digits",
        title="Handwritten digits",
        tagline="Name the digit in 8 by 8 pixels, on a board that moves in steps of 0.01.",
        schema=Schema("id", (Column("label", "label", tuple("0123456789")),)),
        metric="accuracy",
        mechanism="ladder",
        mechanism_parameters={"steps": "100", "confidence": "0.95"},
        tables=datasets.digits,
        baselines=baselines.DIGITS,
    ),
    DemoCompetition(
        slug="breast-cancer",
        title="Breast cancer",
        tagline="Benign or malignant? Public scores count only as long as they hold.",
        schema=Schema("id", (Column("diagnosis", "label", ("benign", "malignant")),)),
        metric="accuracy",
        mechanism="thresholdout",
        mechanism_parameters={
            "threshold": "0.06",
            "noise_scale": "0.003",
            "budget": "200",
            "team_share": "5",
            "steps": "50",
            "confidence": "0.95",
        },
        tables=datasets.breast_cancer,
        baselines=baselines.BREAST_CANCER,
    ),
    DemoCompetition(
        slug="bus-delays",
        title="Bus delays",
        tagline="How many minutes late? Trips of one day belong together.",
        schema=Schema("id", (Column("delay", "number"),)),
        metric="mae",
        metric_parameters={"clip": "20"},
        mechanism="guard",
        mechanism_parameters={
            "errors": "3",
            "budget": "100",
            "team_share": "5",
            "steps": "80",
            "confidence": "0.95",
        },
        tables=datasets.bus_delays,
        baselines=baselines.BUS_DELAYS,
    ),
    DemoCompetition(
        slug="odd-or-even",
        title="Odd or even",
        tagline="Is the digit odd? This one has ended: see what its end looks like.",
        schema=Schema("id", (Column("parity", "label", ("even", "odd")),)),
        metric="accuracy",
        mechanism="guard",
        mechanism_parameters={
            "errors": "4",
            "budget": "100",
            "team_share": "5",
            "steps": "50",
            "confidence": "0.95",
        },
        tables=datasets.odd_digits,
        baselines=baselines.ODD_OR_EVEN,
        is_finished=True,
    ),
)
