"""Gzip, zstd, zip and Parquet: told by content, read like the CSV text of the same table."""

import decimal
import zipfile

import numpy as np
import pyarrow as pa
import pytest

from scoring.errors import PredictionError
from scoring.predictions import (
    Column,
    Limits,
    RowIds,
    Schema,
    preview,
    propose,
    read_predictions,
    read_row_ids,
    read_solution,
)
from tests.scoring.files import GOOD, IDS, ROW_IDS, SCHEMA, problem, read, rejection, with_line
from tests.scoring.packed import PACKED, in_parquet, in_zip, zstd, zstd_stream

CELLS = [line.split(",") for line in GOOD.splitlines()[1:]]
NUMBERS = {
    "id": pa.array([int(row[0]) for row in CELLS]),
    "label": pa.array([int(row[1]) for row in CELLS], pa.int8()),
    "p": pa.array([float(row[2]) for row in CELLS]),
    "price": pa.array([float(row[3]) for row in CELLS], pa.float32()),
}
TEXTS = {name: pa.array([row[i] for row in CELLS]) for i, name in enumerate(SCHEMA.header)}
TABLES = {
    "numbers": NUMBERS,
    "texts": TEXTS,
    "categories": TEXTS | {"label": TEXTS["label"].dictionary_encode()},
    "large texts": {name: texts.cast(pa.large_string()) for name, texts in TEXTS.items()},
    "bytes": {name: texts.cast(pa.binary()) for name, texts in TEXTS.items()},
    "decimals": NUMBERS | {"price": pa.array([decimal.Decimal(row[3]) for row in CELLS])},
    "half floats": NUMBERS | {"price": pa.array(np.array([r[3] for r in CELLS], np.float16))},
    "another order of columns": dict(reversed(NUMBERS.items())),
}


@pytest.mark.parametrize("pack", PACKED.values(), ids=PACKED.keys())
def test_archives_are_read_by_content(pack: object) -> None:
    assert callable(pack)
    assert read(pack(GOOD.encode())).digest == read(GOOD).digest
    assert read(pack("\ufeff".encode() + GOOD.encode())).digest == read(GOOD).digest


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES.keys())
def test_a_parquet_file_is_read_like_its_text(table: dict[str, pa.Array]) -> None:
    assert read(in_parquet(table)).digest == read(GOOD).digest


@pytest.mark.parametrize("compression", ["none", "snappy", "gzip", "zstd", "brotli", "lz4"])
def test_parquet_may_be_compressed_and_have_row_groups(compression: str) -> None:
    packed = in_parquet(NUMBERS, compression=compression, row_group_size=7)
    assert read(packed).digest == read(GOOD).digest
    assert read(in_zip({"a.parquet": packed})).digest == read(GOOD).digest


def test_every_reader_takes_parquet() -> None:
    packed = in_parquet(NUMBERS)
    assert read_row_ids(packed, SCHEMA) == ROW_IDS
    assert propose(packed).schema.header == SCHEMA.header
    assert preview(packed, SCHEMA, 1).rows == (("10", "0", "0.1", "10.5"),)
    usage = pa.array(["Private"] * len(IDS))
    assert read_solution(in_parquet(NUMBERS | {"Usage": usage}), SCHEMA, ROW_IDS).counts().private


def test_floats_survive_parquet() -> None:
    values = np.random.default_rng(0).standard_normal(100) * 10.0 ** np.arange(-50, 50)
    schema, ids = Schema("id", (Column("x", "number"),)), [f"r{i}" for i in range(100)]
    packed = in_parquet({"id": ids, "x": values})
    assert read(packed, schema, RowIds(ids)).columns["x"].tolist() == values.tolist()


def test_texts_with_commas_and_quotes_survive_parquet() -> None:
    ids = ["a,b", 'say "hi"', "two\nlines", "é"]
    schema = Schema("id", (Column("x", "number"),))
    packed = in_parquet({"id": ids, "x": [1, 2, 3, 4]})
    assert read(packed, schema, RowIds(ids)).columns["x"].tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize("items", [[["b", "a"], ["a"]], [[1], [2]]])
def test_lists_in_parquet_are_lists_of_labels(items: list[list[object]]) -> None:
    schema = Schema("id", (Column("top", "ranking", ("a", "b", "1", "2"), ";", 2),))
    found = read(in_parquet({"id": ["x", "y"], "top": items}), schema, RowIds(["x", "y"]))
    assert found.columns["top"].codes.tolist() in ([1, 0, 0], [2, 3])


def test_rows_of_parquet_are_counted_as_lines() -> None:
    prices = NUMBERS["price"].to_pylist()
    prices[3] = None
    found = problem(in_parquet(NUMBERS | {"price": pa.array(prices)}))
    assert (found.code, found.line, found.column) == ("empty_cell", 5, "price")
    prices[3] = float("nan")
    assert problem(in_parquet(NUMBERS | {"price": pa.array(prices)})).code == "missing_value"


