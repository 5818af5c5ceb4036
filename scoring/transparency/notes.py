"""Signed notes, checkpoints and cosignatures of C2SP, with Ed25519 keys.

A note is a text with signatures below it (https://c2sp.org/signed-note); a checkpoint is a note
whose text is the head of a log (tlog-checkpoint); a cosignature is what a witness adds to one, with
the moment at which it was the largest that the witness had seen (tlog-cosignature). One form of
bytes alone is accepted, so that no bit of a note can be changed unnoticed.
"""

import base64
import binascii
import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, Self

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import (
    Ed25519PrivateKey,
    Ed25519PublicKey,
)

from scoring.transparency.merkle import HASH_BYTES
from scoring.verification.differences import Differs, shown

ED25519: Final = 0x01
COSIGNATURE: Final = 0x04
KEY_BYTES: Final = 32
_SIGNATURE_BYTES: Final = 64
_TIME_BYTES: Final = 8
_LATEST: Final = 2**63 - 1
_PRIVATE: Final = "PRIVATE+KEY+"
_MOST_SIGNATURES: Final = 100
_LONGEST: Final = 1_000_000
_NAME: Final = re.compile(r"[^\s+]+")
_SIZE: Final = re.compile(r"0|[1-9][0-9]{0,18}", re.ASCII)
_CONTROL: Final = re.compile(r"[\x00-\x09\x0b-\x1f\ud800-\udfff]")


@dataclass(frozen=True)
class Signature:
    """A line below a note: whose key made it, by name and id, and its bytes."""

    name: str
    key_id: bytes
    content: bytes

    def __str__(self) -> str:
        return f"— {self.name} {_encode(self.key_id + self.content)}\n"

    @classmethod
    def parse(cls, line: str) -> Self:
        """Return the signature of a line with its end. Raises Differs."""
        mark, _, rest = line.partition(" ")
        name, _, encoded = rest.removesuffix("\n").partition(" ")
        data = _decode(encoded)
        if mark != "—" or not _NAME.fullmatch(name) or data is None or len(data) < 5:
            raise Differs(None, "signature", f"{shown(line)} is no signature of a note.")
        return cls(name, data[:4], data[4:])


@dataclass(frozen=True)
class Verifier:
    """A public key with its name; as a text, a vkey: name+id+base64(kind, key).

    kind: ED25519 for notes, COSIGNATURE for what witnesses add.
    """

    name: str
    key: bytes
    kind: int = ED25519

    def __post_init__(self) -> None:
        """Refuse a name that no signature could carry, and what is no key."""
        if not _NAME.fullmatch(self.name) or _CONTROL.search(self.name):
            raise ValueError("a key's name has neither spaces nor plus signs")
        if self.kind not in (ED25519, COSIGNATURE) or len(self.key) != KEY_BYTES:
            raise ValueError("a key is one of Ed25519, for notes or for cosignatures")

    @property
    def key_id(self) -> bytes:
        """Return the four bytes by which signatures name the key."""
        named = f"{self.name}\n".encode() + bytes([self.kind]) + self.key
        return hashlib.sha256(named).digest()[:4]

    def __str__(self) -> str:
        return f"{self.name}+{self.key_id.hex()}+{_encode(bytes([self.kind]) + self.key)}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the key of a vkey. Raises ValueError with a sentence."""
        name, key_id, encoded = [*text.split("+", 2), "", ""][:3]
        data = _decode(encoded)
        if not data:
            raise ValueError(f"{shown(text)} is no key of the form name+id+base64.")
        found = cls(name, data[1:], data[0])
        if found.key_id.hex() != key_id:
            raise ValueError(f"The id of {shown(text)} is not that of its name and key.")
        return found

    def knows(self, signature: Signature) -> bool:
        """Return whether a signature names this key."""
        return (signature.name, signature.key_id) == (self.name, self.key_id)

    def check(self, text: str, signature: Signature) -> int | None:
        """Return when a cosignature was made, None of a note's. Raises Differs if it is false."""
        at, content, signed = None, signature.content, text.encode()
        if self.kind == COSIGNATURE:
            at = int.from_bytes(content[:_TIME_BYTES])
            content, signed = content[_TIME_BYTES:], _cosigned(text, at)
        try:
            if len(content) != _SIGNATURE_BYTES or (at or 0) > _LATEST:
                raise InvalidSignature
            Ed25519PublicKey.from_public_bytes(self.key).verify(content, signed)
        except (InvalidSignature, ValueError):
            raise Differs(
                None, "signature", f"It is not the signature of {self.name} on this text."
            ) from None
        return at


