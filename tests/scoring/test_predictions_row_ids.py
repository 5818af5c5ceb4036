"""Row ids: alignment, compact form, digest."""

import re

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from scoring.errors import SolutionError
from scoring.predictions import RowIds

IDS = st.one_of(
    st.lists(st.integers(-50, 50).map(str), min_size=1, max_size=40, unique=True),
    st.lists(st.integers(-(10**17), 10**17).map(str), min_size=1, max_size=10, unique=True),
    st.lists(st.text(max_size=6), min_size=1, max_size=30, unique=True),
    st.lists(st.sampled_from(["7", "07", "007", "+7", " 7", "7.0", "8", "-0", "0"]), unique=True),
).filter(bool)


def column(texts: list[str], at: int = 0) -> pa.ChunkedArray:
    return pa.chunked_array([texts[:at], texts[at:]], pa.string())


def permutation(row_ids: RowIds, ids: pa.ChunkedArray) -> NDArray[np.intp] | None:
    """Of each id its row, if each of ours is there exactly once."""
    rows = row_ids.positions(ids)
    return rows if sorted(rows.tolist()) == list(range(len(row_ids))) else None


@given(IDS, st.randoms(use_true_random=False))
def test_a_permutation_brings_ids_in_order(ids: list[str], order: object) -> None:
    shuffled = list(ids)
    order.shuffle(shuffled)  # type: ignore[attr-defined]  # hypothesis gives a random.Random
    rows = permutation(RowIds(ids), column(shuffled, len(ids) // 2))
    assert rows is not None
    assert [ids[row] for row in rows] == shuffled


@given(IDS, IDS)
def test_other_ids_are_no_permutation(ids: list[str], others: list[str]) -> None:
    rows = permutation(RowIds(ids), column(others))
    assert (rows is not None) == (sorted(ids) == sorted(read_as(others, like=ids)))


def read_as(texts: list[str], like: list[str]) -> list[str]:
    """The texts as they are read where such ids are expected."""
    if not all(re.fullmatch("0|-?[1-9][0-9]{0,17}", text) for text in like):
        return texts
    is_integer = re.compile("[ \t]*[+-]?[0-9]+[ \t]*").fullmatch
    return [str(int(text)) if is_integer(text) else text for text in texts]


@pytest.mark.parametrize("first", [0, 1, -20, 10**17])
def test_ids_that_count_up_are_found_and_their_neighbours_unknown(first: int) -> None:
    ids = range(first, first + 40)
    asked = [first - 1, *ids[::-1], first + 40]
    rows = RowIds(map(str, ids)).positions(pa.chunked_array([asked], pa.int64()))
    assert rows.tolist() == [-1, *range(39, -1, -1), -1]


@given(st.lists(st.integers(-(10**18) + 1, 10**18 - 1), min_size=1, max_size=20, unique=True))
def test_integers_are_found_as_numbers_too(ids: list[int]) -> None:
    row_ids = RowIds(map(str, ids))
    rows = permutation(row_ids, pa.chunked_array([ids[::-1]], pa.int64()))
    assert rows is not None
    assert [ids[row] for row in rows] == ids[::-1]
    assert permutation(row_ids, pa.chunked_array([[*ids[:-1], 10**18]], pa.int64())) is None
    assert row_ids.places(pa.chunked_array([ids], pa.int64()), 0) == slice(0, len(ids))


@given(IDS, st.data())
def test_a_doubled_id_is_no_permutation(ids: list[str], data: st.DataObject) -> None:
    first = data.draw(st.integers(0, len(ids) - 1))
    second = data.draw(st.integers(0, len(ids) - 1))
    changed = list(ids)
    changed[first] = ids[second]
    assert (permutation(RowIds(ids), column(changed)) is None) == (first != second)


def test_texts_that_are_integers_mostly_are_texts() -> None:
    assert permutation(RowIds(["7", "x"]), column(["07", "x"])) is None
    assert permutation(RowIds(["7", "8"]), column(["8", "007"])) is not None


@pytest.mark.parametrize("length", [1, 8, 9, 64, 65])
def test_texts_of_any_length_are_found(length: int) -> None:
    ids = [f"{number:a<{length}}"[-length:] for number in "bcdefghij"]
    rows = permutation(RowIds(ids), column(ids[::-1], 4))
    assert rows is not None
    assert rows.tolist() == list(range(len(ids)))[::-1]
    assert permutation(RowIds(ids), column([*ids[1:], ids[0] + "a"])) is None


@given(IDS, st.data())
def test_ids_in_our_order_are_a_run_of_rows(ids: list[str], data: st.DataObject) -> None:
    first = data.draw(st.integers(0, len(ids) - 1))
    some = ids[first : data.draw(st.integers(first + 1, len(ids)))]
    row_ids = RowIds(ids)
    assert row_ids.places(column(some, 1), first) == slice(first, first + len(some))
    rows = row_ids.places(column(some[::-1], 1), first)
    if len(some) > 1:
        assert isinstance(rows, np.ndarray)
        assert [ids[row] for row in rows] == some[::-1]


@given(IDS, st.integers(0, 100))
def test_ids_are_found_where_the_guess_of_their_row_is_wrong(ids: list[str], guess: int) -> None:
    places = RowIds(ids).places(column(ids), guess)
    assert np.arange(len(ids))[places].tolist() == list(range(len(ids)))
    assert RowIds(ids).places(column([*ids, "no such id"]), guess) is None


@given(IDS)
def test_bytes_give_the_same_ids_back(ids: list[str]) -> None:
    row_ids = RowIds(ids)
    again = RowIds.from_bytes(row_ids.to_bytes())
    assert [again[row] for row in range(len(again))] == ids
    assert again == row_ids
    assert hash(again) == hash(row_ids)
    assert again.digest == row_ids.digest


@given(IDS, IDS)
def test_digests_differ_where_ids_or_their_order_do(ids: list[str], others: list[str]) -> None:
    assert (RowIds(ids).digest == RowIds(others).digest) == (ids == others)


def test_a_slice_of_an_array_is_no_different_from_a_list() -> None:
    ids = pa.array(["a", "bb", "ccc", "dd"])[1:3]
    assert RowIds(ids).digest == RowIds(["bb", "ccc"]).digest
    assert RowIds.from_bytes(RowIds(ids).to_bytes())[1] == "ccc"


def test_boundaries_between_ids_count() -> None:
    assert RowIds(["ab", "c"]).digest != RowIds(["a", "bc"]).digest


@pytest.mark.parametrize("ids", [[], ["a", "a"]])
def test_ids_are_different_and_at_least_one(ids: list[str]) -> None:
    with pytest.raises(ValueError, match="different texts"):
        RowIds(ids)


@pytest.mark.parametrize("data", [b"", b"PK", b"PK\x05\x06" + bytes(18)])
def test_other_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(SolutionError) as caught:
        RowIds.from_bytes(data)
    assert caught.value.problems[0].code == "row_ids_damaged"


def test_positions_are_minus_one_for_unknown_ids() -> None:
    found = RowIds(["a", "b"]).positions(pa.array(["b", "x", "a"]))
    assert found.tolist() == [1, -1, 0]
    assert found.dtype == np.int32


def test_a_text_longer_than_all_ids_is_unknown() -> None:
    found = RowIds(["a", ""]).positions(pa.array(["a" * 9, "", "a", "b" * 2000]))
    assert found.tolist() == [-1, 1, 0, -1]


def test_a_representation_says_how_many() -> None:
    assert repr(RowIds(["a", "b"])).startswith("<RowIds: 2 rows, ")
