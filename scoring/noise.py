"""Exact integer noise from a keyed stream.

The samplers are those of Canonne, Kamath and Steinke, "The Discrete Gaussian for Differential
Privacy" (2020), algorithms 1 and 2: they use integers and fair bits only, so that no rounding of
floating-point numbers can be read back from a released value (Mironov 2012; theory.md 5.12).

The bits come from HMAC-SHA256 of the holdout's secret and an unambiguous label, expanded by
SHAKE-256. What the label holds may never change (theory.md 5.2, 9.2): the threshold draw depends on
the holdout, the board and the board's firing index ALONE, because anything else in its key would
redraw the threshold for every question; the other draws depend on the team, the predictions and the
question too, so that asking again gives the same noise and nothing to average. Teams and boards are
named by permanent random ids, never by a database's keys, so that a ledger means the same wherever
it is.
"""

import hashlib
import hmac
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Final, Protocol

import numpy as np

THRESHOLD: Final = "threshold"
COMPARISON: Final = "comparison"
ANSWER: Final = "answer"
DRAWS: Final = (THRESHOLD, COMPARISON, ANSWER)

SECRET_BYTES: Final = 32
_LABEL: Final = "holdfast noise 1"
_TAG_LABEL: Final = "holdfast tag 1"
_BLOCK: Final = 136  # the rate of SHAKE-256: one permutation a block

Bytes = Callable[[int], bytes]  # a source of that many uniform, independent bytes


class Noise(Protocol):
    """Integer noise for one question about one set of predictions.

    `draw` is THRESHOLD, COMPARISON or ANSWER and `index` the firing index. The same arguments
    always give the same number. Scales must be positive.
    """

    def laplace(self, scale: Fraction, draw: str, index: int) -> int:
        """Draw a discrete Laplace: P(z) proportional to exp(-|z| / scale)."""
        ...


def sample_laplace(scale: Fraction, source: Bytes) -> int:
    """Sample an exact discrete Laplace, P(z) proportional to exp(-|z| / scale), scale > 0."""
    if scale <= 0:
        raise ValueError("noise of scale 0 would release the holdout itself")
    numerator, denominator = scale.numerator, scale.denominator
    while True:
        remainder = _uniform(numerator, source)
        if not bernoulli_exp(remainder, numerator, source):
            continue
        whole = 0
        while bernoulli_exp(1, 1, source):
            whole += 1
        magnitude = (remainder + numerator * whole) // denominator
        negative = _uniform(2, source) == 1
        if not (negative and magnitude == 0):  # zero would be counted twice
            return -magnitude if negative else magnitude


def _uniform(bound: int, source: Bytes) -> int:
    """Sample uniformly from 0 .. bound - 1, by rejection."""
    bits = (bound - 1).bit_length()
    size = (bits + 7) // 8
    while True:
        value = int.from_bytes(source(size)) >> (8 * size - bits)
        if value < bound:
            return value


def bernoulli_exp(numerator: int, denominator: int, source: Bytes) -> bool:
    """Return True with probability exp(-numerator / denominator), for an exponent in [0, 1].

    Plain integers, because the arithmetic of fractions would take most of a step's time.
    """
    trials = 1
    while True:
        bound = denominator * trials
        shared = math.gcd(numerator, bound)
        if _uniform(bound // shared, source) >= numerator // shared:
            return trials % 2 == 1
        trials += 1


class _Stream:
    """Uniform bytes expanded from a key."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._block = 0
        self._left = b""

    def __call__(self, size: int) -> bytes:
        while len(self._left) < size:
            counter = self._block.to_bytes(8)
            self._left += hashlib.shake_256(self._key + counter).digest(_BLOCK)
            self._block += 1
        taken, self._left = self._left[:size], self._left[size:]
        return taken


def _encode(*fields: str) -> bytes:
    """Write each field behind its length: no two lists of fields give the same bytes."""
    parts = [field.encode() for field in fields]
    return b"".join(len(part).to_bytes(8) + part for part in parts)


class KeyedNoise:
    """The noise of one holdout, from a secret that belongs to this version of its data alone.

    The secret may not depend on the labels. Raises ValueError if it is shorter than 32 bytes.
    """

    def __init__(self, secret: bytes, holdout: str) -> None:
        if len(secret) < SECRET_BYTES:
            raise ValueError(f"a noise secret has at least {SECRET_BYTES} bytes")
        self._secret = secret
        self._holdout = holdout

    def for_question(self, digest: str, question: str, *, team: str, board: str) -> Noise:
        """Return the noise for a team's question to a board about predictions with this digest."""
        return _QuestionNoise(self._secret, self._holdout, (board, team, digest, question))

    def tag(self, digest: str, *, team: str, board: str) -> str:
        """Return what the public ledger shows of the predictions a team asked a board about (hex).

        The digest itself would let rivals check a guess at the whole file. Once the secret is
        published, everyone can tell that the digest belongs to the tag.
        """
        label = _encode(_TAG_LABEL, self._holdout, board, team, digest)
        return hmac.digest(self._secret, label, "sha256").hex()


class _QuestionNoise:
    def __init__(self, secret: bytes, holdout: str, asked: tuple[str, ...]) -> None:
        self._secret = secret
        self._holdout = holdout
        self._asked = asked

    def laplace(self, scale: Fraction, draw: str, index: int) -> int:
        if draw not in DRAWS:
            raise ValueError(f"{draw!r} is not a draw")
        board = self._asked[:1]
        asked = board if draw == THRESHOLD else self._asked
        label = _encode(_LABEL, "laplace", self._holdout, draw, str(index), *asked)
        return sample_laplace(scale, _Stream(hmac.digest(self._secret, label, "sha256")))


class SteadyNoise:
    """Noise without chance, for what no noise changes, and for answers that are already known.

    `threshold` is what the noisy threshold gets; every other draw is 0.
    """

    def __init__(self, threshold: int = 0) -> None:
        self._threshold = threshold

    def laplace(self, scale: Fraction, draw: str, index: int) -> int:
        return self._threshold if draw == THRESHOLD else 0


class SeededNoise:
    """Reproducible noise for rehearsals and tests, never for a competition.

    Its generator is predictable. A threshold stays for its firing index; other draws are fresh.
    """

    def __init__(self, generator: np.random.Generator) -> None:
        self.source: Bytes = generator.bytes
        self._thresholds: dict[tuple[Fraction, int], int] = {}

    def laplace(self, scale: Fraction, draw: str, index: int) -> int:
        if draw != THRESHOLD:
            return sample_laplace(scale, self.source)
        key = (scale, index)
        if key not in self._thresholds:
            self._thresholds[key] = sample_laplace(scale, self.source)
        return self._thresholds[key]
