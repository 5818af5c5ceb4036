"""The heads of public logs that a witness has seen, in a file of JSON lines."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol

from holdfast import output
from holdfast.connection import Json, competition_path
from holdfast.errors import Failure, Refused
from holdfast.logs import (
    FRESH,
    GRACE,
    KEEP,
    Source,
    keep_evidence,
    moment,
    naming,
    read_entries,
    write,
)
from scoring.transparency import merkle
from scoring.transparency.evidence import Evidence, said
from scoring.transparency.notes import Checkpoint, Key, Note, Verifier, open_checkpoint
from scoring.verification.differences import Differs


class Site(Source, Protocol):
    """Where a log is read, and cosignatures are handed in: a connection to a server."""

    def send(self, method: str, path: str, **arguments: Any) -> Json:
        """Send a request, and return the JSON object that answers it."""
        ...


@dataclass(frozen=True)
class Kept:
    """A head as a line of the file has it: of which log, under which key, and when it was seen."""

    address: str
    origin: str
    key: str
    note: str
    seen_at: str


class Heads:
    """A file of heads, to which lines are added and in which none is ever changed."""

    def __init__(self, path: Path) -> None:
        """Read nothing yet; the file need not exist."""
        self.path = path

    def last(self, address: str) -> Kept | None:
        """Return the newest head that was kept of an address."""
        found = None
        if self.path.exists():
            try:
                for line in self.path.read_text(encoding="utf-8").splitlines():
                    kept = Kept(**json.loads(line))
                    found = kept if kept.address == address else found
            except (TypeError, ValueError) as error:
                raise Failure(f"{self.path} is no file of heads: {error}.") from None
        return found

    def write(self, name: str, text: str) -> Path:
        """Write something else beside the file."""
        return write(self.path.parent / name, text)

    def add(self, kept: Kept) -> None:
        """Add a line."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(vars(kept)) + "\n")


def look(
    source: Site,
    slug: str,
    address: str,
    heads: Heads,
    *,
    now: int,
    given: Mapping[str, Verifier],
    by: Key | None = None,
) -> Checkpoint:
    """Keep a log's head if it agrees with the one before; with a key, sign it.

    The signature is handed in where the site takes it. given: keys of logs by their names, from
    elsewhere than their servers. Raises Failure for a head that contradicts what was kept, and
    keeps evidence of both beside the file.
    """
    about = source.get(competition_path(slug, "log"))
    kept = heads.last(address)
    with naming():
        shown = Verifier.parse(str(about["key"]))
        known = given.get(shown.name) or (Verifier.parse(kept.key) if kept else shown)
        if shown != known:
            raise Failure(
                f"The log of {address} has another key than before.",
                details=[f"It was {known}", f"now it is {shown}"],
                hint=KEEP,
            )
        head, note = open_checkpoint(str(about["checkpoint"]), shown)
        if kept and not _follows(source, slug, heads, shown, kept, note, now):
            return head
        if by:
            note = note.and_signed(by.sign(head.text, now))
        if kept is None or by or _is_news(kept, note, now):
            heads.add(Kept(address, head.origin, str(shown), str(note), moment(now)))
    if by and by.name not in about["witnesses"]:
        stays = "so its signature is kept here alone"
        output.note(f"{address}: the site doesn't know the witness {by.name}, {stays}.")
    elif by:
        source.send("POST", competition_path(slug, "log", "witness"), json={"note": str(note)})
    return head


def _is_news(kept: Kept, note: Note, now: int) -> bool:
    """Return whether a head is another one, or has not been seen for a while."""
    seen_at = datetime.fromisoformat(kept.seen_at).timestamp()
    return note.text != Note.parse(kept.note).text or seen_at < now - FRESH / 2


def _follows(
    source: Site, slug: str, heads: Heads, key: Verifier, kept: Kept, note: Note, now: int
) -> bool:
    """Return whether a head is no older than the kept one. Raises Failure if both can't be true."""
    before, _ = open_checkpoint(kept.note, key)
    head = Checkpoint.parse(note.text)
    first, second = sorted((before, head), key=lambda each: each.size)
    is_older = head.size < before.size
    try:
        if before.origin != head.origin:
            raise Differs(None, "origin", "It is the head of another log.")
        sizes = {"first": first.size, "second": second.size}
        answer = source.get(competition_path(slug, "log", "consistency"), **sizes)
        proof = [base64.b64decode(each) for each in answer["proof"]]
        merkle.check_consistency(first.size, first.root, second.size, second.root, proof)
        if is_older and datetime.fromisoformat(kept.seen_at).timestamp() < now - GRACE:
            raise Differs(None, "size", "The log was longer before.")
    except (Differs, Refused) as problem:
        leaves = _leaves(source, slug, second)
        evidence = Evidence.of(key, kept.note, str(note), leaves)
        path = keep_evidence(heads.write, evidence)
        raise Failure(
            f"The log contradicts what was seen. {problem}",
            details=[f"{kept.seen_at}: {said(before)}", f"now: {said(head)}", f"both: {path}"],
            hint=KEEP,
        ) from None
    return not is_older


def _leaves(source: Site, slug: str, head: Checkpoint) -> list[bytes]:
    """Return the hashes of the entries behind a head; none where the server doesn't show them."""
    try:
        entries, _ = read_entries(source, slug, head.size)
    except (Differs, Failure, LookupError, TypeError, ValueError):
        return []
    leaves = [merkle.leaf_hash(entry) for entry in entries]
    return leaves if merkle.root_at(len(leaves), merkle.nodes_of(leaves)) == head.root else []
