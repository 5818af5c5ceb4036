"""The guarantee beside a score: the interval that was stored when it was released."""

from typing import Protocol

from scoring.scales import Interval, Scale, reach, round_up

__all__ = ["certificate_interval", "reach", "round_up"]


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
