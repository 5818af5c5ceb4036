"""The hash table that row ids are found by."""

import numpy as np
import pytest

from scoring.predictions.lookup import Lookup

RANDOM = np.random.default_rng(0)


@pytest.mark.parametrize("words", [1, 2, 5])
@pytest.mark.parametrize("rows", [1, 2, 3, 1000])
def test_every_key_is_found_in_any_order(rows: int, words: int) -> None:
    keys = RANDOM.integers(0, 2**63, (rows, words)).astype(np.uint64)
    order = RANDOM.permutation(rows)
    found = Lookup(keys).rows(keys[order])
    assert found is not None
    assert found.tolist() == order.tolist()


@pytest.mark.parametrize("step", [1, 2**11, 2**32, 2**52])
def test_regular_keys_are_found(step: int) -> None:
    keys = np.arange(2000, dtype=np.uint64)[:, np.newaxis] * np.uint64(step)
    found = Lookup(keys).rows(keys[::-1])
    assert found is not None
    assert found.tolist() == list(range(2000))[::-1]


def test_an_unknown_key_is_none_wherever_it_belongs() -> None:
    keys = np.arange(500, dtype=np.uint64)[:, np.newaxis]
    lookup = Lookup(keys)
    for unknown in range(500, 1500):
        changed = keys.copy()
        changed[250] = unknown
        assert lookup.rows(changed) is None
