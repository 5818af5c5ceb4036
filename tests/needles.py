"""Finds a number or a text wherever it may have gone, however it was written there.

A number is looked for as text, from four digits on, as a fraction or as per cent; as an integer;
and as eight bytes, four, or as many as it needs, either end first, as databases, pickles and arrays
have it. What is packed, in base64 or in hexadecimal digits, is unpacked and looked at again.
"""

from __future__ import annotations

import base64
import binascii
import re
import struct
import zlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from scoring.measurement import Mean, Measurement

SHORTEST, LONGEST = 4, 17
_BEFORE, _AFTER = rb"(?<![0-9A-Za-z])", rb"(?![0-9A-Za-z])"
_PACKED = re.compile(rb"\x1f\x8b\x08|x[\x01\x5e\x9c\xda]")
_BASE64 = re.compile(rb"[A-Za-z0-9+/_-]{12,}={0,2}")
_HEX = re.compile(rb"(?:[0-9a-f]{2}){8,}", re.IGNORECASE)
_DEPTH = 2
_MOST = 10**7


@dataclass(frozen=True)
class Needle:
    """Bytes that stand for something: alone, or where the pattern, which holds them, fits."""

    name: str
    content: bytes
    pattern: re.Pattern[bytes] | None = None

    def is_in(self, blob: bytes) -> bool:
        # Most are nowhere, which Python finds out far sooner without the pattern.
        return self.content in blob and (self.pattern is None or bool(self.pattern.search(blob)))


@dataclass(frozen=True)
class Needles:
    """What is looked for."""

    all: tuple[Needle, ...]

    def __add__(self, other: Needles) -> Needles:
        return Needles(self.all + other.all)

    def found_in(self, blob: bytes) -> list[str]:
        """What of it is in there, packed or plain."""
        views = list(_views(blob, _DEPTH))
        return [needle.name for needle in self.all if any(map(needle.is_in, views))]


def of_measurement(measurement: Measurement) -> Needles:
    """Spell a raw score on hidden rows: its numerator, and the loss and the score it makes."""
    return of_mean(measurement.holdout)


def of_mean(mean: Mean) -> Needles:
    loss = mean.units / mean.whole
    return of_integer(mean.units) + of_fraction(loss) + of_fraction(1 - loss)


def of_text(text: str) -> Needles:
    """Spell a text in the encodings that Python has it in."""
    spelt = [text.encode(), text.encode("utf-16-le")]
    return Needles(tuple(Needle(text, each) for each in spelt))


def of_integer(number: int) -> Needles:
    """Spell a count. It has to be large, so that no other is the same by chance."""
    assert number > 10**6, number
    size = (number.bit_length() + 7) // 8
    binary = {struct.pack(end, number) for end in ("<q", ">q")} | {
        number.to_bytes(size, "little"),
        number.to_bytes(size, "big"),
    }
    name, text = f"the count {number}", str(number).encode()
    alone = Needle(name, text, re.compile(_BEFORE + text + _AFTER))
    return Needles((alone, *(Needle(name, each) for each in binary)))


def of_fraction(value: float) -> Needles:
    """Spell a loss or a score between 0 and 1."""
    roundings = {
        f"{value * factor:.{digits}f}".encode().lstrip(b"0")
        for factor, fewer in ((1, 0), (100, 2))
        for digits in range(SHORTEST - fewer, LONGEST - fewer)
    }
    name = f"the fraction {value}"
    texts = (
        Needle(name, each, re.compile(_BEFORE + rb"0?" + re.escape(each) + rb"(?![0-9])"))
        for each in roundings
    )
    begun = repr(value).encode()[1:10]  # any longer spelling
    binary = [struct.pack(end, value) for end in ("<d", ">d", "<f", ">f")]
    return Needles((*texts, *(Needle(name, each) for each in (begun, *binary))))


def _views(blob: bytes, depth: int) -> Iterator[bytes]:
    """The bytes, and what they turn into when they are unpacked."""
    yield blob
    for inner in _unpacked(blob) if depth else ():
        if inner:
            yield from _views(inner, depth - 1)


def _unpacked(blob: bytes) -> Iterator[bytes]:
    """What is packed in it; all that is written in one alphabet comes as one piece."""
    yield b"\n".join(_inflated(blob))
    yield b"\n".join(_from_base64(text[0]) for text in _BASE64.finditer(blob))
    yield b"\n".join(binascii.unhexlify(digits[0]) for digits in _HEX.finditer(blob))


def _inflated(blob: bytes) -> Iterator[bytes]:
    for start in _PACKED.finditer(blob):
        with suppress(zlib.error):
            yield zlib.decompressobj(zlib.MAX_WBITS | 32).decompress(blob[start.start() :], _MOST)


def _from_base64(text: bytes) -> bytes:
    plain = text.replace(b"-", b"+").replace(b"_", b"/").rstrip(b"=")
    whole = plain[:-1] if len(plain) % 4 == 1 else plain
    return base64.b64decode(whole + b"=" * (-len(whole) % 4))
