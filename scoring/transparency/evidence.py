"""Proof, to be kept and shown to anybody, that one key signed two heads that can't both be true."""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Self

from scoring.transparency import merkle
from scoring.transparency.notes import Checkpoint, Verifier, open_checkpoint
from scoring.verification.differences import Differs

FORMAT: Final = "holdfast evidence 1"


@dataclass(frozen=True)
class Evidence:
    """Two signed heads of one log, the shorter one first.

    root: what the longer tree had when it was as short as the other; `proof` shows that. Both are
    empty where the server did not show what stands behind the longer one.
    """

    key: Verifier
    first: str
    second: str
    root: bytes = b""
    proof: tuple[bytes, ...] = ()

    @classmethod
    def of(cls, key: Verifier, first: str, second: str, leaves: Sequence[bytes] = ()) -> Self:
        """Return what two heads prove, with the hashes of the entries behind the longer one."""
        old, new = sorted((first, second), key=lambda note: open_checkpoint(note, key)[0].size)
        size, end = (open_checkpoint(note, key)[0].size for note in (old, new))
        if len(leaves) != end:
            return cls(key, old, new)
        node = merkle.nodes_of(leaves)
        proof = tuple(merkle.consistency_proof(size, end, node))
        return cls(key, old, new, merkle.root_at(size, node), proof)

    def check(self) -> str:
        """Return a sentence on what is proven. Raises Differs if nothing is."""
        first, second = (open_checkpoint(note, self.key)[0] for note in (self.first, self.second))
        if first.origin != second.origin:
            raise Differs(None, "origin", "The heads are of two logs.")
        if not self.root and first.size != second.size:
            raise Differs(
                None, "proof", "The heads are signed; that they can't both hold is not shown."
            )
        root = self.root or second.root
        merkle.check_consistency(first.size, root, second.size, second.root, self.proof)
        if root == first.root:
            raise Differs(None, "root", "Both heads can be true.")
        return (
            f"{self.key.name} signed two histories of {first.origin}: {said(first)}, and "
            f"{said(second)}, which began with other entries."
        )

    def to_json(self) -> dict[str, Any]:
        """Return it as it is kept."""
        return {
            "format": FORMAT,
            "key": str(self.key),
            "first": self.first,
            "second": self.second,
            "root": base64.b64encode(self.root).decode(),
            "proof": [base64.b64encode(each).decode() for each in self.proof],
        }

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> Self:
        """Return what was kept. Raises Differs if it is something else."""
        try:
            if kept["format"] != FORMAT:
                raise ValueError
            proof = tuple(base64.b64decode(each) for each in kept["proof"])
            root = base64.b64decode(kept["root"])
            return cls(
                Verifier.parse(kept["key"]), str(kept["first"]), str(kept["second"]), root, proof
            )
        except (KeyError, TypeError, ValueError):
            raise Differs(None, "format", f"It is not in the format {FORMAT!r}.") from None


def said(head: Checkpoint) -> str:
    """Return what a head says, for people."""
    return f"{head.size} entries with the root {base64.b64encode(head.root).decode()}"
