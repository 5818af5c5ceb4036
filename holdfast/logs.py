"""A competition's public log, followed from this machine.

What a later look must agree with is kept in `logs` beside the configuration, by site and
competition: the log's key as it was first seen, the newest head, and the receipts of what was
submitted. docs/verification.md says what each check shows.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from holdfast import config
from holdfast.connection import Json, competition_path
from holdfast.errors import Failure
from scoring.chain import canonical
from scoring.transparency import leaves, merkle
from scoring.transparency.evidence import Evidence, said
from scoring.transparency.history import History
from scoring.transparency.merkle import Frontier
from scoring.transparency.notes import Checkpoint, Note, Verifier, open_checkpoint
from scoring.transparency.receipts import Receipt
from scoring.verification.differences import Differs, shown

GRACE = 60  # seconds by which clocks may differ, and caches lag
FRESH = 3600  # seconds: how long ago a witness may have looked last
KEEP = "What was kept of the log is evidence: don't delete it. Ask the organizer what happened."


class Source(Protocol):
    """Where a log is read: a connection to a server."""

    def get(self, path: str, **params: str | int) -> Json:
        """Return the JSON object at a path."""
        ...


@dataclass(frozen=True)
class Seen:
    """A signed head that somebody has seen, and when, in seconds."""

    who: str
    note: str
    head: Checkpoint
    at: int


class Store:
    """What is kept of one competition's log, each thing in a file of its own."""

    def __init__(self, url: str, slug: str) -> None:
        """Read nothing yet, and make nothing."""
        site = re.sub(r"[^A-Za-z0-9.-]+", "_", url.partition("://")[2])
        self.folder = config.config_path().parent / "logs" / site / slug

    def read(self, name: str) -> str:
        """Return the text of a file, "" if there is none."""
        path = self.folder / name
        return path.read_text(encoding="utf-8") if path.exists() else ""

    def write(self, name: str, text: str) -> Path:
        """Write a file in one step."""
        return write(self.folder / name, text)

    def keep_receipt(self, note: str) -> Receipt:
        """Keep a receipt, whose signature is checked when the log is. Raises Differs."""
        receipt = Receipt.parse(Note.parse(note).text)
        if not re.fullmatch(r"[0-9A-Za-z_-]{1,64}", receipt.team):
            raise Differs(None, "receipt", "It names no team.")
        self.write(f"receipts/{receipt.team}-{receipt.submission}.txt", note)
        return receipt

    def receipts(self) -> list[str]:
        """Return the receipts that are kept."""
        paths = sorted((self.folder / "receipts").glob("*.txt"))
        return [path.read_text(encoding="utf-8") for path in paths]


@dataclass(frozen=True)
class Followed:
    """A log that was read to its end, and agrees with all that was known of it.

    key: the one that signed its head. receipt_keys: those that receipts were signed with so far.
    names: of teams by their ids, where the salt still shows them. delay: seconds within which the
    server promises entries. held, waiting: receipts whose entries are there, and those whose time
    is not up. restored: those whose entries were lost, and their answers brought back. unseen:
    entries behind the newest head that a witness has seen, None without witnesses.
    """

    history: History
    names: dict[str, str]
    head: Checkpoint
    note: Note
    key: Verifier
    receipt_keys: list[Verifier]
    delay: int
    held: list[Receipt]
    waiting: list[Receipt]
    restored: list[Receipt]
    unseen: int | None

    def keep(self, store: Store) -> None:
        """Keep keys and head, which later ones must agree with."""
        keys = (self.key, *self.receipt_keys)
        store.write("keys", "".join(f"{key}\n" for key in keys))
        store.write("head", str(self.note))


def follow(
    source: Source,
    slug: str,
    store: Store,
    *,
    now: int,
    key: Verifier | None = None,
    witnesses: Sequence[Verifier] = (),
    seen: Sequence[Seen] = (),
) -> Followed:
    """Read a log to its end and hold it against all that is known of it; keep nothing yet.

    key: the log's, from elsewhere than its server. witnesses: keys that must have signed a head of
    the last hour. seen: heads that others have seen. Raises Failure at the first difference.
    """
    about = source.get(competition_path(slug, "log"))
    with naming():
        trusted = _trust(store, about, key)
        receipt_keys = _receipt_keys(store, about)
        head, note = open_checkpoint(str(about["checkpoint"]), trusted)
        others = [*seen, *_cosigned(about, trusted, witnesses, now)]
        kept = store.read("head")
        own = [Seen("you", kept, open_checkpoint(kept, trusted)[0], now - FRESH)] if kept else []
        entries, names = read_entries(source, slug, head.size)
        _check_heads(store, trusted, head, note, entries, [*own, *others], now)
        _check_withheld(entries, others)
        history = History.of(entries)
        delay = int(about["delay"])
        receipts = _receipts(store, receipt_keys, history, head.origin, now - GRACE)
    newest = max((each.head.size for each in others), default=None)
    unseen = None if newest is None else max(0, head.size - newest)
    return Followed(*(history, names, head, note, trusted, receipt_keys, delay, *receipts, unseen))