def test_lines_are_counted_in_archives() -> None:
    text = with_line(5, "13,3,0.13,much").encode()
    for pack in PACKED.values():
        assert (problem(pack(text)).code, problem(pack(text)).line) == ("not_a_number", 5)


XLSX = in_zip({"[Content_Types].xml": b"", "xl/workbook.xml": b""})
PARQUET = in_parquet(NUMBERS)
WRONG = {
    "xlsx": (
        XLSX,
        "binary_file",
        "This is an Excel workbook (.xlsx), not a CSV file. Save the table as CSV (UTF-8).",
    ),
    "ods": (
        in_zip({"mimetype": b""}),
        "binary_file",
        "This is an OpenDocument file, not a CSV file. Save the table as CSV (UTF-8).",
    ),
    "npz": (
        in_zip({"a.npy": b""}),
        "binary_file",
        "This is a NumPy archive (.npz), not a CSV file. Save the table as CSV (UTF-8).",
    ),
    "two files": (
        in_zip({"a.csv": b"", "b.csv": b""}),
        "zip_not_one_file",
        "The zip archive has 2 files: 'a.csv', 'b.csv'. Put one CSV file into it.",
    ),
    "no file": (
        in_zip({}),
        "zip_not_one_file",
        "The zip archive has 0 files. Put one CSV file into it.",
    ),
    "bzip2 in a zip": (
        in_zip({"a.csv": b"id"}, zipfile.ZIP_BZIP2),
        "zip_damaged",
        "The zip archive is compressed in an unusual way.",
    ),
    "a zip that isn't one": (
        b"PK\x03\x04\x14\0a.csv",
        "zip_damaged",
        "The zip archive is cut off or damaged.",
    ),
    "a cut zstd file": (
        zstd(GOOD.encode())[:-3],
        "zstd_damaged",
        "The zstd file is cut off or damaged.",
    ),
    "a cut zstd stream": (
        zstd_stream(GOOD.encode())[:-3],
        "zstd_damaged",
        "The zstd file is cut off or damaged.",
    ),
    "gzip in a zip": (
        in_zip({"a.gz": b"\x1f\x8b\x08"}),
        "binary_file",
        (
            "This is a gzip file inside another archive, not a CSV file. "
            "Save the table as CSV (UTF-8)."
        ),
    ),
    "a cut Parquet file": (
        PARQUET[:-20],
        "parquet_damaged",
        "The Parquet file is cut off or damaged.",
    ),
    "a date": (
        in_parquet(NUMBERS | {"p": pa.array([0] * len(IDS), pa.date32())}),
        "parquet_type",
        "The column 'p' has the Parquet type 'date32[day]'; give texts, numbers or lists of them.",
    ),
    "many columns": (
        in_parquet({f"c{i}": [1] for i in range(2001)}),
        "too_many_columns",
        "The Parquet file has 2001 columns; 2000 are the limit.",
    ),
}


@pytest.mark.parametrize("case", WRONG.values(), ids=WRONG.keys())
def test_what_is_wrong_with_an_archive_is_named(case: tuple[bytes, str, str]) -> None:
    data, code, message = case
    found = problem(data)
    assert (found.code, found.message) == (code, message)


def test_a_password_is_named() -> None:
    data = bytearray(in_zip({"a.csv": GOOD.encode()}))
    data[data.rindex(b"PK\x01\x02") + 8] |= 1
    assert problem(bytes(data)).message == "The zip archive has a password."


def test_an_index_column_of_pandas_is_explained() -> None:
    index = {"__index_level_0__": pa.array([int(each) for each in IDS])}
    assert {each.code for each in rejection(in_parquet(NUMBERS | index)).problems} == {
        "extra_column"
    }


BOMB = bytes(2**24)
BOMBS = {name: pack(BOMB) for name, pack in PACKED.items() if name != "zip, stored"}


@pytest.mark.parametrize("bomb", BOMBS.values(), ids=BOMBS.keys())
def test_bombs_are_not_expanded(bomb: bytes) -> None:
    assert problem(bomb).code == "expands_too_much"
    with pytest.raises(PredictionError) as caught:
        read_predictions(bomb, SCHEMA, ROW_IDS, Limits(max_expanded_bytes=10**6))
    assert caught.value.problems[0].message == (
        "The file expands to more than 1 MB, which is the limit."
    )


@pytest.mark.parametrize("dictionary", [True, False])
def test_a_parquet_bomb_is_not_expanded(dictionary: bool) -> None:
    long = pa.array(["a" * 5_000]).take(pa.array([0] * 1_000))
    bomb = in_parquet({"id": long}, compression="zstd", use_dictionary=dictionary)
    assert len(bomb) < 2**20
    assert problem(bomb).code in {"expands_too_much", "too_many_bytes"}


def test_a_parquet_file_has_rows_within_the_limit() -> None:
    with pytest.raises(PredictionError) as caught:
        read_predictions(PARQUET, SCHEMA, ROW_IDS, Limits(max_rows=19))
    assert caught.value.problems[0].code == "too_many_rows"
