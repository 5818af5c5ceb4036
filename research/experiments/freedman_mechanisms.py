"""The analyst of `freedman` in front of the mechanisms that a competition can choose.

Every correlation is asked as a mean loss in [0, 1]: a row's loss is 1/2 - x y / 10, so that
correlations up to 5 standard deviations of an attribute fit; a classifier's loss is its error.
Where a mechanism does not say anything new about an attribute the analyst has only the training
set's correlation to go by.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from research.experiments.boards import MechanismBoard, breaks
from research.experiments.freedman import SIZES, Draw, Sample, Setting, choose
from research.experiments.results import Cell, Samples, Table
from scoring.measurement import Mean

REACH: Final = 5
RESOLUTION: Final = 10**4
FROM_HOLDOUT: Final = ("corrected", "improved")
NEW_SCORES: Final = (*FROM_HOLDOUT, "confirmed")
MECHANISMS: Final[dict[str, dict[str, object]]] = {
    "thresholdout": {"budget": "20", "team_share": "20"},
    "ladder": {},
}


@dataclass(frozen=True)
class Outcome:
    """How one run ended: the accuracy that the board shows and the true one of the classifier that
    it belongs to, the last answer's certificate, and the true accuracy of the largest classifier.
    """

    answered: int
    shown: float
    truth: float
    certificate: float | None
    broken: int
    largest: float


def mechanism_table(
    setting: Setting, runs: int, generator: np.random.Generator, draw: Draw
) -> Table:
    """Average each mechanism over `runs` runs."""
    rows = []
    for name, raw in MECHANISMS.items():
        outcomes = [
            _run(setting, name, raw, draw(setting, generator), generator) for _ in range(runs)
        ]
        rows.append(_summary(name, outcomes))
    return Table(
        f"The same analyst in front of our mechanisms, {setting.attributes} attributes and "
        f"{len(SIZES) - 1} classifiers asked one by one, runs: {runs}",
        ("mechanism", "answers that say more", "shown at the end", "its fresh accuracy",
         "certificate +/-", "broken", "fresh, k=500"),
        tuple(rows),
    )  # fmt: skip


def _summary(name: str, outcomes: list[Outcome]) -> tuple[Cell, ...]:
    certificates = [o.certificate for o in outcomes if o.certificate is not None]
    return (
        name,
        float(np.mean([o.answered for o in outcomes])),
        float(np.mean([o.shown for o in outcomes])),
        float(np.mean([o.truth for o in outcomes])),
        float(np.mean(certificates)) if certificates else "none",
        sum(o.broken for o in outcomes),
        float(np.mean([o.largest for o in outcomes])),
    )


def _run(
    setting: Setting,
    name: str,
    raw: dict[str, object],
    sample: Sample,
    generator: np.random.Generator,
) -> Outcome:
    board = MechanismBoard(name, raw, generator)
    believed = _ask_attributes(setting, board, sample)
    accuracies = sample.accuracies(choose(sample.train, believed, setting.unit))
    broken, shown, truth, certificate = 0, 0.5, 0.5, None
    for place in range(1, len(SIZES)):
        fresh = float(accuracies.fresh[place])
        answer = board.ask(
            _error(accuracies.holdout[place], setting), _error(accuracies.train[place], setting)
        )
        certificate = answer.certificate
        if answer.kind in NEW_SCORES and answer.loss is not None:
            shown, truth = 1 - float(answer.loss), fresh
            broken += breaks(answer, 1 - fresh)
    answered = board.state.holdout.answered
    return Outcome(answered, shown, truth, certificate, broken, float(accuracies.fresh[-1]))


def _ask_attributes(setting: Setting, board: MechanismBoard, sample: Sample) -> Samples:
    """Return what the analyst believes of each holdout correlation after asking for all of them."""
    believed = np.array(sample.train, dtype=float)
    for attribute, (train, holdout) in enumerate(zip(sample.train, sample.holdout, strict=True)):
        answer = board.ask(_correlation(holdout, setting), _correlation(train, setting))
        if answer.kind in FROM_HOLDOUT and answer.loss is not None:
            believed[attribute] = (0.5 - float(answer.loss)) * 2 * REACH
    return believed


def _correlation(value: float, setting: Setting) -> Mean:
    whole = setting.rows * RESOLUTION
    loss = 0.5 - float(value) / (2 * REACH)
    return Mean(round(min(max(loss, 0.0), 1.0) * whole), setting.rows, RESOLUTION)


def _error(accuracy: float, setting: Setting) -> Mean:
    wrong = round((1 - float(accuracy)) * setting.rows)
    return Mean(wrong * RESOLUTION, setting.rows, RESOLUTION)
