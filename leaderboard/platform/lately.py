"""What everybody gets alike, found at most once in some seconds by each process."""

import time
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

from django.conf import settings

T = TypeVar("T")

_MOST = 1000
_kept: dict[Hashable, tuple[float, Any]] = {}


def lately(key: Hashable, find: Callable[[], T], seconds: float | None = None) -> T:
    """Return what was found for the key within so many seconds, BOARD_SECONDS, or find it now."""
    seconds, now = settings.BOARD_SECONDS if seconds is None else seconds, time.monotonic()
    found_at, found = _kept.get(key, (-seconds, None))
    if now - found_at < seconds:
        value: T = found
        return value
    if len(_kept) >= _MOST:
        _kept.clear()
    value = find()
    _kept[key] = (now, value)
    return value
