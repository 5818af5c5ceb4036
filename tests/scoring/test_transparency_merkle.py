"""The Merkle tree of the public log: published vectors, every proof of small trees, and tiles."""

from collections.abc import Sequence
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.transparency import merkle
from scoring.transparency.merkle import Frontier
from scoring.verification.differences import Differs

# The inputs, roots and proofs that implementations of RFC 6962 are tested with.
INPUTS = [
    bytes.fromhex(each)
    for each in (
        *("", "00", "10", "2021", "3031", "40414243", "5051525354555657"),
        "606162636465666768696a6b6c6d6e6f",
    )
]
ROOTS = (
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
)
OF_FIVE = "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b"
OF_SIX_AND_SEVEN = "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0"
LEAVES = [merkle.leaf_hash(bytes([each])) for each in range(70)]
NODE = merkle.nodes_of(LEAVES)


def by_definition(leaves: Sequence[bytes]) -> bytes:
    """The root as RFC 6962, 2.1 defines it."""
    if len(leaves) < 2:
        return leaves[0] if leaves else sha256(b"").digest()
    half = max(2**power for power in range(7) if 2**power < len(leaves))
    return merkle.node_hash(by_definition(leaves[:half]), by_definition(leaves[half:]))


ROOT_OF = [by_definition(LEAVES[:size]) for size in range(71)]


def holds(check: object, *arguments: object) -> bool:
    assert callable(check)
    try:
        check(*arguments)
    except Differs:
        return False
    return True


def flipped(hashed: bytes, bit: int) -> bytes:
    return (int.from_bytes(hashed) ^ (1 << bit)).to_bytes(len(hashed))


def test_the_roots_are_the_published_ones() -> None:
    frontier = Frontier()
    for size, root in enumerate(ROOTS):
        assert frontier.root().hex() == root
        if size < len(INPUTS):
            frontier = frontier.append(merkle.leaf_hash(INPUTS[size]))


def test_the_proofs_are_the_published_ones() -> None:
    node = merkle.nodes_of([merkle.leaf_hash(each) for each in INPUTS])
    included = merkle.inclusion_proof(5, 8, node)
    assert [each.hex() for each in included] == [OF_FIVE, OF_SIX_AND_SEVEN, ROOTS[4]]
    consistent = merkle.consistency_proof(6, 8, node)
    assert [each.hex() for each in consistent[1:]] == [OF_SIX_AND_SEVEN, ROOTS[4]]
    assert [each.hex() for each in merkle.consistency_proof(2, 5, node)][1:] == [OF_FIVE]


def test_a_frontier_knows_the_root_of_every_size() -> None:
    frontier = Frontier()
    for size, leaf in enumerate(LEAVES):
        assert frontier.root() == merkle.root_at(size, NODE) == ROOT_OF[size]
        frontier = Frontier.from_json(frontier.to_json()).append(leaf)


@pytest.mark.parametrize(
    "stored", [{"size": 3, "hashes": ["00" * 32]}, {"size": 1, "hashes": ["00" * 31]}]
)
def test_what_is_the_frontier_of_no_tree_is_refused(stored: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="hash"):
        Frontier.from_json(stored)


def test_every_entry_of_every_small_tree_is_proven_at_its_own_place_alone() -> None:
    for size in range(1, 71):
        for index in range(size):
            proof = merkle.inclusion_proof(index, size, NODE)
            given = LEAVES[index], index, size, proof, ROOT_OF[size]
            assert holds(merkle.check_inclusion, *given)
            for other in (index - 1, index + 1):
                assert not holds(
                    merkle.check_inclusion, LEAVES[index], other, size, proof, ROOT_OF[size]
                )


def test_every_small_tree_is_proven_to_begin_every_larger_one() -> None:
    for second in range(71):
        for first in range(second + 1):
            proof = merkle.consistency_proof(first, second, NODE)
            assert holds(
                merkle.check_consistency, first, ROOT_OF[first], second, ROOT_OF[second], proof
            )
            if 0 < first < second:
                cut, more = proof[:-1], [*proof, LEAVES[0]]
                for wrong in (cut, more):
                    assert not holds(
                        merkle.check_consistency,
                        *(first, ROOT_OF[first], second, ROOT_OF[second], wrong),
                    )


