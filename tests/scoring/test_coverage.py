"""Certificates against adversaries who know everything that the board shows.

Labels are fair coins, so every submission has the expected loss 1/2 and each certificate is either
right or wrong. Three teams share what they see. In each game one wrong certificate is a failure; at
most beta of the games may fail.
"""

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from scoring.guarantees.certificate import certify
from scoring.guarantees.intervals import bonferroni_width
from scoring.measurement import Mean, Measurement
from scoring.mechanisms import get
from scoring.mechanisms.base import Answer, HoldoutState, State, TeamState
from scoring.noise import SeededNoise

TRUTH = Fraction(1, 2)
TEAMS = 3
QUESTIONS = 110
RANDOM_GUESSES = 100
GAMES = 20
BETA = 0.5  # the largest that may be asked for: the narrowest certificates
ROWS = 3000
PUBLIC_LOSS = 600

Guess = NDArray[np.bool_]


def mean(wrong: Guess) -> Mean:
    return Mean(int(wrong.sum()), len(wrong), 1)


class Adversary:
    """Boosting: guesses at random, keeps or turns round each guess by what the board said of it,
    then submits the majority of them (theory.md 6.2). Its public score invites corrections."""

    def __init__(self, generator: np.random.Generator) -> None:
        self._generator = generator
        self._labels = self._coins()
        self._kept: list[Guess] = []

    def submissions(self) -> Iterator[tuple[Guess, Measurement]]:
        for number in range(QUESTIONS):
            guess = self._coins() if number < RANDOM_GUESSES else self._majority()
            public = Mean(PUBLIC_LOSS, ROWS, 1)
            yield guess, Measurement(mean(guess ^ self._labels), public)

    def learn(self, guess: Guess, answer: Answer) -> None:
        if answer.kind in {"corrected", "improved"} and answer.loss is not None:
            self._kept.append(guess if answer.loss <= TRUTH else ~guess)

    def _coins(self) -> Guess:
        return self._generator.integers(0, 2, ROWS).astype(bool)

    def _majority(self) -> Guess:
        votes = np.sum(self._kept, axis=0) * 2 - len(self._kept)
        return np.where(votes == 0, self._coins(), votes > 0)


def play(name: str, raw: dict[str, str], seed: int) -> Iterator[Answer]:
    mechanism = get(name)
    params: Any = mechanism.parse({**raw, "confidence": str(1 - Fraction(BETA))})
    generator = np.random.default_rng(seed)
    noise, adversary = SeededNoise(generator), Adversary(generator)
    holdout: HoldoutState = mechanism.initial_holdout(params)
    teams = [TeamState()] * TEAMS
    for number, (guess, measurement) in enumerate(adversary.submissions()):
        turn = number % TEAMS
        after, answer = mechanism.step(params, State(holdout, teams[turn]), measurement, noise)
        holdout, teams[turn] = after.holdout, after.team
        adversary.learn(guess, answer)
        yield answer


def is_wrong(answer: Answer, width: float) -> bool:
    """Whether the truth lies outside of what the answer says, with this width of the ledger."""
    if answer.kind in {"fail", "exhausted"} or answer.loss is None:
        return False
    within = answer.tolerance + width
    if answer.kind == "not_improved":
        return float(answer.loss - TRUTH) > within
    return abs(float(answer.loss - TRUTH)) > within


LADDER = {"steps": "40"}
THRESHOLDOUT = {
    "threshold": "0.04",
    "noise_scale": "0.0005",
    "budget": "120",
    "team_share": "40",
    "steps": "200",
}
GAMES_PLAYED = [
    ("ladder", LADDER),
    ("thresholdout", THRESHOLDOUT),
    ("thresholdout", THRESHOLDOUT | {"form": "science"}),
    ("thresholdout", THRESHOLDOUT | {"form": "zhao"}),
    ("thresholdout", THRESHOLDOUT | {"reference": "claim"}),
]
NAMES = ["ladder", "nips", "science", "zhao", "claim"]


def is_missed(answer: Answer) -> bool:
    """Whether the truth lies outside of the interval that is computed from the release."""
    found = certify(answer, ROWS)
    return found is not None and not found.low <= TRUTH <= found.high


@pytest.mark.parametrize(("name", "raw"), GAMES_PLAYED, ids=NAMES)
def test_certificates_hold_against_teams_that_collude(name: str, raw: dict[str, str]) -> None:
    """Both the plain width and the KL interval, and both in the same games."""
    failures = 0
    for seed in range(GAMES):
        answers = list(play(name, raw, seed))
        assert all(answer.certificate is not None for answer in answers)
        wrong = (is_wrong(answer, answer.width) or is_missed(answer) for answer in answers)
        failures += any(wrong)
    assert failures <= BETA * GAMES


def test_a_width_that_forgets_the_history_would_be_wrong() -> None:
    """The same games break a plain interval that should fail in one of twenty."""
    width = bonferroni_width(ROWS, 1, 0.05)
    name, raw = GAMES_PLAYED[1]
    failures = sum(
        any(is_wrong(answer, width) for answer in play(name, raw, seed)) for seed in range(GAMES)
    )
    assert failures > 0.8 * GAMES


def test_a_no_of_the_ladder_bounds_the_loss_from_below() -> None:
    name, raw = GAMES_PLAYED[0]
    kinds = {answer.kind for answer in play(name, raw, 0)}
    assert kinds == {"improved", "not_improved"}