@dataclass(frozen=True)
class Key:
    """A private key with its name; as a text: PRIVATE+KEY+name+id+base64(kind, seed)."""

    name: str
    seed: bytes = field(repr=False)
    kind: int = ED25519
    verifier: Verifier = field(init=False)

    def __post_init__(self) -> None:
        """Make the public half. Raises ValueError for what is no key, or has no name of one."""
        public = Ed25519PrivateKey.from_private_bytes(self.seed).public_key()
        verifier = Verifier(self.name, public.public_bytes_raw(), self.kind)
        object.__setattr__(self, "verifier", verifier)

    def to_text(self) -> str:
        """Return it as it is kept in a file, without an end of line."""
        encoded = _encode(bytes([self.kind]) + self.seed)
        return f"{_PRIVATE}{self.name}+{self.verifier.key_id.hex()}+{encoded}"

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Return a key that was kept. Raises ValueError, with nothing of the key in it."""
        parts = text.strip().removeprefix(_PRIVATE).split("+", 2)
        data = _decode(parts[2]) if text.startswith(_PRIVATE) and len(parts) == 3 else None
        if not data or len(data) != 1 + KEY_BYTES:
            raise ValueError("This is no private key of the form PRIVATE+KEY+name+id+base64.")
        found = cls(parts[0], data[1:], data[0])
        if found.verifier.key_id.hex() != parts[1]:
            raise ValueError("The id of the private key is not that of its name and key.")
        return found

    def sign(self, text: str, at: int | None = None) -> Signature:
        """Sign a text that ends a line; a witness's key also names the moment, in seconds."""
        _check_text(text)
        private = Ed25519PrivateKey.from_private_bytes(self.seed)
        if self.kind == ED25519:
            content = private.sign(text.encode())
        elif at is None or not 0 <= at <= _LATEST:
            raise ValueError("a cosignature names its moment")
        else:
            content = at.to_bytes(_TIME_BYTES) + private.sign(_cosigned(text, at))
        return Signature(self.name, self.verifier.key_id, content)


@dataclass(frozen=True)
class Note:
    """A text and the signatures below it; as a text, the whole note."""

    text: str
    signatures: tuple[Signature, ...]

    def __str__(self) -> str:
        return f"{self.text}\n{''.join(map(str, self.signatures))}"

    @classmethod
    def parse(cls, note: str) -> Self:
        """Return the parts of a note, whose signatures nobody has checked. Raises Differs."""
        text, blank, signed = note.rpartition("\n\n")
        lines = signed.splitlines(keepends=True)
        if not blank or len(note) > _LONGEST or not 0 < len(lines) <= _MOST_SIGNATURES:
            raise Differs(None, "note", "It is no signed note.")
        found = cls(f"{text}\n", tuple(Signature.parse(line) for line in lines))
        if str(found) != note or _CONTROL.search(note):
            raise Differs(None, "note", "It is not written as signed notes are.")
        return found

    def signed_by(self, verifiers: Iterable[Verifier]) -> dict[Verifier, int | None]:
        """Return which of these keys signed it, and when if it was a witness.

        Signatures of other keys are passed over. Raises Differs where one of these is false.
        """
        return {
            verifier: verifier.check(self.text, signature)
            for verifier in verifiers
            for signature in self.signatures
            if verifier.knows(signature)
        }

    def check(self, verifier: Verifier) -> str:
        """Return the text, if this key signed it. Raises Differs."""
        if not self.signed_by([verifier]):
            raise Differs(None, "signature", f"{verifier.name} did not sign this note.")
        return self.text

    def and_signed(self, *signatures: Signature) -> Self:
        """Return the note with more signatures; the newest of each key stands for it."""
        newest = {(each.name, each.key_id): each for each in (*self.signatures, *signatures)}
        return type(self)(self.text, tuple(newest.values()))


def sign(text: str, key: Key) -> Note:
    """Return the note of a text and one signature."""
    return Note(text, (key.sign(text),))


@dataclass(frozen=True)
class Checkpoint:
    """The head of a log: whose it is, how many entries it has, and the root of their tree."""

    origin: str
    size: int
    root: bytes

    @property
    def text(self) -> str:
        """Return what is signed of it."""
        return f"{self.origin}\n{self.size}\n{_encode(self.root)}\n"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the head of a note's text; lines of extensions are refused. Raises Differs."""
        origin, size, root = [*text.split("\n"), "", "", ""][:3]
        found = _decode(root)
        if not origin or not _SIZE.fullmatch(size) or found is None or len(found) != HASH_BYTES:
            raise Differs(None, "checkpoint", "It is no head of a log.")
        checkpoint = cls(origin, int(size), found)
        if checkpoint.text != text:
            raise Differs(None, "checkpoint", "It has more lines than origin, size and root.")
        return checkpoint


def open_checkpoint(note: str, verifier: Verifier) -> tuple[Checkpoint, Note]:
    """Return a log's head, signed by its key, and the note for its cosignatures. Raises Differs."""
    parsed = Note.parse(note)
    return Checkpoint.parse(parsed.check(verifier)), parsed


def _cosigned(text: str, at: int) -> bytes:
    return f"cosignature/v1\ntime {at}\n{text}".encode()


def _check_text(text: str) -> None:
    if not text.endswith("\n") or _CONTROL.search(text):
        raise ValueError("a note's text ends a line, and holds no other control characters")


def _encode(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _decode(text: str) -> bytes | None:
    """Return the bytes of base64, None unless it is the one way to write them."""
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    return data if _encode(data) == text else None
