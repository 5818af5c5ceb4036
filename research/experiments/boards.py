"""The boards that an analyst can stand in front of.

Plain boards show the mean loss, exactly or rounded. The others are the mechanisms of
`scoring.mechanisms` themselves, with a state that lives as long as one run. Which numbers they get
is exact; only their noise is drawn quickly, from a seeded numpy generator.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import numpy as np

from research.experiments.results import Samples
from scoring.measurement import Mean, Measurement
from scoring.mechanisms import get
from scoring.mechanisms.base import Answer, State, TeamState
from scoring.noise import THRESHOLD

_BLOCK: Final = 256


@dataclass(frozen=True)
class PlainBoard:
    """Shows every mean, rounded to `decimals` (None: exactly)."""

    decimals: int | None = None

    @property
    def name(self) -> str:
        return "plain" if self.decimals is None else f"rounded to {self.decimals} decimals"

    def show(self, means: Samples) -> Samples:
        return means if self.decimals is None else np.round(means, self.decimals)


PLAIN_BOARDS: Final = (PlainBoard(), PlainBoard(5), PlainBoard(2))


class QuickNoise:
    """Discrete Laplace noise as a difference of two geometric draws, a block at a time.

    The same law as `scoring.noise` up to the rounding of one double, several times faster. A
    threshold stays for its firing index; every other draw is fresh. For experiments only.
    """

    def __init__(self, generator: np.random.Generator) -> None:
        self._generator = generator
        self._blocks: dict[Fraction, Iterator[int]] = {}
        self._thresholds: dict[tuple[Fraction, int], int] = {}

    def laplace(self, scale: Fraction, draw: str, index: int) -> int:
        if draw != THRESHOLD:
            return self._next(scale)
        key = (scale, index)
        if key not in self._thresholds:
            self._thresholds[key] = self._next(scale)
        return self._thresholds[key]

    def _next(self, scale: Fraction) -> int:
        block = self._blocks.get(scale)
        value = None if block is None else next(block, None)
        if value is None:
            self._blocks[scale] = block = iter(self._draw(scale))
            value = next(block)
        return value

    def _draw(self, scale: Fraction) -> list[int]:
        chance = -math.expm1(-1 / float(scale))
        pairs = self._generator.geometric(chance, (2, _BLOCK))
        return [int(value) for value in pairs[0] - pairs[1]]


class MechanismBoard:
    """One holdout behind a mechanism, and one team in front of it.

    `raw` are parameters as an organizer types them. Raises ParameterError for wrong ones.
    """

    def __init__(
        self, mechanism: str, raw: Mapping[str, object], generator: np.random.Generator
    ) -> None:
        self._mechanism = get(mechanism)
        self._params: Any = self._mechanism.parse(raw)
        self._noise = QuickNoise(generator)
        self.state = State(self._mechanism.initial_holdout(self._params), TeamState())

    def ask(self, holdout: Mean, reference: Mean | None = None) -> Answer:
        """Submit once."""
        self.state, answer = self._mechanism.step(
            self._params, self.state, Measurement(holdout, reference), self._noise
        )
        return answer


def breaks(answer: Answer, truth: float) -> bool:
    """Tell whether the certificate of an answer is wrong about the submission's true loss.

    "not_improved" and "fail" bound it from below, "pass" from above; "exhausted" says nothing.
    """
    if answer.certificate is None or answer.loss is None:
        return False
    excess = truth - float(answer.loss)
    match answer.kind:
        case "confirmed" | "corrected" | "improved":
            return abs(excess) > answer.certificate
        case "pass":
            return excess > answer.certificate
        case "not_improved":
            return -excess > answer.certificate
        case _:
            return False
