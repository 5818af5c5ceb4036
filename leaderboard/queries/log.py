"""The public log of a competition as it is served: up to its newest signed head."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.conf import settings
from django.db.models import Q
from django.http import Http404

from leaderboard.log import heads, keys, tiles
from leaderboard.models import Competition, LogEntry, LogHead, Sanction, Team
from scoring.transparency import merkle
from scoring.transparency.notes import Note

MOST_ENTRIES: Final = 1_000
_COSIGNED: Final = 20


@dataclass(frozen=True)
class Log:
    """A log at its newest head: who signs it, who has seen it, and within which delay it grows.

    `key` and `receipt_key` are vkeys of C2SP; `cosigned` are heads with signatures of witnesses,
    the newest first. `seen` is how many of the `witnesses` that this site knows have signed the
    newest one.
    """

    origin: str
    size: int
    key: str
    receipt_key: str
    checkpoint: str
    signed_at: datetime
    cosigned: tuple[str, ...]
    witnesses: tuple[str, ...]
    seen: int
    delay: int

    @property
    def root(self) -> str:
        """Return the root of the tree, in base64 as the head has it."""
        return Note.parse(self.checkpoint).text.splitlines()[2]


def log(competition: Competition) -> Log:
    """Return the log of a competition. Raises Http404 where no head was signed yet."""
    head = _head(competition)
    known = {each.name for each in heads.witnesses()}
    cosigned = LogHead.objects.filter(competition=competition).exclude(witnesses=[])
    return Log(
        origin=keys.origin(competition),
        size=head.size,
        key=head.verifier,
        receipt_key=_receipt_key(competition),
        checkpoint=head.note,
        signed_at=head.created_at,
        cosigned=tuple(cosigned.order_by("-size").values_list("note", flat=True)[:_COSIGNED]),
        witnesses=tuple(sorted(known)),
        seen=len(known.intersection(head.witnesses)),
        delay=settings.LOG_DELAY_SECONDS,
    )


def log_entries(competition: Competition, start: int) -> list[dict[str, Any]]:
    """Return entries from an index on, each with its document.

    One that names a team has an opening, as long as that is there and others may see the team.
    """
    head = _head(competition)
    end = min(head.size, start + MOST_ENTRIES)
    rows = LogEntry.objects.filter(competition=competition, index__gte=start, index__lt=end)
    hidden = Sanction.objects.filter(team__competition=competition).hidden_teams()
    unseen = set(Team.objects.filter(pk__in=hidden).values_list("uid", flat=True))
    found = list[dict[str, Any]]()
    for each in rows.order_by("index"):
        shown = each.kind == "team" and each.opening and each.document["team"] not in unseen
        opening = {"opening": each.opening} if shown else {}
        found.append({"index": each.index, "document": each.document, **opening})
    return found


def log_inclusion(
    competition: Competition,
    *,
    index: int | None = None,
    team: str = "",
    submission: int | None = None,
) -> dict[str, Any]:
    """Return an entry, by its index or as a receipt names it, with the proof that it is there.

    Raises Http404 where it isn't, under the newest head.
    """
    head = _head(competition)
    rows = LogEntry.objects.filter(competition=competition, index__lt=head.size)
    named = Q(index=index) if index is not None else _accepted(competition, team, submission or 0)
    entry = rows.filter(named).first()
    if entry is None:
        raise Http404("The log has no such entry.")
    node = tiles.nodes(competition, head.size)
    return {
        "index": entry.index,
        "document": entry.document,
        "size": head.size,
        "proof": merkle.inclusion_proof(entry.index, head.size, node),
        "checkpoint": head.note,
    }


def log_consistency(competition: Competition, first: int, second: int) -> list[bytes]:
    """Return the proof that the log of the second size begins with the first.

    Raises Http404 where it isn't as long.
    """
    if not first <= second <= _head(competition).size:
        raise Http404("The log was never so long.")
    node = tiles.nodes(competition, second)
    return merkle.consistency_proof(first, second, node)


def log_tile(competition: Competition, path: str) -> bytes:
    """Return a tile by the end of its address, like 0/x001/067.p/8 or entries/000.

    Raises Http404 for another address, and for what no signed head has.
    """
    level, _, rest = path.partition("/")
    number, _, part = rest.partition(".p/")
    try:
        n = merkle.tile_number(number)
        of_level = 0 if level == "entries" else int(level)
        full = merkle.tile_width(of_level, n, _head(competition).size)
        width = int(part) if part else merkle.TILE_WIDTH
        canonical = path == merkle.tile_path(
            "entries" if level == "entries" else of_level, n, width
        ).removeprefix("tile/")
    except (ValueError, OverflowError):
        raise Http404("This is no tile.") from None
    if not canonical or not 0 < width <= full:
        raise Http404("The log has no such tile.")
    if level == "entries":
        return tiles.bundle(competition, n, width)
    return tiles.tile(competition, of_level, n, width)


def _accepted(competition: Competition, team: str, number: int) -> Q:
    """Return what finds the entry of a submission as it was called when it was accepted.

    It is looked for under the names that mergers gave it, which have an index.
    """
    places = [(team, number)]
    mergers = LogEntry.objects.filter(competition=competition, kind="merged").order_by("index")
    for each in mergers.values_list("document", flat=True):
        places += [
            (each["into"], of + each["offset"]) for name, of in places if name == each["team"]
        ]
    anywhere = Q()
    for uid, of in places:
        anywhere |= Q(submission__team__uid=uid, submission__number=of)
    return anywhere & Q(kind="accepted", document__team=team, document__submission=number)


def _receipt_key(competition: Competition) -> str:
    try:
        return str(keys.receipt_key(competition).verifier)
    except keys.NoKey:
        return ""


def _head(competition: Competition) -> LogHead:
    head = heads.newest(competition)
    if head is None:
        raise Http404("No head of this log was signed yet.")
    return head
