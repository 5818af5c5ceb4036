"""One piece of work on all processors: numpy and pyarrow leave the interpreter's lock."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import pyarrow as pa

Piece = TypeVar("Piece")
Result = TypeVar("Result")


def spread(
    work: Callable[[Piece], Result], pieces: Sequence[Piece], *, alone: int = 1
) -> list[Result]:
    """The results in the order of the pieces; up to `alone` of them are worked on here."""
    if len(pieces) <= alone:
        return [work(piece) for piece in pieces]
    with ThreadPoolExecutor(pa.cpu_count()) as threads:
        return list(threads.map(work, pieces))
