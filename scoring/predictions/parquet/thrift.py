"""Reads structures of Thrift's compact protocol strictly, without trusting a number in them.

Parquet's footer and page headers are such structures:
https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md. What a strict
reader takes, every reader takes, and reads the same.
"""

from collections.abc import Callable
from typing import Any

Struct = dict[int, Any]

_TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _STRUCT = *range(1, 10), 12
_BITS = {_I16: 16, _I32: 32, _I64: 64}
_SIZES = {_BYTE: 1, _DOUBLE: 8}
_LONG = 15  # of a list: its size follows
_DEEPEST = 32
_OFTEN = 256
_LAST_FIELD = 2**15 - 1


class Damaged(ValueError):
    """The bytes are no structure, or end within one."""


class I64(int):
    """A number of 64 bits: readers pass over a number of another type than they expect."""


class Reader:
    """Reads one structure after another. `at` is where it stands.

    Time and memory are proportional to the bytes read. `watch` is called with the number of
    structures that have been read, now and then.
    """

    def __init__(
        self, data: bytes | memoryview, watch: Callable[[int], None] = lambda _: None
    ) -> None:
        self._data = memoryview(data).cast("B")
        self.at = 0
        self._watch = watch
        self._structs = 0

    def struct(self, depth: int = 0) -> Struct:
        """Read fields by their numbers: numbers, structures, lists of them, the lengths of texts.

        Raise Damaged.
        """
        if depth > _DEEPEST:
            raise Damaged("structures within structures")
        if self._structs % _OFTEN == 0:
            self._watch(self._structs)
        self._structs += 1
        fields: Struct = {}
        number = 0
        while head := self._byte():
            step, kind = divmod(head, 16)
            number = number + step if step else self.number(16)
            if number in fields or number > _LAST_FIELD:
                raise Damaged("a field is there twice, or has an impossible number")
            fields[number] = self._value(kind, depth + 1)
        return fields

    def number(self, bits: int) -> int:
        """Read a number with a sign."""
        number = self.varint()
        if number >> bits:
            raise Damaged("a number has more bits than its type")
        return number >> 1 ^ -(number & 1)

    def take(self, size: int) -> memoryview:
        if not 0 <= size <= len(self._data) - self.at:
            raise Damaged("a text goes on after the end")
        self.at += size
        return self._data[self.at - size : self.at]

    def rest(self) -> memoryview:
        return self._data[self.at :]

    def varint(self) -> int:
        """Read a number without a sign, of at most 70 bits."""
        number = 0
        for shift in range(0, 70, 7):
            byte = self._byte()
            number |= (byte & 0x7F) << shift
            if byte < 0x80:
                return number
        raise Damaged("a number without end")

    def _value(self, kind: int, depth: int) -> Any:
        if kind in _BITS:
            number = self.number(_BITS[kind])
            return I64(number) if kind == _I64 else number
        if kind == _STRUCT:
            return self.struct(depth)
        if kind == _LIST:
            return self._list(depth)
        if kind in (_TRUE, _FALSE):
            return kind == _TRUE
        if kind in _SIZES or kind == _BINARY:
            return len(self.take(_SIZES.get(kind) or self.varint()))
        raise Damaged("a type that isn't known")

    def _list(self, depth: int) -> list[Struct]:
        """Return the structures in a list; of a list of anything else nothing."""
        if depth > _DEEPEST:
            raise Damaged("lists within lists")
        size, kind = divmod(self._byte(), 16)
        if size == _LONG:
            size = self.varint()
        if size > len(self._data) - self.at:  # each item has a byte at least
            raise Damaged("a list goes on after the end")
        if kind == _STRUCT:
            return [self.struct(depth + 1) for _ in range(size)]
        if kind in (_TRUE, _FALSE, _BYTE):
            self.take(size)
            return []
        for _ in range(size):
            self._value(kind, depth + 1)
        return []

    def _byte(self) -> int:
        if self.at >= len(self._data):
            raise Damaged("the bytes end within a structure")
        self.at += 1
        return self._data[self.at - 1]
