"""What everybody gets alike is found once in BOARD_SECONDS."""

from itertools import count
from typing import Any

from leaderboard.platform.lately import lately


def test_what_was_found_is_kept_for_so_long(settings: Any) -> None:
    numbers = count()
    settings.BOARD_SECONDS = 3600
    assert [lately("kept", lambda: next(numbers)) for _ in range(3)] == [0, 0, 0]
    assert lately("another", lambda: next(numbers)) == 1


def test_without_seconds_nothing_is_kept(settings: Any) -> None:
    numbers = count()
    settings.BOARD_SECONDS = 0
    assert [lately("new", lambda: next(numbers)) for _ in range(3)] == [0, 1, 2]
