"""Entries of the public log and receipts: their strict form, and what they commit to."""

import json
from typing import Any

import pytest

from scoring.chain import canonical
from scoring.transparency import leaves
from scoring.transparency.notes import Key
from scoring.transparency.receipts import Receipt
from scoring.verification.differences import Differs

AT = "2026-11-22T20:23:37+00:00"
HASH = "ab" * 32
ACCEPTED: dict[str, Any] = {
    "team": "t1",
    "submission": 3,
    "round": 1,
    "file": HASH,
    "practice": False,
}
KEY = Key("example.org/c", bytes([3] * 32))
RECEIPT = Receipt("example.org/c", "t1", 3, HASH, bytes([9] * 32), AT, 60)


def test_an_entry_comes_back_as_it_was_written() -> None:
    entry = leaves.leaf("accepted", AT, **ACCEPTED)
    assert leaves.parse(entry) == {"kind": "accepted", "at": AT, **ACCEPTED}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("team", "a name"),
        ("submission", -1),
        ("submission", True),
        ("submission", 1.0),
        ("file", HASH.upper()),
        ("practice", 0),
        ("at", "2026-11-22T20:23:37"),
        ("at", "2026-11-22T21:23:37+01:00"),
        ("kind", "approved"),
        ("kind", ["accepted"]),
        ("person", "alice"),
    ],
)
def test_an_entry_with_an_impossible_field_is_named(name: str, value: object) -> None:
    document = {"kind": "accepted", "at": AT, **ACCEPTED, name: value}
    with pytest.raises(Differs, match=r"Log entry 7, ") as differs:
        leaves.parse(canonical(document), 7)
    assert differs.value.difference.field == ("fields" if name == "person" else name)


def test_an_entry_without_a_field_is_refused() -> None:
    with pytest.raises(Differs, match="practice"):
        leaves.leaf("accepted", AT, **{**ACCEPTED} | {"practice": None})
    del (fields := dict(ACCEPTED))["round"]
    with pytest.raises(Differs, match="round"):
        leaves.leaf("accepted", AT, **fields)


@pytest.mark.parametrize(
    "entry",
    [
        json.dumps({"kind": "rules", "at": AT, "sha256": HASH}).encode(),  # spaces
        b'{"at":1,"at":2}',
        b"[]",
        b"\xff",
        b"[" * 100_000,
        b'{"kind":NaN}',
        b" " * 70_000,
    ],
)
def test_another_form_of_an_entry_is_refused(entry: bytes) -> None:
    with pytest.raises(Differs, match="entry"):
        leaves.parse(entry)


def test_an_entry_that_no_bundle_could_hold_is_not_made() -> None:
    limits = {f"limit_{number}": number for number in range(4_000)}
    with pytest.raises(Differs, match="65535"):
        leaves.leaf("limits", AT, round=1, limits=limits)


def test_a_commitment_tells_nothing_without_its_salt() -> None:
    one, other = (leaves.commit(bytes([salt] * 32), "a name") for salt in (1, 2))
    assert one != other
    assert one == leaves.commit(bytes([1] * 32), "a name")
    with pytest.raises(ValueError, match="salt"):
        leaves.commit(b"", "a name")


def test_a_receipt_comes_back_as_it_was_signed() -> None:
    assert Receipt.open(str(RECEIPT.sign(KEY)), KEY.verifier) == RECEIPT


def test_no_bit_of_a_receipt_can_be_changed() -> None:
    whole = str(RECEIPT.sign(KEY)).encode()
    for at in range(8 * len(whole)):
        changed = bytearray(whole)
        changed[at // 8] ^= 1 << at % 8
        with pytest.raises((Differs, UnicodeDecodeError)):
            Receipt.open(changed.decode(), KEY.verifier)


def test_a_receipt_of_another_key_is_refused() -> None:
    with pytest.raises(Differs, match="did not sign"):
        Receipt.open(str(RECEIPT.sign(Key("example.org/d", bytes(32)))), KEY.verifier)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "holdfast receipt 2\n" * 8,
        RECEIPT.text + "more\n",
        RECEIPT.text.replace("\n3\n", "\n03\n"),
    ],
)
def test_another_form_of_a_receipt_is_refused(text: str) -> None:
    with pytest.raises(Differs, match="receipt"):
        Receipt.parse(text)


def test_a_receipt_holds_an_entry_to_its_file_and_moment() -> None:
    entry = {**ACCEPTED, "at": AT, "file": RECEIPT.file}
    RECEIPT.check_entry(entry, 5)
    for name, value in (("file", HASH), ("at", "2026-11-22T20:23:38+00:00")):
        with pytest.raises(Differs, match=f"Log entry 5, {name}: .*submission 3"):
            RECEIPT.check_entry({**entry, name: value}, 5)
