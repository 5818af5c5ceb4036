"""A Parquet file as the CSV text of the same table, so that one reader judges all files.

Its rows are counted as that text has them: the header is line 1, the first row line 2.
"""

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv
from pyarrow import parquet, types

from scoring.errors import Problem
from scoring.predictions.limits import MB, Limits
from scoring.predictions.parquet import pages
from scoring.predictions.problems import Problems, shortened

MAGIC = b"PAR1"
ENCRYPTED = b"PARE"

_SIZE_LIMIT = 16 * MB  # of texts and lists in the file's own description
_ELEMENTS = 4  # of the schema, for a column; a list has three
_TEXT = {"string", "large_string", "string_view", "binary", "large_binary", "binary_view"}
_OTHER = (types.is_boolean, types.is_integer, types.is_floating, types.is_decimal, types.is_null)
_UNREADABLE = (pa.ArrowException, OSError, ValueError, KeyError, IndexError, MemoryError, TypeError)


def as_csv(
    data: bytes, separators: Mapping[str, str] | None, limits: Limits, problems: Problems
) -> bytes:
    """Return the text.

    `separators` has what to put between the items of each column that may hold lists; None: any
    may, with spaces.
    """

    def check(size: int) -> None:
        limits.check_expanded(size, len(data), problems)

    out = io.BytesIO()
    try:
        file, plan = _opened(data, separators, limits, check, problems)
        names, separators = file.schema_arrow.names, separators or {}
        header = io.StringIO()
        csv.writer(header, lineterminator="\n").writerow(names)
        out.write(header.getvalue().encode())
        for batch in (
            batch
            for group in range(file.num_row_groups)  # pyarrow can't join dictionaries within lists
            for batch in file.iter_batches(plan.batch_rows, row_groups=[group], use_threads=False)
        ):
            check(sum(map(_characters, batch.columns)) + out.tell())
            columns = [
                _texts(cells, separators.get(name, " "))
                for name, cells in zip(names, batch.columns, strict=True)
            ]
            out.write(_written(columns))
            check(out.tell())
    except _UNREADABLE:
        problems.fail(Problem("parquet_damaged"))
    return out.getvalue()


def _opened(
    data: bytes,
    separators: Mapping[str, str] | None,
    limits: Limits,
    check: pages.Check,
    problems: Problems,
) -> tuple[parquet.ParquetFile, pages.Plan]:
    """Return the file, if it is within the limits, and how to read it."""
    footer = pages.Footer.of(data, _SIZE_LIMIT, check)
    if footer.is_encrypted:
        problems.fail(Problem("parquet_damaged", variant="encrypted"))
    if footer.elements > _ELEMENTS * limits.max_columns:
        problems.fail(_too_many("columns", footer.elements - 1, limits.max_columns))
    described = _file(data)
    facts = described.metadata
    if facts.num_columns > limits.max_columns:
        problems.fail(_too_many("columns", facts.num_columns, limits.max_columns))
    for column in described.schema_arrow:
        _check_type(column, separators, problems)
    plan = pages.plan(data, footer, facts.schema, check)
    if footer.rows > limits.max_rows:
        problems.fail(_too_many("rows", footer.rows, limits.max_rows))
    return _file(data, plan.dictionaries, facts), plan


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


def _too_many(what: str, found: int, most: int) -> Problem:
    return Problem(f"too_many_{what}", variant="parquet", value=str(found), limit=most)


def _check_type(column: pa.Field, separators: Mapping[str, str] | None, problems: Problems) -> None:
    kind, value = column.type, shortened(str(column.type))
    fields = {"column": shortened(column.name), "value": value}
    if _is_list(kind):
        if separators is not None and column.name not in separators:
            problems.fail(Problem("parquet_type", variant="list", kind="single", **fields))
        kind = kind.value_type
    kind = kind.value_type if types.is_dictionary(kind) else kind
    if str(kind) not in _TEXT and not any(is_read(kind) for is_read in _OTHER):
        problems.fail(Problem("parquet_type", **fields))


def _is_list(kind: pa.DataType) -> bool:
    return bool(types.is_list(kind) or types.is_large_list(kind))


def _characters(cells: pa.Array) -> int:
    """Return how many bytes the texts will have in all."""
    if _is_list(cells.type):
        return _characters(cells.flatten())
    if types.is_string_view(cells.type) or types.is_binary_view(cells.type):
        return _characters(cells.cast(pa.string()))
    counts: Any = 1
    if types.is_dictionary(cells.type):
        used, counts = cells.indices.value_counts().flatten()
        cells = cells.dictionary.take(used)
    if str(cells.type) not in _TEXT:
        return 0
    return pc.sum(pc.multiply(pc.binary_length(cells), counts)).as_py() or 0


def _texts(cells: pa.Array, separator: str) -> pa.Array:
    """Return the cells as texts, or as numbers that are written as such."""
    kind = cells.type
    if types.is_dictionary(kind):
        return _texts(cells.dictionary_decode(), separator)
    if _is_list(kind):
        words = _texts(cells.flatten(), separator).cast(pa.string())
        offsets = pc.subtract(cells.offsets, cells.offsets[0])
        return pc.binary_join(pa.ListArray.from_arrays(offsets.cast(pa.int32()), words), separator)
    if types.is_boolean(kind):
        return pc.if_else(cells, "True", "False")
    if types.is_float16(kind):
        return cells.cast(pa.float32())
    if types.is_integer(kind) or types.is_floating(kind):
        return cells
    return cells.cast(pa.string())


def _written(columns: list[pa.Array]) -> bytes:
    table = pa.table(dict(zip(map(str, range(len(columns))), columns, strict=True)))

    def written(quoting: str) -> bytes:
        out = io.BytesIO()
        options = arrow_csv.WriteOptions(include_header=False, quoting_style=quoting)
        arrow_csv.write_csv(table, out, options)
        return out.getvalue()

    try:
        return written("none")
    except pa.ArrowInvalid:  # a comma or a quote is in a text
        return written("needed")
