"""Predictions as participants have them: a file, a table of pandas or polars, an array or a list.

Tables and arrays become the bytes of a CSV file; files stay as they are. None of these libraries is
imported here: what is given brings its own.
"""

import csv
import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from io import BytesIO, StringIO
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO, Protocol, TypeAlias

from holdfast.errors import Failure

Predictions: TypeAlias = "str | PathLike[str] | Any"
Labels: TypeAlias = Predictions
FILE_NAME = "predictions.csv"


class Frame(Protocol):
    """What the rows of an array are: their ids, in order, and the names of its columns."""

    @property
    def header(self) -> Sequence[str]: ...

    @property
    def ids(self) -> Iterable[str]: ...


@dataclass(frozen=True)
class Upload:
    """A prediction file: on the disk, or in memory."""

    name: str
    source: Path | bytes

    @property
    def size(self) -> int:
        source = self.source
        return len(source) if isinstance(source, bytes) else source.stat().st_size

    @property
    def sha256(self) -> str:
        with self.open() as file:
            return hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]  # a BytesIO or a file

    def open(self) -> BinaryIO:
        """Return the content from its beginning."""
        return BytesIO(self.source) if isinstance(self.source, bytes) else self.source.open("rb")


def as_upload(predictions: Predictions, frame: Callable[[], Frame]) -> Upload:
    """Return what is to be sent; raise Failure where it is nothing that could be.

    frame: called only for arrays and columns without ids.
    """
    if isinstance(predictions, str | PathLike):
        path = Path(predictions)
        if not path.is_file():
            raise Failure(f"There is no file {path}.")
        upload = Upload(path.name, path)
    else:
        upload = Upload(FILE_NAME, _as_csv(predictions, frame))
    if not upload.size:
        raise Failure(f"{upload.name} is empty. Nothing was sent.")
    return upload


def _as_csv(values: Any, frame: Callable[[], Frame]) -> bytes:
    library, kind = type(values).__module__.partition(".")[0], type(values).__name__
    match library, kind:
        case "pandas", "DataFrame" | "Series" if values.index.name is not None:
            return str(values.to_csv()).encode()
        case "pandas", "DataFrame":
            return str(values.to_csv(index=False)).encode()
        case "polars", "DataFrame":
            return str(values.write_csv()).encode()
        case ("pandas" | "polars", "Series"):
            return _rows_as_csv(values.to_numpy(), frame())
        case "numpy", "ndarray":
            return _rows_as_csv(values, frame())
        case "builtins", "list":
            rows = [each if isinstance(each, list) else [each] for each in values]
            return _table_as_csv(rows, len(rows[0]) if rows else 0, frame())
        case "builtins", "bytes":
            return bytes(values)
    raise Failure(
        "Predictions are the path of a file or its bytes, a data frame of pandas or polars, an "
        f"array of NumPy or a list, not {kind}."
    )


def _rows_as_csv(array: Any, frame: Frame) -> bytes:
    """Write an array, a row for each id; a vector is one column."""
    table = array.reshape(len(array), -1) if array.ndim else array.reshape(1, 1)
    return _table_as_csv(table.tolist(), table.shape[1], frame)


def _table_as_csv(rows: Sequence[Sequence[Any]], columns: int, frame: Frame) -> bytes:
    names, ids = list(frame.header), list(frame.ids)
    width = len(names) - 1
    if (len(rows), columns) != (len(ids), width) or any(len(row) != columns for row in rows):
        raise Failure(
            f"The array has {len(rows):,} rows and {columns:,} columns; expected are "
            f"{len(ids):,} rows in the order of the sample submission, and {width:,} "
            f"({', '.join(names[1:])})."
        )
    out = StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([name, *row] for name, row in zip(ids, rows, strict=True))
    return out.getvalue().encode()
