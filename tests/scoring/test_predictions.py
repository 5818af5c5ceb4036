"""Good prediction files, in all the ways in which a file can be good."""

import gzip
import io
import random
from collections.abc import Callable
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.errors import PredictionError
from scoring.predictions import Column, Limits, RowIds, Schema, fast, read_predictions
from tests.scoring.files import GOOD, HEADER, IDS, ROW_IDS, SCHEMA, read, rows_of, with_line


def shuffled_rows() -> str:
    rows = rows_of()
    random.Random(1).shuffle(rows)
    return "\n".join([HEADER, *rows])


def other_column_order() -> str:
    cells = [line.split(",") for line in GOOD.splitlines()]
    return "\n".join(",".join(row[i] for i in (3, 1, 0, 2)) for row in cells)


def quoted_as_r_does() -> str:
    cells = [line.split(",") for line in GOOD.splitlines()]
    return "\n".join(",".join(f'"{cell}"' for cell in row) for row in cells)


def scientific() -> str:
    rows = [f"{each},{int(each) % 10},{each}e-2,+{each}50E-2" for each in IDS]
    return "\n".join([HEADER, *rows])


SAME = {
    "rows in another order": shuffled_rows(),
    "columns in another order": other_column_order(),
    "quotes everywhere": quoted_as_r_does(),
    "Windows line ends": GOOD.replace("\n", "\r\n"),
    "old Mac line ends": GOOD.replace("\n", "\r"),
    "a byte order mark": "\ufeff" + GOOD,
    "no line end at the end": GOOD.rstrip("\n"),
    "blank lines": "\n\n" + GOOD.replace("\n", "\n\n") + "\r\n\n",
    "scientific notation": scientific(),
    "zeros and signs before ids": GOOD.replace("\n1", "\n001").replace("\n2", "\n +2"),
    "spaces around numbers": GOOD.replace(",0.", ", 0.").replace(".5\n", ".5\t \n"),
}


@pytest.mark.parametrize("text", SAME.values(), ids=SAME.keys())
def test_the_same_predictions_have_the_same_digest(text: str) -> None:
    assert read(text).digest == read(GOOD).digest


def test_the_digest_is_what_it_was_in_earlier_versions() -> None:
    digest = "0086346c044028e06fc174a4d0c31233d40a9709c044f5124c38fa9f0cbc3d62"
    assert read(GOOD).digest == digest


def test_columns_come_in_the_order_of_the_sample() -> None:
    predictions = read(shuffled_rows())
    assert predictions.rows == len(IDS)
    assert predictions.columns["label"].tolist() == [int(each) % 10 for each in IDS]
    assert predictions.columns["p"].tolist() == [float(f"0.{each}") for each in IDS]
    assert predictions.columns["price"].tolist() == [float(f"{each}.5") for each in IDS]


def test_labels_are_codes_into_the_classes() -> None:
    schema = Schema("id", (Column("animal", "label", ("dog", "cat")),))
    predictions = read("id,animal\na,cat\nb,dog\n", schema, RowIds(["a", "b"]))
    assert predictions.columns["animal"].tolist() == [1, 0]
    assert predictions.columns["animal"].dtype == np.int32


def test_arrays_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="read-only"):
        read(GOOD).columns["p"][0] = 1.0


def test_another_value_has_another_digest() -> None:
    assert read(with_line(2, "10,0,0.10,10.500001")).digest != read(GOOD).digest


def test_the_digest_depends_on_schema_and_row_ids() -> None:
    first = Schema("id", (Column("p", "probability"),))
    second = Schema("id", (Column("p", "number"),))
    digests = {
        read("id,p\na,0.5\n", first, RowIds(["a"])).digest,
        read("id,p\na,0.5\n", second, RowIds(["a"])).digest,
        read("id,p\nb,0.5\n", first, RowIds(["b"])).digest,
    }
    assert len(digests) == 3


def test_negative_zero_is_zero() -> None:
    schema, row_ids = Schema("id", (Column("x", "number"),)), RowIds(["a"])
    digests = {read(f"id,x\na,{zero}\n", schema, row_ids).digest for zero in ("0", "-0.0", "0e9")}
    assert len(digests) == 1


@pytest.mark.parametrize("tiny", ["1e-400", "-1e-9999", "0." + "0" * 400 + "1"])
def test_numbers_too_small_for_floats_are_zero(tiny: str) -> None:
    predictions = read(with_line(2, f"10,0,0.5,{tiny}"))
    assert predictions.columns["price"][0] == 0


def test_text_ids_may_hold_anything() -> None:
    ids = ["é, ü", 'say "hi"', "two\nlines", " spaced ", "0x1f", "日本"]
    schema = Schema("id", (Column("x", "number"),))
    cells = [each.replace('"', '""') for each in ids]
    text = "id,x\r\n" + "".join(f'"{each}",{i}\r\n' for i, each in enumerate(cells))
    assert read(text, schema, RowIds(ids)).columns["x"].tolist() == [0, 1, 2, 3, 4, 5]


