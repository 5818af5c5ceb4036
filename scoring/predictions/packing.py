"""Arrays as bytes: an uncompressed npz without pickles, read back strictly."""

import io
import zipfile
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scoring.predictions.archives import BAD_ZIP

Array = NDArray[Any]

_MAX_MEMBERS = 10_000


class Damaged(ValueError):
    """The bytes are not what `pack` wrote."""


def pack(arrays: Mapping[str, Array]) -> bytes:
    """Return the same bytes for the same arrays."""
    file = io.BytesIO()
    np.savez(file, allow_pickle=False, **dict(arrays))
    return file.getvalue()


def unpack(data: bytes) -> dict[str, Array]:
    """Return the arrays of `pack`, read-only, in no more memory than `data` has. Raise Damaged."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = archive.infolist()
            stored = all(member.compress_type == zipfile.ZIP_STORED for member in members)
            names = {member.filename for member in members}
            if not stored or len(names) < len(members) or len(members) > _MAX_MEMBERS:
                raise Damaged("compressed, doubled or too many members")
            if sum(member.file_size for member in members) > len(data):
                raise Damaged("members larger than the file")
            return {
                member.filename.removesuffix(".npy"): _array(archive.read(member))
                for member in members
            }
    except BAD_ZIP as error:
        raise Damaged("not an npz file that was written here") from error


def _array(data: bytes) -> Array:
    file = io.BytesIO(data)
    if np.lib.format.read_magic(file) != (1, 0):
        raise Damaged("another version of npy")
    shape, fortran, dtype = np.lib.format.read_array_header_1_0(file)
    if fortran or len(shape) != 1 or dtype.hasobject:
        raise Damaged("not a plain array of one dimension")
    return np.frombuffer(data, dtype=dtype, count=shape[0], offset=file.tell())
