"""Two boards under the same attack, for the home page: figures of the experiment `boosting`."""

import json
from dataclasses import dataclass
from functools import cache
from typing import Final

from django.conf import settings

_WIDTH: Final = 480
_TOP, _BOTTOM = 8, 112
_LOW, _HIGH = 0.49, 0.58
EVERY: Final = 50
# Names of the experiment, and of the page.
_BOARDS: Final = {"plain": "An ordinary leaderboard", "Thresholdout": "A Holdfast leaderboard"}


@dataclass(frozen=True)
class Step:
    """What the board says after so many files, and where that is drawn."""

    files: int
    score: str
    x: float
    y: float


@dataclass(frozen=True)
class AttackedBoard:
    """A board with the whole curve as points of an SVG, and the steps of the slider on it."""

    title: str
    curve: str
    steps: tuple[Step, ...]


@dataclass(frozen=True)
class Attack:
    """The boards, and what was played: `chance` is the height of 50 %."""

    boards: tuple[AttackedBoard, ...]
    files: tuple[int, ...]
    rows: int
    runs: int
    chance: float


@cache
def attack() -> Attack:
    """Return what the experiment found: means over its runs, as accuracies on each board's rows."""
    path = settings.BASE_DIR / "docs" / "figures" / "boosting.json"
    found = json.loads(path.read_text(encoding="utf-8"))
    series = {each["label"]: each for each in found["panels"][0]["series"]}
    boards = tuple(
        _board(title, series[name]["x"], series[name]["y"]) for name, title in _BOARDS.items()
    )
    return Attack(
        boards=boards,
        files=tuple(step.files for step in boards[0].steps),
        rows=found["parameters"]["n"],
        runs=found["parameters"]["runs"],
        chance=_y(0.5),
    )


def _board(title: str, files: list[int], losses: list[float]) -> AttackedBoard:
    scores = dict(zip(files, (1 - loss for loss in losses), strict=True))
    most = max(files)

    def x(count: int) -> float:
        return round(_WIDTH * count / most, 1)

    curve = " ".join(f"{x(count)},{_y(score)}" for count, score in scores.items())
    steps = tuple(
        Step(count, f"{100 * score:.1f} %", x(count), _y(score))
        for count, score in scores.items()
        if count % EVERY == 0
    )
    return AttackedBoard(title, curve, steps)


def _y(score: float) -> float:
    return round(_BOTTOM - (score - _LOW) / (_HIGH - _LOW) * (_BOTTOM - _TOP), 1)
