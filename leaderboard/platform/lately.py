"""What everybody gets alike, found at most once in BOARD_SECONDS by each process."""

import time
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

from django.conf import settings

T = TypeVar("T")

_MOST = 1000
_kept: dict[Hashable, tuple[float, Any]] = {}


def lately(key: Hashable, find: Callable[[], T]) -> T:
    """Return what was found for the key within BOARD_SECONDS, or find it now."""
    now = time.monotonic()
    found_at, found = _kept.get(key, (-settings.BOARD_SECONDS, None))
    if now - found_at < settings.BOARD_SECONDS:
        value: T = found
        return value
    if len(_kept) >= _MOST:
        _kept.clear()
    value = find()
    _kept[key] = (now, value)
    return value
