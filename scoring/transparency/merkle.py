"""The Merkle tree of RFC 6962: its hashes, its proofs, and the tiles that it is published in.

A proof is made from complete subtrees alone: `node(level, n)` returns the hash of the n-th one of
2**level leaves, from wherever hashes are kept. Tiles are those of https://c2sp.org/tlog-tiles: each
holds up to 256 consecutive hashes of every eighth level.
"""

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Self

from scoring.verification.differences import Differs

HASH_BYTES: Final = hashlib.sha256().digest_size
EMPTY: Final = hashlib.sha256(b"").digest()
TILE_HEIGHT: Final = 8
TILE_WIDTH: Final = 1 << TILE_HEIGHT
LONGEST_ENTRY: Final = (1 << 16) - 1  # its length stands in two bytes of a bundle
_TILE_NUMBER: Final = re.compile(r"(x[0-9]{3}/)*[0-9]{3}", re.ASCII)

Node = Callable[[int, int], bytes]


def leaf_hash(entry: bytes) -> bytes:
    """Hash an entry; the byte before it keeps leaves and nodes apart."""
    return hashlib.sha256(b"\x00" + entry).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """Hash two subtrees into the one above them."""
    return hashlib.sha256(b"\x01" + left + right).digest()


@dataclass(frozen=True)
class Frontier:
    """What a log must remember to grow: its complete subtrees, the largest first."""

    size: int = 0
    hashes: tuple[bytes, ...] = ()

    def __post_init__(self) -> None:
        """Refuse what is the frontier of no tree."""
        if self.size < 0 or len(self.hashes) != self.size.bit_count():
            raise ValueError("a frontier has a hash for each bit of its size")
        if any(len(each) != HASH_BYTES for each in self.hashes):
            raise ValueError("a hash has 32 bytes")

    def append(self, leaf: bytes) -> Self:
        """Return the frontier after one more leaf, given by its hash."""
        hashes, size = [*self.hashes, leaf], self.size
        while size & 1:
            right = hashes.pop()
            hashes[-1] = node_hash(hashes[-1], right)
            size >>= 1
        return type(self)(self.size + 1, tuple(hashes))

    def root(self) -> bytes:
        """Return the hash of the whole tree."""
        return _join(self.hashes) if self.hashes else EMPTY

    def to_json(self) -> dict[str, Any]:
        """Return it as it is stored."""
        return {"size": self.size, "hashes": [each.hex() for each in self.hashes]}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """Return what was stored. Raises ValueError, KeyError or TypeError for anything else."""
        return cls(stored["size"], tuple(bytes.fromhex(each) for each in stored["hashes"]))


def nodes_of(leaves: Sequence[bytes]) -> Node:
    """Return the subtrees of leaves that are all at hand, each hashed once."""
    levels = [list(leaves)]
    while len(levels[-1]) > 1:
        below = levels[-1]
        pairs = zip(below[::2], below[1::2], strict=False)
        levels.append([node_hash(left, right) for left, right in pairs])
    return lambda level, n: levels[level][n]


def root_at(size: int, node: Node) -> bytes:
    """Return the root of the tree's first `size` leaves."""
    return _subtree(0, size, node) if size else EMPTY


def inclusion_proof(index: int, size: int, node: Node) -> list[bytes]:
    """Return the proof that a tree of this size has its leaf at this index (RFC 6962, 2.1.1)."""
    if not 0 <= index < size:
        raise ValueError("the tree has no such leaf")
    start, end, proof = 0, size, list[bytes]()
    while end - start > 1:
        middle = _middle(start, end)
        if index < middle:
            proof.append(_subtree(middle, end, node))
            end = middle
        else:
            proof.append(_subtree(start, middle, node))
            start = middle
    return proof[::-1]


def consistency_proof(first: int, second: int, node: Node) -> list[bytes]:
    """Return the proof that the larger tree begins with the smaller one (RFC 6962, 2.1.2)."""
    if not 0 <= first <= second:
        raise ValueError("a tree is consistent with later ones alone")
    if first in (0, second):
        return []
    start, end, proof = 0, second, list[bytes]()
    while end != first:
        middle = _middle(start, end)
        if first <= middle:
            proof.append(_subtree(middle, end, node))
            end = middle
        else:
            proof.append(_subtree(start, middle, node))
            start = middle
    if start:  # else the verifier knows this subtree: it is the smaller tree
        proof.append(_subtree(start, end, node))
    return proof[::-1]


def check_inclusion(
    leaf: bytes, index: int, size: int, proof: Sequence[bytes], root: bytes
) -> None:
    """Raise Differs unless the proof leads from the leaf's hash to the root (RFC 9162, 2.1.3.2)."""
    if not 0 <= index < size:
        raise Differs(None, "inclusion", f"A tree of {size} entries has none at {index}.")
    found = leaf
    for each, is_left in _climb(index, size - 1, proof):
        found = node_hash(each, found) if is_left else node_hash(found, each)
    if found != root:
        message = f"The tree of {size} entries does not have this one at {index}."
        raise Differs(None, "inclusion", message)


