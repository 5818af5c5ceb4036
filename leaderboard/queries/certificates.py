"""The guarantee beside a score: the interval that was stored when it was released."""

import math
from typing import Protocol

from leaderboard.queries.scales import Interval, Scale


class Ends(Protocol):
    """Where the stored interval of a loss ends; null where nothing was promised."""

    @property
    def low(self) -> float | None: ...

    @property
    def high(self) -> float | None: ...


def certificate_interval(reads: Scale, entry: Ends | None) -> Interval | None:
    """Return the guaranteed interval of a released score; None without a guarantee."""
    if entry is None or entry.low is None or entry.high is None:
        return None
    return reads.interval(entry.low, entry.high)


def reach(certificate: Interval, value: float) -> str:
    """Return how far the guarantee reaches from the score."""
    return round_up(max(value - certificate.low, certificate.high - value))


def round_up(distance: float) -> str:
    """Return a distance with two digits, never too small."""
    if distance <= 0:
        return "0"
    decimals = 1 - math.floor(math.log10(distance))
    up = math.ceil(distance * 10**decimals - 1e-9) / 10**decimals
    return f"{up:.{max(0, decimals)}f}"