def read_entries(source: Source, slug: str, size: int) -> tuple[list[bytes], dict[str, str]]:
    """Return the first entries of a log, and the names of teams that it shows, by their ids.

    Raises Differs for a name that is not the one that its entry commits to.
    """
    entries, names = list[bytes](), dict[str, str]()
    while len(entries) < size:
        answer = source.get(competition_path(slug, "log", "entries"), **{"from": len(entries)})
        rows = answer["entries"][: size - len(entries)]
        if not rows:
            raise Differs(len(entries), "entry", "The server does not show it.", of="Log entry")
        for row in rows:
            _name(names, len(entries), row["document"], row.get("opening"))
            entries.append(canonical(row["document"]))
    return entries, names


def read_heads(path: Path, key: Verifier) -> list[Seen]:
    """Return the heads of a log in a witness's file. Raises Failure for another file."""
    found = list[Seen]()
    try:
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            if row["origin"] != key.name:
                continue
            if row["key"] != str(key):
                raise Failure(
                    f"{path.name} has seen another key of this log.",
                    details=[f"It has {row['key']}", f"here is {key}"],
                    hint=KEEP,
                )
            at = int(datetime.fromisoformat(row["seen_at"]).timestamp())
            found.append(Seen(path.name, row["note"], open_checkpoint(row["note"], key)[0], at))
    except (LookupError, TypeError, ValueError, OSError) as error:
        raise Failure(f"{path} is no file of a witness: {error}.") from None
    return found


def moment(seconds: int) -> str:
    """Return a moment as entries have it."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def write(path: Path, text: str) -> Path:
    """Write a file in one step, readable by its owner only: receipts name one's own files."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
    Path(temporary).replace(path)
    return path


@contextmanager
def naming() -> Iterator[None]:
    """Turn a difference, or what no log sends, into the failure that ends a command."""
    try:
        yield
    except Differs as differs:
        raise Failure(f"The log differs. {differs.difference}", hint=KEEP) from None
    except (LookupError, TypeError, ValueError) as error:
        raise Failure(f"What the server sends is no log: {error!r}.", hint=KEEP) from None


def _name(names: dict[str, str], index: int, document: Json, opening: Json | None) -> None:
    """Keep the name that a team has from this entry on; none if its salt was deleted."""
    if document["kind"] != "team":
        return
    names.pop(document["team"], None)
    if opening:
        if leaves.commit(bytes.fromhex(opening["salt"]), opening["name"]) != document["name"]:
            message = f"Team {document['team']} does not go by {shown(opening['name'])} there."
            raise Differs(index, "name", message, of="Log entry")
        names[document["team"]] = opening["name"]


def _trust(store: Store, about: Json, given: Verifier | None) -> Verifier:
    """Return the key of heads: as it was first seen, or is given."""
    found, kept = Verifier.parse(str(about["key"])), store.read("keys").split()
    known = given or (Verifier.parse(kept[0]) if kept else found)
    if found != known:
        raise Failure(
            "The key of the log is another than before.",
            details=[f"It was {known}", f"now it is {found}"],
            hint="A key changes when a server is set up anew, which its organizers should announce."
            f" To accept it, move {store.folder} away.",
        )
    return found


def _receipt_keys(store: Store, about: Json) -> list[Verifier]:
    """Return the key of receipts and those before it, with which older ones are checked."""
    texts = [*store.read("keys").split()[1:], str(about["receipt_key"])]
    return [Verifier.parse(text) for text in dict.fromkeys(texts) if text]


def _cosigned(
    about: Json, key: Verifier, witnesses: Sequence[Verifier], now: int
) -> Iterator[Seen]:
    """Yield the newest head that each witness has signed, which must not be old."""
    notes = [Note.parse(each) for each in (about["checkpoint"], *about.get("cosigned", ()))]
    for witness in witnesses:
        signed = [(note.signed_by([witness]).get(witness), str(note)) for note in notes]
        at, note = max(((at or 0, note) for at, note in signed), default=(0, ""))
        if at < now - FRESH:
            when = f"since {moment(at)}" if at else "at all"
            raise Differs(None, "witness", f"{witness.name} has signed no head {when}.")
        yield Seen(witness.name, note, open_checkpoint(note, key)[0], at)


