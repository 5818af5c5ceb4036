"""Parquet: whatever libraries write is read; files that lie about their size are refused."""

import struct
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from itertools import pairwise, product, takewhile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet.encryption as pe
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.predictions import Column, RowIds, Schema
from scoring.predictions.parquet import delta
from scoring.predictions.parquet.thrift import Damaged, Reader
from tests.scoring.files import GOOD, IDS, problem, read
from tests.scoring.handmade import Page, compact, delta_zeros, numbers, varint
from tests.scoring.lies import LIES, of, said_of
from tests.scoring.packed import in_parquet

WRITTEN = sorted((Path(__file__).parent / "written").iterdir())
TABLE = {
    "id": [*IDS],
    "label": [each[1] for each in IDS],
    "p": [float(f"0.{each}") for each in IDS],
    "price": [float(f"{each}.5") for each in IDS],
}
COMPRESSIONS = ("none", "snappy", "gzip", "zstd", "brotli", "lz4")
ENCODINGS = {
    "texts by prefixes": {"id": "DELTA_BYTE_ARRAY", "label": "DELTA_LENGTH_BYTE_ARRAY"},
    "split bytes": {"p": "BYTE_STREAM_SPLIT", "price": "BYTE_STREAM_SPLIT"},
    "plain": {"id": "PLAIN", "label": "PLAIN"},
}
OPTIONS = {
    "no dictionaries": {"use_dictionary": False},
    "dictionaries that end": {"dictionary_pagesize_limit": 1, "write_batch_size": 1},
    "one row a page": {"data_page_size": 1, "write_batch_size": 1},
    "indexes and checksums": {"write_page_index": True, "write_page_checksum": True},
    "no statistics": {"write_statistics": False},
    "no schema of Arrow": {"store_schema": False},
    "bloom filters": {"bloom_filter_options": {"id": True}},
    "an old version": {"version": "1.0"},
    "a flavor of Spark": {"flavor": "spark"},
}
LISTS = Schema("id", (Column("top", "labels", ("ant", "bee", "cat")),))
LIST_TABLE = {"id": ["x", "y", "z"], "top": [["cat", "ant"], [], ["bee"]]}


@pytest.mark.parametrize("path", WRITTEN, ids=lambda path: path.stem)
def test_files_of_other_libraries_are_read(path: Path) -> None:
    assert read(path.read_bytes()).digest == read(GOOD).digest


@pytest.mark.parametrize(("compression", "version"), [*product(COMPRESSIONS, ("1.0", "2.0"))])
@pytest.mark.parametrize("encoding", ENCODINGS.values(), ids=ENCODINGS)
def test_every_encoding_is_read(encoding: dict[str, str], compression: str, version: str) -> None:
    options = {"column_encoding": encoding, "use_dictionary": False, "row_group_size": 7}
    file = in_parquet(TABLE, compression=compression, data_page_version=version, **options)
    assert read(file).digest == read(GOOD).digest


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_every_option_of_writing_is_read(options: dict[str, object]) -> None:
    for version in ("1.0", "2.0"):
        file = in_parquet(TABLE, data_page_version=version, **options)
        assert read(file).digest == read(GOOD).digest


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view(), pa.binary()])
@pytest.mark.parametrize("encoding", [None, "PLAIN", "DELTA_BYTE_ARRAY"])
def test_every_type_of_text_is_read(kind: pa.DataType, encoding: str | None) -> None:
    table = TABLE | {"id": pa.array(IDS, kind)}
    options = {"column_encoding": {"id": encoding}, "use_dictionary": False} if encoding else {}
    assert read(in_parquet(table, **options)).digest == read(GOOD).digest


@pytest.mark.parametrize("encoding", [None, "PLAIN", "DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY"])
@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_lists_are_read_over_several_row_groups(encoding: str | None, version: str) -> None:
    options = {"column_encoding": {"top.list.element": encoding}, "use_dictionary": False}
    file = in_parquet(
        LIST_TABLE, row_group_size=2, data_page_version=version, **(options if encoding else {})
    )
    found = read(file, LISTS, RowIds(["x", "y", "z"])).columns["top"]
    assert (found.offsets.tolist(), found.codes.tolist()) == ([0, 2, 2, 3], [0, 2, 1])


def test_lists_of_lists_are_named_as_what_they_are() -> None:
    found = problem(in_parquet({"id": ["x"], "top": [[["ant"]]]}), LISTS, RowIds(["x"]))
    assert (found.code, found.column) == ("parquet_type", "top")


@pytest.mark.parametrize("plaintext_footer", [True, False])
def test_an_encrypted_file_is_named_as_such(plaintext_footer: bool) -> None:
    found = problem(encrypted(plaintext_footer))
    assert found.code == ("parquet_damaged" if plaintext_footer else "binary_file")
    assert "encrypted" in found.message


