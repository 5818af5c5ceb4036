"""Any bytes at all give predictions or a PredictionError that can be shown.

`corpus/` keeps the files that once went wrong or that look as if they might; every run tries them.
"""

import gzip
import json
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scoring.errors import PROBLEMS_KEPT, PredictionError, SolutionError
from scoring.predictions import (
    REJECTIONS,
    Column,
    Limits,
    RowIds,
    Schema,
    Solution,
    fast,
    preview,
    propose,
    read_predictions,
    read_row_ids,
    read_solution,
)
from tests.scoring.files import GOOD, IDS, PRICE, ROW_IDS, SCHEMA, Edits, edited
from tests.scoring.packed import PACKED, in_parquet

CORPUS = sorted((Path(__file__).parent / "corpus").iterdir())
LIMITS = Limits(max_bytes=5_000, max_expanded_bytes=20_000, max_rows=100, max_columns=10)
SOLUTION = GOOD.replace("price\n", "price,Usage\n").replace(".5\n", ".5,Public\n", 5)
SOLUTION = SOLUTION.replace(".5\n", ".5,Private\n")


def check(data: bytes, schema: Schema = SCHEMA) -> None:
    """Reads a file as each thing that it could be, and looks at what is said of it."""
    try:
        predictions = read_predictions(data, schema, ROW_IDS, LIMITS)
    except PredictionError as error:
        check_error(error)
    else:
        for column in schema.columns:
            check_values(column, predictions.columns[column.name])
    for read in (
        lambda: read_row_ids(data, schema, LIMITS),
        lambda: preview(data, schema, limits=LIMITS),
        lambda: propose(data, LIMITS),
        lambda: read_solution(data, schema, ROW_IDS, LIMITS),
    ):
        try:
            read()
        except SolutionError as error:
            check_error(error)


def check_values(column: Column, values: Any) -> None:
    """Whatever was read keeps the promises of its column."""
    assert len(values) == len(IDS)
    if column.is_list:
        assert values.lengths.max(initial=0) <= (column.most or len(column.classes))
        assert values.ascending(len(column.classes)) is not None
        values = values.codes
    if column.classes:
        assert values.dtype == np.int32
        assert {*values.tolist()} <= {*range(len(column.classes))}
    else:
        assert np.isfinite(values).all()
        assert column.kind == "number" or ((values >= 0) & (values <= 1)).all()


def check_error(error: PredictionError | SolutionError) -> None:
    assert 1 <= len(error.problems) <= PROBLEMS_KEPT
    assert error.total >= len(error.problems)
    for problem in error.problems:
        assert problem.code in REJECTIONS
        assert problem.message.isprintable()
        assert len(problem.message) < 1_000
        json.dumps(problem.to_json(), ensure_ascii=False).encode()


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.name)
def test_the_corpus(path: Path) -> None:
    check(path.read_bytes())


def test_the_corpus_is_there() -> None:
    assert len(CORPUS) >= 20


@given(st.binary(max_size=300))
@example(b"\x1f\x8b")
@example(b'"')
def test_any_bytes(data: bytes) -> None:
    check(data)


@given(st.binary(max_size=200))
def test_any_bytes_after_a_good_header(data: bytes) -> None:
    check(b"id,label,p,price\n" + data)


@given(st.binary(max_size=100), st.integers(0, 100))
def test_any_bytes_in_gzip(data: bytes, cut: int) -> None:
    packed = gzip.compress(GOOD.encode() + data)
    check(packed)
    check(packed[: len(packed) - cut])
    check(packed[:cut] + data + packed[cut:])


GOOD_COLUMNS = {
    name: [row.split(",")[i] for row in GOOD.split()[1:]] for i, name in enumerate(SCHEMA.header)
}
PACKED_GOOD = [pack(GOOD.encode()) for pack in PACKED.values()]
DELTA = {"id": "DELTA_BYTE_ARRAY", "label": "DELTA_LENGTH_BYTE_ARRAY"}
PARQUET = [
    in_parquet(GOOD_COLUMNS, row_group_size=10, compression=compression, **options)
    for compression in ("none", "zstd")
    for options in ({}, {"use_dictionary": False, "column_encoding": DELTA})
]


@given(
    st.sampled_from(PACKED_GOOD + PARQUET),
    st.lists(
        st.tuples(st.integers(0, 3_000), st.integers(0, 4), st.binary(max_size=4)), max_size=4
    ),
)
def test_mutated_archives(data: bytes, edits: Edits) -> None:
    for place, deleted, added in edits:
        data = edited(data, [(place % len(data), deleted, added)])
    check(data)


@given(st.sampled_from(list(PACKED)), st.binary(max_size=200))
def test_any_bytes_in_archives(name: str, data: bytes) -> None:
    check(PACKED[name](data))


