"""The texts of Parquet pages that are written as differences, by their lengths.

A text may be written as how much it shares with the one before and the rest, and how many lengths
there are stands inside the page: so a page may expand to far more than its size. See
https://parquet.apache.org/docs/file-format/data-pages/encodings/.
"""

import numpy as np
from numpy.typing import NDArray

from scoring.predictions.parquet.thrift import Damaged, Reader

_MINIBLOCK = 32  # values, or a multiple
_LARGEST_BLOCK = 1 << 16
_BITS = 32  # of a length


def check_lengths(page: memoryview, values: int) -> int:
    """Raise Damaged if a page of texts begins with more lengths than values; it shares nothing."""
    _sum(Reader(page), values)
    return 0


def shared_size(page: memoryview, values: int) -> int:
    """Return how many bytes the texts of a page share with those before them. Raise Damaged."""
    reader = Reader(page)
    shared = _sum(reader, values)
    _sum(reader, values)
    return shared


def _sum(reader: Reader, most: int) -> int:
    """Return the sum of a run of lengths (DELTA_BINARY_PACKED), with the arithmetic of 32 bits."""
    block, miniblocks, count = reader.varint(), reader.varint(), reader.varint()
    last = np.uint32(reader.number(2 * _BITS) % 2**_BITS)
    if not 0 < block <= _LARGEST_BLOCK or not miniblocks or block % (miniblocks * _MINIBLOCK):
        raise Damaged("blocks of an impossible size")
    if count > most:
        raise Damaged("more lengths than values")
    total = _checked(np.array([last])[:count])
    for left in range(count - 1, 0, -block):
        lengths = last + np.cumsum(_steps(reader, block, miniblocks, left), dtype=np.uint32)
        total += _checked(lengths)
        last = lengths[-1]
    return total


def _steps(reader: Reader, block: int, miniblocks: int, left: int) -> NDArray[np.uint32]:
    """Return the differences in a block, of which `left` count at most."""
    steps = np.full(block, reader.number(2 * _BITS) % 2**_BITS, np.uint32)
    widths, size = reader.take(miniblocks), block // miniblocks
    for width, start in zip(widths, range(0, min(block, left), size), strict=False):
        if width > _BITS:
            raise Damaged("a length has too many bits")
        packed = np.frombuffer(reader.take(size * width // 8), np.uint8)
        bits = np.unpackbits(packed, bitorder="little").reshape(size, width)
        steps[start : start + size] += bits @ (np.uint32(1) << np.arange(width, dtype=np.uint32))
    return steps[:left]


def _checked(lengths: NDArray[np.uint32]) -> int:
    if np.any(lengths >> np.uint32(_BITS - 1)):
        raise Damaged("a negative length")
    return int(lengths.sum(dtype=np.int64))