def encrypted(plaintext_footer: bool) -> bytes:
    class Keys(pe.KmsClient):  # type: ignore[misc]  # pyarrow has no types
        def wrap_key(self, key_bytes: bytes, master_key_identifier: str) -> bytes:
            return key_bytes.hex().encode()

    factory = pe.CryptoFactory(lambda _: Keys())
    settings = pe.EncryptionConfiguration(
        footer_key="f", column_keys={"c": ["p"]}, plaintext_footer=plaintext_footer
    )
    properties = factory.file_encryption_properties(pe.KmsConnectionConfig(), settings)
    return in_parquet(TABLE, encryption_properties=properties)


@pytest.mark.parametrize("name", sorted({*LIES} - {"row groups without rows"}))
def test_a_lie_is_refused(name: str) -> None:
    assert said_of(LIES[name]()) in {
        "parquet_damaged",
        "expands_too_much",
        "too_many_bytes",
        "too_many_columns",
    }


def test_a_lie_takes_no_more_memory_than_its_limits_allow() -> None:
    command = [sys.executable, "-m", "tests.scoring.lies"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found = {line.split(maxsplit=2)[2]: float(line.split()[0]) for line in done.stdout.splitlines()}
    assert {*found} == {*LIES}
    assert max(found.values()) <= 1


def test_the_handmade_file_without_a_lie_is_good() -> None:
    assert said_of(of([Page(numbers(100), 100)])) == "read"
    assert said_of(LIES["row groups without rows"]()) == "read"


@given(st.binary(max_size=200))
def test_any_bytes_are_a_structure_or_damaged(data: bytes) -> None:
    reader = Reader(data)
    with suppress(Damaged):
        reader.struct()
    assert reader.at <= len(data)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x15",
        b"\x15\x80",
        b"\x15" + varint(2**32) + b"\0",
        b"\x16" + b"\xff" * 11,
        b"\x15\2\5\2\2\0",
        b"\x18\x05abcd\0",
        b"\x19\xf8\xff\xff\3\0",
        b"\x1b\0\0",
        b"\x1c" * 1000,
        b"\x19" * 1000,
        b"\xf5\0" * 5000,
    ],
)
def test_damaged_structures_are_named(data: bytes) -> None:
    with pytest.raises(Damaged):
        Reader(data).struct()


def test_a_structure_gives_numbers_structures_lists_and_lengths() -> None:
    fields = {1: -3, 2: b"four", 3: {1: 2**31 - 1, 15: True}, 4: [{1: 1}, {}], 5: False}
    reader = Reader(compact(fields) + b"more")
    expected = {1: -3, 2: 4, 3: {1: 2**31 - 1, 15: True}, 4: [{1: 1}, {}], 5: False}
    assert reader.struct() == expected
    assert reader.rest().tobytes() == b"more"


@given(st.lists(st.text("ab", max_size=300), min_size=1, max_size=300))
def test_what_texts_share_is_counted_as_it_is_written(words: list[str]) -> None:
    shared = sum(shared_by(*pair) for pair in pairwise(words))
    assert delta.shared_size(values_of(words), len(words)) == shared


def shared_by(one: str, other: str) -> int:
    """How many characters two texts begin with alike."""
    return len(list(takewhile(lambda pair: len({*pair}) == 1, zip(one, other, strict=False))))


def values_of(words: Sequence[str]) -> memoryview:
    """The one page of a column of texts that are written as prefixes, without its header."""
    table = pa.table(
        {"y": pa.array(words)}, pa.schema([pa.field("y", pa.string(), nullable=False)])
    )
    options = {"column_encoding": {"y": "DELTA_BYTE_ARRAY"}, "use_dictionary": False}
    file = in_parquet({"y": table["y"]}, **options)
    reader = Reader(file[4:])
    header = reader.struct()
    page = memoryview(pa.Codec("snappy").decompress(reader.take(header[3]), header[2]))
    (levels,) = struct.unpack("<I", page[:4])
    return page[4 + levels :]


@given(st.binary(max_size=200))
def test_any_bytes_are_lengths_or_damaged(data: bytes) -> None:
    for check in (delta.check_lengths, delta.shared_size):
        with suppress(Damaged):
            check(memoryview(data), 1000)


def test_a_list_is_no_label_and_no_number() -> None:
    for name, items in ("label", [["1"]] * 20), ("p", [[0.5]] * 20):
        found = problem(in_parquet({**TABLE, name: items}))
        assert (found.code, found.column) == ("parquet_type", name)
        assert found.expected == "one text or number for each row"


def test_more_lengths_than_values_are_damage() -> None:
    delta.check_lengths(memoryview(delta_zeros(1, 128)), 1)
    with pytest.raises(Damaged):
        delta.check_lengths(memoryview(delta_zeros(2, 128)), 1)


def test_a_number_of_a_page_may_not_be_another_type() -> None:
    header = {2: {1: 1}}
    assert said_of(of([Page(numbers(100), 100, says=header)])) == "parquet_damaged"
