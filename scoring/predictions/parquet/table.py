"""A Parquet file as the CSV text of the same table, so that one reader judges all files.

Its rows are counted as that text has them: the header is line 1, the first row line 2.
"""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv
from pyarrow import parquet

from scoring.errors import Problem
from scoring.predictions.limits import Limits
from scoring.predictions.parquet import pages
from scoring.predictions.problems import Problems, quoted, shortened

MAGIC = b"PAR1"
ENCRYPTED = b"PARE"

_SIZE_LIMIT = 1 << 24  # of texts and lists in the file's own description
_ELEMENTS = 4  # of the schema, for a column; a list has three
_TEXT = (
    pa.types.is_string,
    pa.types.is_large_string,
    pa.types.is_string_view,
    pa.types.is_binary,
    pa.types.is_large_binary,
    pa.types.is_binary_view,
)
_READ = (
    *_TEXT,
    pa.types.is_boolean,
    pa.types.is_integer,
    pa.types.is_floating,
    pa.types.is_decimal,
    pa.types.is_null,
)
_UNREADABLE = (pa.ArrowException, OSError, ValueError, KeyError, IndexError, MemoryError, TypeError)


def as_csv(data: bytes, separators: Mapping[str, str], limits: Limits, problems: Problems) -> bytes:
    """The text. `separators` has what to put between the items of each column of lists."""
    try:
        return _as_csv(data, separators, limits, problems)
    except _UNREADABLE:
        problems.fail(_damaged("The Parquet file is cut off or damaged."))


def _as_csv(
    data: bytes, separators: Mapping[str, str], limits: Limits, problems: Problems
) -> bytes:
    def check(size: int) -> None:
        if (problem := limits.broken_by(size, len(data))) is not None:
            problems.fail(problem)

    file, plan = _opened(data, limits, check, problems)
    names = file.schema_arrow.names
    out = io.BytesIO()
    out.write(_header(names))
    for batch in _batches(file, plan.batch_rows):
        check(sum(map(_characters, batch.columns)) + out.tell())
        columns = [
            _texts(cells, separators.get(name, " "))
            for name, cells in zip(names, batch.columns, strict=True)
        ]
        out.write(_written(columns))
        check(out.tell())
    return out.getvalue()


def _opened(
    data: bytes, limits: Limits, check: pages.Check, problems: Problems
) -> tuple[parquet.ParquetFile, pages.Plan]:
    """The file, if it is within the limits, and how to read it."""
    footer = pages.Footer.of(data, _SIZE_LIMIT, check)
    if footer.is_encrypted:
        problems.fail(_damaged("The Parquet file is encrypted."))
    if footer.elements > _ELEMENTS * limits.max_columns:
        problems.fail(_too_many("columns", footer.elements - 1, limits.max_columns))
    described = _file(data)
    facts = described.metadata
    if facts.num_columns > limits.max_columns:
        problems.fail(_too_many("columns", facts.num_columns, limits.max_columns))
    for column in described.schema_arrow:
        _check_type(column, problems)
    plan = pages.plan(data, footer, facts.schema, check)
    if footer.rows > limits.max_rows:
        problems.fail(_too_many("rows", footer.rows, limits.max_rows))
    return _file(data, plan.dictionaries, facts), plan


def _batches(file: parquet.ParquetFile, rows: int) -> Iterator[pa.RecordBatch]:
    """Each within a row group: pyarrow can't join dictionaries within lists."""
    for group in range(file.num_row_groups):
        yield from file.iter_batches(rows, row_groups=[group], use_threads=False)


def _file(
    data: bytes, texts: Sequence[str] = (), facts: parquet.FileMetaData | None = None
) -> parquet.ParquetFile:
    return parquet.ParquetFile(
        pa.BufferReader(data),
        metadata=facts,
        read_dictionary=list(texts),
        thrift_string_size_limit=_SIZE_LIMIT,
        thrift_container_size_limit=_SIZE_LIMIT,
    )


def _damaged(message: str) -> Problem:
    return Problem("parquet_damaged", message, expected="a Parquet or CSV file")


def _too_many(what: str, found: int, most: int) -> Problem:
    return Problem(
        f"too_many_{what}",
        f"The Parquet file has {found} {what}; {most} are the limit.",
        value=str(found),
        expected=f"at most {most} {what}",
    )


def _check_type(column: pa.Field, problems: Problems) -> None:
    kind = column.type.value_type if _is_list(column.type) else column.type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if not any(is_read(kind) for is_read in _READ):
        found = str(column.type)
        problems.fail(
            Problem(
                "parquet_type",
                f"The column {quoted(column.name)} has the Parquet type {quoted(found)}; give "
                "texts, numbers or lists of them.",
                column=shortened(column.name),
                value=shortened(found),
                expected="texts, numbers or lists of them",
            )
        )


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind))


def _is_view(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string_view(kind) or pa.types.is_binary_view(kind))


def _is_text(kind: pa.DataType) -> bool:
    return any(is_text(kind) for is_text in _TEXT)


def _characters(cells: pa.Array) -> int:
    """How many bytes the texts will have in all."""
    if _is_list(cells.type):
        return _characters(cells.flatten())
    if _is_view(cells.type):
        return _characters(cells.cast(pa.string()))
    counts: Any = 1
    if pa.types.is_dictionary(cells.type):
        used, counts = cells.indices.value_counts().flatten()
        cells = cells.dictionary.take(used)
    if not _is_text(cells.type):
        return 0
    return pc.sum(pc.multiply(pc.binary_length(cells), counts)).as_py() or 0


def _texts(cells: pa.Array, separator: str) -> pa.Array:
    """The cells as texts, or as numbers that are written as such."""
    kind = cells.type
    if pa.types.is_dictionary(kind):
        return _texts(cells.dictionary_decode(), separator)
    if _is_list(kind):
        words = _texts(cells.flatten(), separator).cast(pa.string())
        offsets = pc.subtract(cells.offsets, cells.offsets[0])
        return pc.binary_join(pa.ListArray.from_arrays(offsets.cast(pa.int32()), words), separator)
    if pa.types.is_boolean(kind):
        return pc.if_else(cells, "True", "False")
    if pa.types.is_float16(kind):
        return cells.cast(pa.float32())
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return cells
    return cells.cast(pa.string())


def _header(names: list[str]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(names)
    return text.getvalue().encode()


def _written(columns: list[pa.Array]) -> bytes:
    table = pa.table(dict(zip(map(str, range(len(columns))), columns, strict=True)))
    try:
        return _csv(table, "none")
    except pa.ArrowInvalid:  # a comma or a quote is in a text
        return _csv(table, "needed")


def _csv(table: pa.Table, quoting: str) -> bytes:
    out = io.BytesIO()
    options = arrow_csv.WriteOptions(include_header=False, quoting_style=quoting)
    arrow_csv.write_csv(table, out, options)
    return out.getvalue()
