"""A Parquet file as the CSV text of the same table, so that one reader judges all files.

Its rows are counted as that text has them: the header is line 1, the first row line 2.
"""

import csv
import io
from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv
from pyarrow import parquet

from scoring.errors import Problem
from scoring.predictions.limits import Limits
from scoring.predictions.problems import Problems, quoted, shortened

MAGIC = b"PAR1"

_BATCH_ROWS = 1 << 16
_SIZE_LIMIT = 1 << 24  # of texts and lists in the file's own description
_UNREADABLE = (pa.ArrowException, OSError, ValueError, KeyError, IndexError, MemoryError, TypeError)


def as_csv(data: bytes, separators: Mapping[str, str], limits: Limits, problems: Problems) -> bytes:
    """The text. `separators` has what to put between the items of each column of lists."""
    try:
        file = _opened(data, limits, problems)
        out = io.BytesIO()
        names = file.schema_arrow.names
        out.write(_header(names))
        for batch in file.iter_batches(_BATCH_ROWS, use_threads=False):
            columns = [
                _texts(column, separators.get(name, " "), name, problems)
                for name, column in zip(names, batch.columns, strict=True)
            ]
            _check(sum(map(_characters, columns)) + out.tell(), data, limits, problems)
            out.write(_written(columns))
            _check(out.tell(), data, limits, problems)
    except _UNREADABLE:
        problems.fail(
            Problem(
                "parquet_damaged",
                "The Parquet file is cut off or damaged.",
                expected="a Parquet or CSV file",
            )
        )
    return out.getvalue()


def _opened(data: bytes, limits: Limits, problems: Problems) -> parquet.ParquetFile:
    """The file, if its description is within the limits; texts are to be read as dictionaries.

    So a text that stands in a million rows isn't there a million times.
    """
    described = _file(data, [])
    facts, names = described.metadata, described.schema_arrow.names
    if len(names) > limits.max_columns:
        problems.fail(_too_many("columns", len(names), limits.max_columns))
    if facts.num_rows > limits.max_rows:
        problems.fail(_too_many("rows", facts.num_rows, limits.max_rows))
    sizes = (facts.row_group(group).total_byte_size for group in range(facts.num_row_groups))
    _check(sum(sizes), data, limits, problems)
    texts = [each.name for each in described.schema_arrow if _is_text(each.type)]
    return _file(data, texts)


def _file(data: bytes, texts: list[str]) -> parquet.ParquetFile:
    return parquet.ParquetFile(
        pa.BufferReader(data),
        read_dictionary=texts,
        thrift_string_size_limit=_SIZE_LIMIT,
        thrift_container_size_limit=_SIZE_LIMIT,
    )


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _too_many(what: str, found: int, most: int) -> Problem:
    return Problem(
        f"too_many_{what}",
        f"The Parquet file has {found} {what}; {most} are the limit.",
        value=str(found),
        expected=f"at most {most} {what}",
    )


def _check(size: int, data: bytes, limits: Limits, problems: Problems) -> None:
    if (problem := limits.broken_by(size, len(data))) is not None:
        problems.fail(problem)


def _texts(cells: pa.Array, separator: str, name: str, problems: Problems) -> pa.Array:
    """The cells as texts, or as numbers that are written as such; texts may be a dictionary."""
    kind = cells.type
    if pa.types.is_dictionary(kind):
        words = _texts(cells.dictionary, separator, name, problems)
        return pa.DictionaryArray.from_arrays(cells.indices, words)
    if pa.types.is_boolean(kind):
        return pc.if_else(cells, "True", "False")
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        words = _texts(cells.flatten(), separator, name, problems)
        offsets = pc.subtract(cells.offsets, cells.offsets[0])
        whole = pa.ListArray.from_arrays(offsets.cast(pa.int32()), words.cast(pa.string()))
        return pc.binary_join(whole, separator)
    if pa.types.is_float16(kind):
        return cells.cast(pa.float32())
    if _is_text(kind) or pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return cells
    if pa.types.is_null(kind) or pa.types.is_decimal(kind) or pa.types.is_binary(kind):
        return cells.cast(pa.string())
    return problems.fail(
        Problem(
            "parquet_type",
            f"The column {quoted(name)} has the Parquet type {quoted(str(kind))}; give texts, "
            "numbers or lists of them.",
            column=shortened(name),
            value=shortened(str(kind)),
            expected="texts, numbers or lists of them",
        )
    )


def _characters(cells: pa.Array) -> int:
    """How many characters the texts of a dictionary will have in all."""
    if not pa.types.is_dictionary(cells.type):
        return 0
    lengths = pc.binary_length(cells.dictionary.cast(pa.large_string()))
    return pc.sum(lengths.take(cells.indices)).as_py() or 0


def _header(names: list[str]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(names)
    return text.getvalue().encode()


def _written(columns: list[pa.Array]) -> bytes:
    whole = [
        each.dictionary_decode() if pa.types.is_dictionary(each.type) else each for each in columns
    ]
    table = pa.table(dict(zip(map(str, range(len(whole))), whole, strict=True)))
    try:
        return _csv(table, "none")
    except pa.ArrowInvalid:  # a comma or a quote is in a text
        return _csv(table, "needed")


def _csv(table: pa.Table, quoting: str) -> bytes:
    out = io.BytesIO()
    options = arrow_csv.WriteOptions(include_header=False, quoting_style=quoting)
    arrow_csv.write_csv(table, out, options)
    return out.getvalue()