def test_an_inclusion_proof_does_not_survive_the_change_of_any_bit() -> None:
    size = 11
    for index in range(size):
        proof = merkle.inclusion_proof(index, size, NODE)
        hashes = [LEAVES[index], *proof, ROOT_OF[size]]
        for at, bit in ((at, bit) for at in range(len(hashes)) for bit in range(256)):
            changed = hashes.copy()
            changed[at] = flipped(hashes[at], bit)
            assert not holds(
                merkle.check_inclusion, changed[0], index, size, changed[1:-1], changed[-1]
            )


def test_a_consistency_proof_does_not_survive_the_change_of_any_bit() -> None:
    for first, second in ((3, 7), (4, 7), (6, 8), (7, 7), (8, 11)):
        proof = merkle.consistency_proof(first, second, NODE)
        hashes = [ROOT_OF[first], ROOT_OF[second], *proof]
        for at, bit in ((at, bit) for at in range(len(hashes)) for bit in range(256)):
            changed = hashes.copy()
            changed[at] = flipped(hashes[at], bit)
            assert not holds(
                merkle.check_consistency, first, changed[0], second, changed[1], changed[2:]
            )


def test_a_proof_of_what_cannot_be_is_not_made() -> None:
    with pytest.raises(ValueError, match="no such leaf"):
        merkle.inclusion_proof(5, 5, NODE)
    with pytest.raises(ValueError, match="later ones"):
        merkle.consistency_proof(6, 5, NODE)
    assert not holds(merkle.check_inclusion, LEAVES[0], 1, 1, [], ROOT_OF[1])
    assert not holds(merkle.check_consistency, 2, ROOT_OF[2], 1, ROOT_OF[1], [])
    assert not holds(merkle.check_consistency, 0, ROOT_OF[1], 1, ROOT_OF[1], [])


def test_tiles_have_the_widths_of_the_specification() -> None:
    size = 70_000
    assert [merkle.tile_width(0, n, size) for n in (272, 273, 274)] == [256, 112, 0]
    assert [merkle.tile_width(1, n, size) for n in (0, 1)] == [256, 17]
    assert [merkle.tile_width(2, n, size) for n in (0, 1)] == [1, 0]


@pytest.mark.parametrize(
    ("n", "width", "path"),
    [
        (0, 256, "tile/0/000"),
        (999, 7, "tile/0/999.p/7"),
        (1000, 256, "tile/0/x001/000"),
        (1_234_067, 1, "tile/0/x001/x234/067.p/1"),
    ],
)
def test_tiles_lie_where_the_specification_puts_them(n: int, width: int, path: str) -> None:
    assert merkle.tile_path(0, n, width) == path
    assert merkle.tile_number(path.removeprefix("tile/0/").partition(".p/")[0]) == n


@pytest.mark.parametrize("text", ["", "1", "x000/001", "001/002", "x001", "x001/00", "x1/001"])
def test_another_spelling_of_a_tile_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="elements"):
        merkle.tile_number(text)


def test_proofs_from_tiles_are_those_from_leaves() -> None:
    leaves = [merkle.leaf_hash(each.to_bytes(2)) for each in range(600)]
    node, size = merkle.nodes_of(leaves), len(leaves)
    tiled = merkle.nodes_in_tiles(lambda level, n, width: merkle.tile(level, n, width, node), size)
    for index in (0, 255, 256, 511, 512, 599):
        found = merkle.inclusion_proof(index, size, tiled)
        assert found == merkle.inclusion_proof(index, size, node)
        found = merkle.consistency_proof(index, size, tiled)
        assert found == merkle.consistency_proof(index, size, node)
    assert merkle.root_at(size, tiled) == merkle.root_at(size, node)


def test_a_tile_that_is_too_short_is_named() -> None:
    with pytest.raises(Differs, match="tile/0/000"):
        merkle.root_at(3, merkle.nodes_in_tiles(lambda *_: b"\0" * 64, 3))


@given(st.lists(st.binary(max_size=300), max_size=5))
def test_entries_come_back_from_a_bundle(entries: list[bytes]) -> None:
    written = merkle.bundle(entries)
    assert merkle.read_bundle(written) == entries
    if written and entries[-1]:
        assert not holds(merkle.read_bundle, written[:-1])
