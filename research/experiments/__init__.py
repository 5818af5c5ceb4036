"""Attacks on leaderboards, played against plain boards and against our own mechanisms.

    python -m research.experiments NAME [--runs R] [--seed S] [--json FILE] [--figure FILE]

Everything random comes from one numpy generator made of the seed. Only figures need matplotlib.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from research.experiments import (
    boosting,
    correlated,
    drain,
    duels,
    groups,
    log_loss,
    oracle,
    pair_flip,
    paired,
    season,
    svt,
    sybils,
    threshold_hunt,
)
from research.experiments.freedman_figures import figure1, figure2, figure_s2
from research.experiments.results import Result


@dataclass(frozen=True)
class Experiment:
    """`run(runs, seed)` plays it; `literal` does so row by row where that exists."""

    name: str
    runs: int
    run: Callable[[int, int], Result]
    literal: Callable[[int, int], Result] | None = None


def _freedman(name: str, play: Callable[..., Result]) -> Experiment:
    return Experiment(name, 100, play, literal=lambda runs, seed: play(runs, seed, literal=True))


EXPERIMENTS: Final = {
    experiment.name: experiment
    for experiment in (
        _freedman("figure1", figure1),
        _freedman("figure2", figure2),
        _freedman("figureS2", figure_s2),
        Experiment("boosting", 100, boosting.run),
        Experiment("pairflip", 100, pair_flip.run),
        Experiment("thresholdhunt", 1000, threshold_hunt.run),
        Experiment("svt", 2000, svt.run),
        Experiment("correlated", 50, correlated.run),
        Experiment("drain", 50, drain.run),
        Experiment("logloss", 50, log_loss.run),
        Experiment("paired", 1000, paired.run),
        Experiment("duels", 4000, duels.run),
        Experiment("groups", 400, groups.run),
        Experiment("season", 8, season.run),
        Experiment("sybils", 20, sybils.run),
        Experiment("oracle", 50, oracle.run),
    )
}