@given(st.sampled_from([b"PAR1", b"\x28\xb5\x2f\xfd", b"PK\x03\x04"]), st.binary(max_size=200))
def test_any_bytes_after_a_magic(magic: bytes, data: bytes) -> None:
    check(magic + data + (magic if magic == b"PAR1" else b""))


LIST_SCHEMA = Schema(
    "id",
    (
        Column("label", "labels", tuple("0123456789"), ";"),
        Column("p", "ranking", tuple("0123456789."), most=3),
        PRICE,
    ),
)


LISTS = "id,label,p,price,Usage\n" + "".join(
    f"{name},{';'.join('0123456789'[: int(name) % 4])},{name[0]} . {name[1]},{name}.5,Private\n"
    if name[0] != name[1]
    else f"{name},7;2,{name[0]},{name}.5,Public\n"
    for name in IDS
)
LIST_PREDICTIONS = "\n".join(row.rpartition(",")[0] for row in LISTS.splitlines())
LIST_EDIT = st.tuples(
    st.integers(0, len(LISTS)),
    st.integers(0, 30),
    st.binary(max_size=3) | st.sampled_from([b" ", b";", b",", b"3", b";7;", b'"', b"\n", b". ."]),
)


def test_the_files_of_lists_are_good() -> None:
    read_predictions(LIST_PREDICTIONS.encode(), LIST_SCHEMA, ROW_IDS, LIMITS)
    read_solution(LISTS.encode(), LIST_SCHEMA, ROW_IDS, LIMITS)


@given(st.sampled_from([LIST_PREDICTIONS, LISTS]), st.lists(LIST_EDIT, min_size=1, max_size=6))
def test_mutated_files_of_lists(text: str, edits: Edits) -> None:
    check(edited(text.encode(), edits), LIST_SCHEMA)


@given(st.lists(LIST_EDIT, max_size=3), st.sampled_from([60, 1 << 19]))
def test_lists_are_read_alike_by_both_readers(edits: Edits, stretch: int) -> None:
    data = edited(LIST_PREDICTIONS.encode(), edits)
    with patch.object(fast, "_STRETCH", stretch):
        quick = said_of(data)
    with patch.object(fast, "read_aligned", return_value=None):
        assert said_of(data) == quick


def said_of(data: bytes) -> str:
    try:
        return read_predictions(data, LIST_SCHEMA, ROW_IDS, LIMITS).digest
    except PredictionError as error:
        check_error(error)
        return repr(error.problems)


@given(st.binary(max_size=200))
def test_any_bytes_after_a_good_header_of_lists(data: bytes) -> None:
    check(b"id,label,p,price\n" + data, LIST_SCHEMA)


@given(st.sampled_from(list(PACKED)), st.lists(LIST_EDIT, max_size=3))
def test_mutated_lists_in_archives(name: str, edits: Edits) -> None:
    check(PACKED[name](edited(LIST_PREDICTIONS.encode(), edits)), LIST_SCHEMA)


LIST_PARQUET = in_parquet(
    {
        "id": list(map(int, IDS)),
        "label": [["1", "2"], []] * (len(IDS) // 2),
        "p": [["3", "."], ["1"]] * (len(IDS) // 2),
        "price": [0.5] * len(IDS),
    }
)


@given(
    st.lists(
        st.tuples(st.integers(0, len(LIST_PARQUET)), st.integers(0, 4), st.binary(max_size=4)),
        max_size=4,
    )
)
def test_mutated_parquet_files_of_lists(edits: Edits) -> None:
    check(edited(LIST_PARQUET, edits), LIST_SCHEMA)


@given(st.text(max_size=100), st.integers(0, len(GOOD)))
def test_any_text_within_a_good_file(text: str, place: int) -> None:
    check((GOOD[:place] + text + GOOD[place:]).encode("utf-8", "replace"))


EDIT = st.tuples(
    st.integers(0, len(SOLUTION)),
    st.integers(0, 30),
    st.binary(max_size=3) | st.sampled_from([b",", b"\n", b'"', b"\r", b"nan", b"1e999", b"\0"]),
)


@given(st.sampled_from([GOOD, SOLUTION]), st.lists(EDIT, min_size=1, max_size=6))
def test_mutated_files(text: str, edits: Edits) -> None:
    check(edited(text.encode(), edits))


STORED: dict[type[Solution] | type[RowIds], bytes] = {
    Solution: read_solution(SOLUTION.encode(), SCHEMA, ROW_IDS).to_bytes(),
    RowIds: ROW_IDS.to_bytes(),
}


@pytest.mark.parametrize("kind", STORED)
@given(data=st.data())
def test_what_is_stored_is_read_back_strictly(
    kind: type[Solution] | type[RowIds], data: st.DataObject
) -> None:
    place = st.integers(0, len(STORED[kind]))
    written = data.draw(st.lists(st.tuples(place, st.binary(max_size=4)), max_size=5))
    try:
        kind.from_bytes(edited(STORED[kind], [(at, len(new), new) for at, new in written]))
    except SolutionError as error:
        check_error(error)
