"""The hash table that row ids are found by."""

import numpy as np
import pytest

from scoring.predictions import lookup
from scoring.predictions.lookup import Lookup

RANDOM = np.random.default_rng(0)


@pytest.mark.parametrize("words", [1, 2, 5])
@pytest.mark.parametrize("rows", [1, 2, 3, 1000])
def test_every_key_is_found_in_any_order(rows: int, words: int) -> None:
    keys = RANDOM.integers(0, 2**63, (words, rows)).astype(np.uint64)
    order = RANDOM.permutation(rows)
    found = Lookup(keys).rows(keys[:, order])
    assert found.tolist() == order.tolist()


@pytest.mark.parametrize("step", [1, 2**11, 2**32, 2**52])
def test_regular_keys_are_found(step: int) -> None:
    keys = np.arange(2000, dtype=np.uint64)[np.newaxis] * np.uint64(step)
    found = Lookup(keys).rows(keys[:, ::-1])
    assert found.tolist() == list(range(2000))[::-1]


def test_unknown_keys_are_told_wherever_they_belong() -> None:
    keys = np.arange(1500, dtype=np.uint64)[np.newaxis]
    found = Lookup(keys[:, :500]).rows(keys)
    assert found.tolist() == [*range(500), *[-1] * 1000]


def test_keys_of_one_hash_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lookup, "_hashes", lambda keys: np.full(len(keys[0]), 2**40 + 9, np.uint64))
    keys = np.arange(20, dtype=np.uint64)[np.newaxis]
    found = Lookup(keys[:, :10]).rows(keys)
    assert found.tolist() == [*range(10), *[-1] * 10]
