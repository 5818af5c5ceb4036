"""What is large, for a while: on the disk, in files without a name, which end with the process."""

import math
import os
import tempfile
from typing import IO, Any, Final

import numpy as np
from django.conf import settings
from numpy.typing import NDArray

IN_MEMORY: Final = 2**26  # bytes


def scratch_file() -> IO[bytes]:
    """Return an open file, which is gone once it is closed."""
    settings.VAR_DIR.mkdir(parents=True, exist_ok=True)
    return tempfile.TemporaryFile(dir=settings.VAR_DIR)


def scratch_array(shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
    """Return an array of zeros, in memory if it is small.

    Raises OSError where the disk is full: later that would kill the process.
    """
    size = math.prod(shape) * np.dtype(dtype).itemsize
    if size <= IN_MEMORY:
        return np.zeros(shape, dtype)
    with scratch_file() as file:
        os.posix_fallocate(file.fileno(), 0, size)
        return np.memmap(file, dtype, "r+", shape=shape)
