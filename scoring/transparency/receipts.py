"""Receipts: signed promises that a submission's entry follows in the log.

A receipt is a signed note. It names the file's hash and the salt of the commitment that the log
holds, so that its bearer can show which file stands behind the entry.
"""

import re
from dataclasses import dataclass
from typing import Any, Final, Self

from scoring.transparency import leaves
from scoring.transparency.notes import Key, Note, Verifier, sign
from scoring.verification.differences import Differs, shown

FORMAT: Final = "holdfast receipt 1"
_NUMBER: Final = re.compile(r"0|[1-9][0-9]{0,17}", re.ASCII)
_HEX: Final = re.compile(r"[0-9a-f]{64}", re.ASCII)


@dataclass(frozen=True)
class Receipt:
    """What was accepted, in the words of the entry that follows within `delay` seconds."""

    origin: str
    team: str
    submission: int
    sha256: str
    salt: bytes
    at: str
    delay: int

    @property
    def text(self) -> str:
        """Return what is signed."""
        lines = (
            *(FORMAT, self.origin, self.team, str(self.submission), self.sha256),
            *(self.salt.hex(), self.at, str(self.delay)),
        )
        return "".join(f"{line}\n" for line in lines)

    @property
    def file(self) -> str:
        """Return the commitment to the file that the entry holds."""
        return leaves.commit(self.salt, self.sha256)

    def sign(self, key: Key) -> Note:
        """Return the receipt as it is handed out."""
        return sign(self.text, key)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the receipt of a note's text, if it is written as one. Raises Differs."""
        lines = text.split("\n")
        if len(lines) != 9 or lines[0] != FORMAT or lines[8]:
            raise Differs(None, "receipt", f"It is not in the format {FORMAT!r}.")
        _, origin, team, number, sha256, salt, at, delay, _ = lines
        if not (_NUMBER.fullmatch(number) and _NUMBER.fullmatch(delay)):
            raise Differs(None, "receipt", "Submission and delay are counts.")
        if not (_HEX.fullmatch(sha256) and _HEX.fullmatch(salt)):
            raise Differs(None, "receipt", "Hash and salt have 64 hexadecimal digits each.")
        return cls(origin, team, int(number), sha256, bytes.fromhex(salt), at, int(delay))

    @classmethod
    def open(cls, note: str, verifier: Verifier) -> Self:
        """Return a receipt that this key signed. Raises Differs."""
        return cls.parse(Note.parse(note).check(verifier))

    def check_entry(self, entry: leaves.Leaf, index: int) -> None:
        """Raise Differs unless an `accepted` entry says the same of the submission."""
        promised: dict[str, Any] = {"file": self.file, "at": self.at}
        for name, value in promised.items():
            if entry[name] != value:
                raise Differs(
                    index,
                    name,
                    f"It is {shown(entry[name])}; the receipt of submission {self.submission} "
                    f"says {shown(value)}.",
                    of="Log entry",
                )
