"""The tree of a log as it is served: tiles of 256 hashes, and the proofs made from them."""

from leaderboard.models import Competition, LogEntry, LogNode
from scoring.chain import canonical
from scoring.transparency import merkle
from scoring.transparency.merkle import HASH_BYTES, TILE_HEIGHT, TILE_WIDTH, Node


def keep_nodes(competition: Competition, size: int) -> None:
    """Keep the hashes of complete tiles, on all levels, of a log with so many entries."""
    level, below = 1, size
    while below := below >> TILE_HEIGHT:
        of_level = LogNode.objects.filter(competition=competition, level=level)
        last = of_level.order_by("-number").values_list("number", flat=True).first()
        start = 0 if last is None else last + 1
        LogNode.objects.bulk_create(
            LogNode(
                competition=competition,
                level=level,
                number=number,
                hash=_top(tile(competition, level - 1, number)).hex(),
            )
            for number in range(start, below)
        )
        level += 1


def tile(competition: Competition, level: int, number: int, width: int = TILE_WIDTH) -> bytes:
    """Return the first hashes of a tile, one after the other; fewer where there are no more."""
    start = number * TILE_WIDTH
    if level == 0:
        within = {"index__gte": start, "index__lt": start + width}
        rows = LogEntry.objects.filter(competition=competition, **within).order_by("index")
    else:
        within = {"level": level, "number__gte": start, "number__lt": start + width}
        nodes = LogNode.objects.filter(competition=competition, **within).order_by("number")
        return bytes.fromhex("".join(nodes.values_list("hash", flat=True)))
    return bytes.fromhex("".join(rows.values_list("hash", flat=True)))


def bundle(competition: Competition, number: int, width: int) -> bytes:
    """Return the first entries of a tile of entries, as they are hashed."""
    start = number * TILE_WIDTH
    rows = LogEntry.objects.filter(
        competition=competition, index__gte=start, index__lt=start + width
    )
    documents = rows.order_by("index").values_list("document", flat=True)
    return merkle.bundle(map(canonical, documents))


def nodes(competition: Competition, size: int) -> Node:
    """Return the subtrees of a log's first `size` entries, a size that a head was signed for."""
    return merkle.nodes_in_tiles(
        lambda level, number, width: tile(competition, level, number, width), size
    )


def _top(hashes: bytes) -> bytes:
    found = [hashes[at : at + HASH_BYTES] for at in range(0, len(hashes), HASH_BYTES)]
    return merkle.nodes_of(found)(TILE_HEIGHT, 0)
