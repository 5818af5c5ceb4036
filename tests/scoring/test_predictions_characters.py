"""Rows of texts by what their characters count."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.predictions.characters import LONGEST, Odometer
from scoring.predictions.lookup import TextLookup

FEW = st.text("01aé", min_size=1, max_size=4)


def texts(values: list[str]) -> pa.StringArray:
    return pa.array(values, pa.string())


def odometer(ids: list[str]) -> Odometer:
    found = Odometer.of(texts(ids))
    assert found is not None
    return found


@given(st.lists(FEW, min_size=1, unique=True), st.lists(FEW), st.integers(0, 3))
def test_texts_are_found_as_in_a_dictionary(ids: list[str], others: list[str], cut: int) -> None:
    expected = {each: row for row, each in enumerate(ids)}
    wanted = texts(["", *ids[::-1], *others])[min(cut, 1) :]
    for finder in (Odometer.of(texts(ids)), TextLookup(texts(ids))):
        if finder is not None:
            rows = finder.rows(wanted).tolist()
            assert rows == [expected.get(each, -1) for each in wanted.to_pylist()]


@pytest.mark.parametrize("pattern", ["{:06}", "row_{:08x}", "{:03}.jpg", "é{:04}"])
def test_ids_that_programs_write_are_counted(pattern: str) -> None:
    ids = [pattern.format(number) for number in range(700)]
    assert odometer(ids).rows(texts(ids[::-1])).tolist() == list(range(700))[::-1]


@pytest.mark.parametrize(
    "other", ["a09", "b00", "a0x", "a0\0", "x0x", "a5", "a055", "", "\u00e90", "a50"]
)
def test_texts_with_other_characters_are_unknown(other: str) -> None:
    ids = ["a00", "a01", "a10", "a41"]
    assert odometer(ids).rows(texts([other, "a10"])).tolist() == [-1, 2]


@pytest.mark.parametrize(
    "ids", [["a", "bb"], [""], ["x" * (LONGEST + 1)], [f"{7**n:023}" for n in range(20)]]
)
def test_other_texts_are_left_to_hashing(ids: list[str]) -> None:
    assert Odometer.of(texts(ids)) is None
