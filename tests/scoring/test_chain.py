"""The public ledger's hash chain."""

import pytest

from scoring.chain import canonical, document_hash


def test_the_order_of_the_keys_does_not_matter() -> None:
    assert document_hash({"a": 1, "b": [None, "é"]}) == document_hash({"b": [None, "é"], "a": 1})


def test_every_change_changes_the_hash() -> None:
    entry = {"number": 1, "level": 5, "width": 0.25, "previous_hash": ""}
    hashes = {document_hash(entry | change) for change in (
        {}, {"number": 2}, {"level": None}, {"width": 0.2500000001}, {"previous_hash": "0"},
    )}  # fmt: skip
    assert len(hashes) == 5


def test_the_canonical_form_is_plain_json() -> None:
    assert canonical({"b": 0.1, "a": "é"}) == b'{"a":"\\u00e9","b":0.1}'


def test_what_is_not_finite_is_refused() -> None:
    with pytest.raises(ValueError, match="JSON"):
        document_hash({"width": float("nan")})