def _check_heads(
    store: Store,
    key: Verifier,
    head: Checkpoint,
    note: Note,
    entries: Sequence[bytes],
    seen: Sequence[Seen],
    now: int,
) -> None:
    """Compare the tree of all entries with the head, and with each that was seen before."""
    hashes = [merkle.leaf_hash(entry) for entry in entries]
    roots = _roots(hashes, {head.size, *(each.head.size for each in seen)})
    if roots[head.size] != head.root:
        raise Differs(None, "root", f"It is not that of the {head.size} entries that are shown.")
    for each in seen:
        if each.head.origin != head.origin:
            raise Differs(None, "origin", f"{each.who} saw the log {each.head.origin}.")
        if each.head.size > head.size and each.at < now - GRACE:
            problem = f"It ends before what {each.who} saw"
        elif roots.get(each.head.size, each.head.root) != each.head.root:
            problem = f"It is not the one that {each.who} saw"
        else:
            continue
        path = keep_evidence(store.write, Evidence.of(key, each.note, str(note), hashes))
        raise Failure(
            f"The log differs. {problem}.",
            details=[f"{each.who}: {said(each.head)}", f"now: {said(head)}", f"both: {path}"],
            hint=KEEP,
        )


def _check_withheld(entries: Sequence[bytes], seen: Sequence[Seen]) -> None:
    """Raise Differs for an entry that was there long before somebody's last look, and not shown."""
    last = max(seen, key=lambda each: each.at, default=None)
    if last is None or last.head.size >= len(entries):
        return
    withheld = leaves.parse(entries[last.head.size], last.head.size)
    if withheld["at"] < moment(last.at - FRESH):
        message = f"It is of {withheld['at']}; {last.who} looked at {moment(last.at)} and was not"
        raise Differs(last.head.size, "at", f"{message} shown it.", of="Log entry")


def _roots(hashes: Sequence[bytes], sizes: Collection[int]) -> dict[int, bytes]:
    """Return the roots that a growing tree had at these sizes."""
    frontier = Frontier()
    roots = {0: frontier.root()}
    for size, each in enumerate(hashes, start=1):
        frontier = frontier.append(each)
        if size in sizes:
            roots[size] = frontier.root()
    return roots


def keep_evidence(keep: Callable[[str, str], Path], evidence: Evidence) -> Path:
    """Write two heads that can't both be true to a file of their own."""
    sizes = (open_checkpoint(each, evidence.key)[0] for each in (evidence.first, evidence.second))
    digest = merkle.leaf_hash(evidence.second.encode()).hex()[:8]
    name = "-".join(["evidence", *(str(each.size) for each in sizes), digest])
    return keep(f"{name}.json", json.dumps(evidence.to_json(), indent=2) + "\n")


def _receipts(
    store: Store, keys: Sequence[Verifier], history: History, origin: str, settled: int
) -> tuple[list[Receipt], list[Receipt], list[Receipt]]:
    """Return the receipts whose entries are there, whose time is not up, and which were lost."""
    held, waiting, restored = list[Receipt](), list[Receipt](), list[Receipt]()
    lost = {
        (each["team"], each["submission"]) for each in history.lost if each["kind"] == "accepted"
    }
    for note in store.receipts():
        signed = Note.parse(note)
        receipt = Receipt.parse(signed.text)
        if not signed.signed_by(keys):
            message = f"No key of this server signed that of submission {receipt.submission}."
            raise Differs(None, "receipt", message)
        if receipt.origin != origin:
            raise Differs(None, "origin", f"A receipt was given for the log {receipt.origin}.")
        entry = history.accepted(receipt.team, receipt.submission)
        is_lost = entry is None and (receipt.team, receipt.submission) in lost
        if is_lost or (entry is not None and entry["kind"] == "restored"):
            restored.append(receipt)
        elif entry is not None:
            receipt.check_entry(entry.leaf, entry.index)
            held.append(receipt)
        elif receipt.at < moment(settled - receipt.delay):
            message = f"Submission {receipt.submission} was accepted at {receipt.at}, says its "
            raise Differs(None, "receipt", f"{message}signed receipt; the log does not have it.")
        else:
            waiting.append(receipt)
    return held, waiting, restored
