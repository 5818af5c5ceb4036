"""One piece of work on all processors: numpy and pyarrow leave the interpreter's lock."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import pyarrow as pa

# More of them gain little more time, and each has a piece of its own in memory.
_MOST = 8

Piece = TypeVar("Piece")
Result = TypeVar("Result")


def spread(
    work: Callable[[Piece], Result], pieces: Sequence[Piece], *, alone: int = 1
) -> list[Result]:
    """Work on the pieces in threads, results in their order; up to `alone` of them are worked on
    here.
    """
    if len(pieces) <= alone or thread_count() == 1:
        return [work(piece) for piece in pieces]
    with ThreadPoolExecutor(thread_count()) as threads:
        return list(threads.map(work, pieces))


def thread_count() -> int:
    """Return how many there are: the processors that this process may use, up to a limit."""
    return min(int(pa.cpu_count()), _MOST)