def check_consistency(
    first: int, first_root: bytes, second: int, second_root: bytes, proof: Sequence[bytes]
) -> None:
    """Raise Differs unless the proof shows that the second tree begins with the first one.

    The rule is that of RFC 9162, 2.1.4.2; a tree without entries begins all others.
    """
    if not 0 <= first <= second:
        raise Differs(None, "consistency", f"A tree of {second} entries can't follow on {first}.")
    if first in (0, second):
        if proof or first_root != (second_root if first else EMPTY):
            raise Differs(None, "consistency", f"Two trees of {first} entries differ.")
        return
    # A complete subtree is its own first hash; the proof leaves it out.
    hashes = [first_root, *proof] if first.bit_count() == 1 else [*proof]
    path, last = first - 1, second - 1
    while path & 1:
        path, last = path >> 1, last >> 1
    old = new = hashes[0] if hashes else b""
    for each, is_left in _climb(path, last, hashes[1:]):
        old = node_hash(each, old) if is_left else old
        new = node_hash(each, new) if is_left else node_hash(new, each)
    if (old, new) != (first_root, second_root):
        message = f"The tree of {second} entries does not begin with the one of {first}."
        raise Differs(None, "consistency", message)


def tile_width(level: int, n: int, size: int) -> int:
    """Return how many hashes the n-th tile of a level has in a tree of this size."""
    return max(0, min(TILE_WIDTH, (size >> TILE_HEIGHT * level) - n * TILE_WIDTH))


def tile_path(level: int | str, n: int, width: int = TILE_WIDTH) -> str:
    """Return where a tile lies below the log's prefix; its level is "entries" for a bundle."""
    digits = f"{n:0{-(-len(str(n)) // 3) * 3}}"
    parts = [digits[at : at + 3] for at in range(0, len(digits), 3)]
    number = "/".join([*(f"x{each}" for each in parts[:-1]), parts[-1]])
    return f"tile/{level}/{number}" + ("" if width == TILE_WIDTH else f".p/{width}")


def tile_number(text: str) -> int:
    """Return n of its path elements, without a width. Raises ValueError for another spelling."""
    if not _TILE_NUMBER.fullmatch(text):
        raise ValueError("elements of three digits, an x before all but the last")
    n = int(text.replace("x", "").replace("/", ""))
    if tile_path(0, n) != f"tile/0/{text}":
        raise ValueError("no more elements than the number needs")
    return n


def tile(level: int, n: int, width: int, node: Node) -> bytes:
    """Return the first `width` hashes of a tile, as they are served."""
    start = n * TILE_WIDTH
    return b"".join(node(TILE_HEIGHT * level, start + at) for at in range(width))


def nodes_in_tiles(read: Callable[[int, int, int], bytes], size: int) -> Node:
    """Return the subtrees of a tree of this size, from its tiles.

    read: returns the tile of a level and number with the width that it has. Raises Differs where a
    tile does not have its length.
    """

    def node(level: int, n: int) -> bytes:
        of_tile, height = divmod(level, TILE_HEIGHT)
        number, offset = divmod(n << height, TILE_WIDTH)
        width = tile_width(of_tile, number, size)
        data = read(of_tile, number, width)
        if len(data) != width * HASH_BYTES or offset + (1 << height) > width:
            raise Differs(None, tile_path(of_tile, number), "The tile does not have its length.")
        hashes = [
            data[at * HASH_BYTES : (at + 1) * HASH_BYTES]
            for at in range(offset, offset + (1 << height))
        ]
        return nodes_of(hashes)(height, 0)

    return node


def bundle(entries: Iterable[bytes]) -> bytes:
    """Return entries as a tile of entries has them, each behind its length in two bytes."""
    return b"".join(len(each).to_bytes(2) + each for each in entries)


def read_bundle(data: bytes) -> list[bytes]:
    """Return the entries of a bundle. Raises Differs if it ends within one."""
    entries, at = list[bytes](), 0
    while at < len(data):
        end = at + 2 + int.from_bytes(data[at : at + 2])
        if at + 2 > len(data) or end > len(data):
            raise Differs(None, "entries", "A bundle of the log ends within an entry.")
        entries.append(data[at + 2 : end])
        at = end
    return entries


def _middle(start: int, end: int) -> int:
    """Return where a subtree is split: behind the largest power of two below its size."""
    return start + (1 << (end - start - 1).bit_length() - 1)


def _climb(path: int, last: int, proof: Iterable[bytes]) -> Iterator[tuple[bytes, bool]]:
    """Yield the hashes from a node to the root, and whether each stands on the left.

    path, last: the node's place on its level, and that of the level's last one. Raises Differs
    unless the proof ends at the root.
    """
    for each in proof:
        if last == 0:
            raise Differs(None, "proof", "It has too many hashes.")
        is_left = bool(path & 1) or path == last
        yield each, is_left
        while is_left and path and not path & 1:
            path, last = path >> 1, last >> 1
        path, last = path >> 1, last >> 1
    if last:
        raise Differs(None, "proof", "It has too few hashes.")


def _subtree(start: int, end: int, node: Node) -> bytes:
    """Return the hash of leaves that begin where a complete subtree of their size could."""
    hashes = list[bytes]()
    while start < end:
        level = (end - start).bit_length() - 1
        hashes.append(node(level, start >> level))
        start += 1 << level
    return _join(hashes)


def _join(hashes: Sequence[bytes]) -> bytes:
    """Hash complete subtrees, the largest first, into one tree."""
    *larger, found = hashes
    for each in reversed(larger):
        found = node_hash(each, found)
    return found
