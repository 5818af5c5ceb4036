"""A public log as a server keeps it, honest or not, behind the API's answers."""

import base64
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, Self

from holdfast.connection import Json
from scoring.chain import canonical
from scoring.transparency import leaves, merkle, notes
from scoring.transparency.notes import COSIGNATURE, Checkpoint, Key
from scoring.transparency.receipts import Receipt

ORIGIN = "holdfast/c0"
KEY = Key(ORIGIN, bytes([1] * 32))
RECEIPT_KEY = Key(f"{ORIGIN}/receipts", bytes([2] * 32))
WITNESS = Key("witness.example/w1", bytes([3] * 32), COSIGNATURE)
DELAY = 60


def salt(text: str) -> bytes:
    """A salt that is the same in every test."""
    return merkle.leaf_hash(text.encode())


@cache
def _signed(text: str, key: Key) -> str:
    return str(notes.sign(text, key))


@cache
def _parsed(entry: bytes) -> Json:
    return leaves.parse(entry)


@dataclass
class Logged:
    """A log that grows; `get` answers as the API does below `competitions/SLUG/log/`."""

    entries: list[bytes] = field(default_factory=list)
    openings: dict[int, Json] = field(default_factory=dict)
    key: Key = KEY
    cosigned: list[str] = field(default_factory=list)
    witnesses: list[str] = field(default_factory=list)

    def add(self, kind: str, at: str, **fields: Any) -> int:
        """Append an entry; return its index."""
        self.entries.append(leaves.leaf(kind, at, **fields))
        return len(self.entries) - 1

    def team(self, team: str, name: str, at: str) -> None:
        index = self.add("team", at, team=team, name=leaves.commit(salt(team), name))
        self.openings[index] = {"salt": salt(team).hex(), "name": name}

    def accept(self, team: str, number: int, sha256: str, at: str) -> str:
        """Append that a file was accepted; return its receipt."""
        receipt = Receipt(ORIGIN, team, number, sha256, salt(sha256), at, DELAY)
        fields = {"submission": number, "round": 1, "practice": False}
        self.add("accepted", at, team=team, file=receipt.file, **fields)
        return str(receipt.sign(RECEIPT_KEY))

    def copy(self) -> Self:
        return replace(self, entries=list(self.entries), cosigned=list(self.cosigned))

    def change(self, index: int, **fields: Any) -> None:
        """Rewrite an entry."""
        self.entries[index] = canonical(leaves.parse(self.entries[index]) | fields)

    @property
    def head(self) -> Checkpoint:
        node = merkle.nodes_of([merkle.leaf_hash(each) for each in self.entries])
        return Checkpoint(self.key.name, len(self.entries), merkle.root_at(len(self.entries), node))

    @property
    def note(self) -> str:
        return _signed(self.head.text, self.key)

    def get(self, path: str, **params: str | int) -> Json:
        """Answer a path below /api/v1/."""
        rest = path.partition("/log/")[2].strip("/")
        answers: dict[str, Callable[..., Json]] = {
            "": self._about,
            "entries": self._rows,
            "consistency": self._consistency,
        }
        return answers[rest](**params)

    def send(self, method: str, path: str, **arguments: Any) -> Json:
        """Take a witness's signature."""
        assert (method, path.partition("/log/")[2]) == ("POST", "witness/")
        self.cosigned.append(arguments["json"]["note"])
        return {}

    def _about(self) -> Json:
        return {
            "origin": self.key.name,
            "key": str(self.key.verifier),
            "receipt_key": str(RECEIPT_KEY.verifier),
            "delay": DELAY,
            "checkpoint": self.note,
            "cosigned": self.cosigned[-1:],
            "witnesses": self.witnesses,
        }

    def _rows(self, **params: str | int) -> Json:
        start = int(params["from"])
        shown = list(enumerate(self.entries))[start : start + 200]
        return {
            "entries": [
                {
                    "index": index,
                    "document": _parsed(entry),
                    "opening": self.openings.get(index),
                }
                for index, entry in shown
            ]
        }

    def _consistency(self, first: str | int, second: str | int) -> Json:
        node = merkle.nodes_of([merkle.leaf_hash(each) for each in self.entries])
        first, second = int(first), min(int(second), len(self.entries))
        proof = merkle.consistency_proof(min(first, second), second, node)
        return {"proof": [base64.b64encode(each).decode() for each in proof]}
