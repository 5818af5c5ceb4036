"""Servers that show different people different logs, and who notices.

Each view is a season of its own, made from a seed: Alice and Bob submit and keep their receipts,
follow the log as it grows, and verify it at the end. The server shows Alice the log as it is, and
Bob another one; at times it slips. A witness, if there is one, sees either, and publishes its file
of heads, which both compare with what they see. Everything but the network is the client's code.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from random import Random
from typing import Final

from holdfast import logs
from holdfast.errors import Failure
from holdfast.heads import Heads, Kept, look
from scoring.transparency import leaves
from scoring.transparency.notes import Checkpoint, Note
from tests.holdfast.logged import Logged

MINUTE: Final = 60
BEGIN: Final = 1_800_000_000
SLIP: Final = 0.2  # how often a liar shows Bob the log as it is
Lie = Callable[[Random, Logged, int], None]


class Memory(logs.Store):
    """What a participant keeps, in memory."""

    def __init__(self) -> None:
        self.files = dict[str, str]()

    def read(self, name: str) -> str:
        return self.files.get(name, "")

    def write(self, name: str, text: str) -> Path:
        self.files[name] = text
        return Path(name)

    def receipts(self) -> list[str]:
        return [text for name, text in self.files.items() if name.startswith("receipts/")]


class MemoryHeads(Heads):
    """What a witness keeps, in memory."""

    def __init__(self) -> None:
        self.kept = list[Kept]()
        self.seen = list[logs.Seen]()  # as verify reads them from a witness's file

    def last(self, address: str) -> Kept | None:
        return self.kept[-1] if self.kept else None

    def add(self, kept: Kept) -> None:
        self.kept.append(kept)
        head = Checkpoint.parse(Note.parse(kept.note).text)
        at = int(datetime.fromisoformat(kept.seen_at).timestamp())
        self.seen.append(logs.Seen("the witness", kept.note, head, at))

    def write(self, name: str, text: str) -> Path:
        return Path(name)


@dataclass
class Person:
    """A participant, by name; `notices` what the server shows."""

    name: str
    store: Memory = field(default_factory=Memory)

    def notices(self, shown: Logged, now: int, seen: list[logs.Seen]) -> str:
        """Follow the log; return what is wrong with it."""
        try:
            logs.follow(shown, "c", self.store, now=now, seen=seen).keep(self.store)
        except Failure as failure:
            return f"{self.name}: {failure.message}"
        return ""


def at(minute: int) -> str:
    return logs.moment(BEGIN + minute * MINUTE)


def drop(rng: Random, log: Logged, begin: int) -> None:
    del log.entries[_accepted(rng, log, begin)]


def retime(rng: Random, log: Logged, begin: int) -> None:
    log.change(_accepted(rng, log, begin), at=at(0))


def give_away(rng: Random, log: Logged, begin: int) -> None:
    log.change(_accepted(rng, log, begin), team="carol", submission=99)


def exchange(rng: Random, log: Logged, begin: int) -> None:
    index = _accepted(rng, log, begin)
    log.change(index, file=f"{rng.getrandbits(256):064x}")


def slip_in(rng: Random, log: Logged, begin: int) -> None:
    log.accept("carol", 98, f"{rng.getrandbits(256):064x}", at(0))
    log.entries.insert(begin, log.entries.pop())


def prolong(rng: Random, log: Logged, begin: int) -> None:
    moments = {"opens_at": at(0), "closes_at": at(9999)}
    log.entries.insert(begin, leaves.leaf("deadline", at(1), round=1, **moments))


def freeze(rng: Random, log: Logged, begin: int) -> None:
    del log.entries[begin:]


LIES: Final[tuple[Lie, ...]] = (drop, retime, give_away, exchange, slip_in, prolong, freeze)


def _accepted(rng: Random, log: Logged, begin: int) -> int:
    kinds = [leaves.parse(entry)["kind"] for entry in log.entries]
    return rng.choice([at for at in range(begin, len(kinds)) if kinds[at] == "accepted"])


def play(seed: int, *, witnessed: bool, lies: bool = True) -> str:
    """Play a season; return what was noticed, and by whom; "" if nothing was."""
    rng = Random(seed)
    people = {name: Person(name) for name in ("alice", "bob")}
    log, sizes, forked_at = Logged(), list[int](), 0
    log.add("deadline", at(0), round=1, opens_at=at(0), closes_at=at(5000))
    for name in (*people, "carol"):
        log.team(name, name.title(), at(0))
    fork = rng.randint(0, 1)
    for stage in range(2):
        begin = len(log.entries)
        for place in range(rng.randint(1, 2)):
            name = rng.choice((*people, "carol"))
            number, sha256 = 10 * stage + place, f"{rng.getrandbits(256):064x}"
            receipt = log.accept(name, number, sha256, at(10 * stage + place + 1))
            if name in people:
                people[name].store.keep_receipt(receipt)
        sizes.append(len(log.entries))
        if stage == fork:
            forked_at = begin
    other = log.copy()
    lie = rng.choice(LIES)
    if lies:
        lie(rng, other, forked_at)
    heads, sees_other = MemoryHeads(), rng.random() < 0.5
    return _watch(rng, people, (log, other), sizes, heads if witnessed else None, sees_other)


def _watch(
    rng: Random,
    people: dict[str, Person],
    views: tuple[Logged, Logged],
    sizes: list[int],
    heads: MemoryHeads | None,
    sees_other: bool,
) -> str:
    """Let everybody look as the log grows, and verify it at the end."""
    log, other = views
    for stage, size in enumerate(sizes):
        last = size == sizes[-1]
        now = BEGIN + (10 * stage + 500 * last + 8) * MINUTE
        shown = {name: _until(view, size) for name, view in zip(people, views, strict=True)}
        if rng.random() < SLIP and not last:
            shown["bob"] = _until(log, size)
        if heads is not None and (last or rng.random() < 0.3):
            try:
                look(_until(other if sees_other else log, size), "c", "c", heads, now=now, given={})
            except Failure as failure:
                return f"witness: {failure.message}"
        for name, person in people.items():
            seen = heads.seen if heads is not None and last else []
            if (last or rng.random() < 0.3) and (
                noticed := person.notices(shown[name], now + 5 * MINUTE, seen)
            ):
                return noticed
    return ""


def _until(log: Logged, size: int) -> Logged:
    view = log.copy()
    del view.entries[size:]
    return view