def test_gzip_is_read_by_content() -> None:
    members = gzip.compress(GOOD[:50].encode()) + gzip.compress(GOOD[50:].encode())
    assert read(gzip.compress(GOOD.encode())).digest == read(GOOD).digest
    assert read(members + bytes(100)).digest == read(GOOD).digest


class Trickle(io.RawIOBase):
    """A raw file that gives a few bytes at a time."""

    def __init__(self, data: bytes) -> None:
        self._data = io.BytesIO(data)

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        return self._data.read(min(7, size) if size >= 0 else 7)


@pytest.mark.parametrize("wrap", [io.BytesIO, Trickle, bytearray, memoryview])
def test_sources_may_be_bytes_or_files(wrap: Callable[[bytes], io.BytesIO]) -> None:
    source = wrap(GOOD.encode())
    assert read_predictions(source, SCHEMA, ROW_IDS).digest == read(GOOD).digest


def without_the_fast_path(text: bytes) -> str | PredictionError:
    with patch.object(fast, "read_aligned", return_value=None):
        return outcome(text)


def outcome(text: bytes) -> str | PredictionError:
    try:
        return read_predictions(text, SCHEMA, ROW_IDS, Limits(max_bytes=10_000)).digest
    except PredictionError as error:
        return error


@pytest.mark.parametrize("text", SAME.values(), ids=SAME.keys())
def test_a_file_is_read_alike_in_many_stretches(text: str) -> None:
    with patch.object(fast, "_STRETCH", 30):
        assert read(text).digest == read(GOOD).digest


@pytest.mark.parametrize("stretch", [30, fast._STRETCH])
def test_a_mark_at_the_start_of_a_stretch_is_part_of_its_id(stretch: int) -> None:
    with patch.object(fast, "_STRETCH", stretch):
        for line in (2, 4, 20):
            found = outcome(with_line(line, f"\ufeff{GOOD.splitlines()[line - 1]}").encode())
            assert isinstance(found, PredictionError)
            assert found.problems[0].code == "unknown_id"


@pytest.mark.parametrize("text", SAME.values(), ids=SAME.keys())
def test_both_readers_read_the_same(text: str) -> None:
    assert without_the_fast_path(text.encode()) == read(GOOD).digest


CHARACTERS = tuple("\",\n\r \t\v+-.e_01'\\;")
TEXTS = ('""', "\r\n", "10", "\ufeff", "\u2028", "é", "nan", "inf", "1e400", "0x1", "\x1c", "\x85")
UNUSUAL = st.sampled_from(CHARACTERS + TEXTS)


@pytest.mark.parametrize("stretch", [60, fast._STRETCH])
@given(st.lists(st.tuples(st.integers(0, len(GOOD)), st.integers(0, 3), UNUSUAL), max_size=4))
def test_what_the_fast_reader_takes_the_exact_one_reads_alike(
    stretch: int, edits: list[tuple[int, int, str]]
) -> None:
    text = GOOD
    for place, deleted, added in edits:
        text = text[:place] + added + text[place + deleted :]
    with patch.object(fast, "_STRETCH", stretch):
        quick = outcome(text.encode())
    exact = without_the_fast_path(text.encode())
    if isinstance(quick, PredictionError):
        assert isinstance(exact, PredictionError)
        assert quick.problems == exact.problems
    else:
        assert quick == exact


@given(
    st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=20),
    st.sampled_from(["{!r}", "{:.17g}", "{:+.17e}", "{:.16E}", '"{!r}"', " {!r} "]),
    st.randoms(use_true_random=False),
)
def test_every_float_survives_every_notation(
    values: list[float], notation: str, order: random.Random
) -> None:
    schema = Schema("id", (Column("x", "number"),))
    rows = [f"r{i},{notation.format(value)}" for i, value in enumerate(values)]
    order.shuffle(rows)
    row_ids = RowIds([f"r{i}" for i in range(len(values))])
    predictions = read("\n".join(["id,x", *rows]), schema, row_ids)
    assert predictions.columns["x"].tolist() == values


def test_quotes_are_judged_alike_wherever_the_parts_of_a_text_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    texts = ['"a","b"\n"c"', '"a""b"\n', 'a"b\n', '"a"b\n', '"', 'a,"b\nc"']
    whole = [fast._quotes_are_plain(text.encode()) for text in texts]
    for size in (1, 2, 3, 5):
        monkeypatch.setattr(fast, "_PART", size)
        assert [fast._quotes_are_plain(text.encode()) for text in texts] == whole
    assert whole == [True, False, False, False, True, True]
