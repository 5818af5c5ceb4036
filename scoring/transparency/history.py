"""What the entries of a log come to, in their order: the state that a server must show.

`take` each entry; then `check` what only the whole log can show. A submission that was merged into
another team goes by its number there, whenever it is asked for.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

from scoring.transparency import leaves
from scoring.verification.differences import Differs, shown

Key = tuple[str, int]  # a team and the number of its submission

_SUBMISSION: Final = ("team", "submission")
# What an entry is about: a later one of its kind about the same takes its place.
SUBJECTS: Final[Mapping[str, tuple[str, ...]]] = {
    **dict.fromkeys(("accepted", "excluded", "final"), _SUBMISSION),
    **dict.fromkeys(("rejected", "failed", "requeued", "released", "gated"), _SUBMISSION),
    "restored": _SUBMISSION,
    **dict.fromkeys(("team", "merged", "quota"), ("team",)),
    **dict.fromkeys(("baseline", "verified", "disqualified", "hidden"), ("team",)),
    **dict.fromkeys(("deadline", "limits", "scoring", "finals_started", "revealed"), ("round",)),
    **dict.fromkeys(("sealed", "revised", "published"), ("ledger", "version")),
    "noted": ("ledger", "number"),
    "lost": ("entry",),
    "gate": ("gate",),
    "selected": ("team", "round"),
    "top_up": ("board", "team"),
    "rules": (),
}
# A restored database publishes again where it lacks answers or files; it has another hash then.
_ONCE: Final = frozenset({"accepted", "merged", "revealed"})
# What a restored database gets from log and ledger, or gets again: nobody can take it back.
_KEPT: Final = _ONCE - {"accepted"} | {
    *("published", "finals_started", "final", "sealed", "revised", "lost")
}
_OUTCOMES: Final = ("released", "rejected", "failed", "gated", "restored")


@dataclass(frozen=True)
class Entry:
    """An entry of the log and where it stands."""

    index: int
    leaf: leaves.Leaf

    def __getitem__(self, name: str) -> Any:
        return self.leaf[name]

    def differs(self, name: str, message: str) -> Differs:
        """Return the error that names this entry."""
        return Differs(self.index, name, message, of="Log entry")


class History:
    """All entries by kind and subject, and the ledgers' entries that they commit to.

    stand_ins: restored answers whose acceptance the log had lost, by their names now, in the place
    of the entries that it lacks. Whether files and moments are right, it does not show. late: those
    of them whose moment is past the deadline that stood in the log. lost: entries that do not hold
    any more, because a restored database lacks what they tell.
    """

    def __init__(self) -> None:
        """Begin before the first entry."""
        self.size = 0
        self.latest: dict[str, dict[tuple[Any, ...], Entry]] = {kind: {} for kind in SUBJECTS}
        self.ledgers: dict[str, dict[int, tuple[str, Entry]]] = {}
        self.submissions: dict[Key, Entry] = {}
        self.stand_ins: dict[Key, Entry] = {}
        self.late: set[Key] = set()
        self.lost: list[Entry] = []
        self._taken: list[Entry] = []
        self._restored: list[tuple[Entry, bool]] = []  # with their moments; whether they are late

    @classmethod
    def of(cls, entries: Iterable[bytes]) -> Self:
        """Return the history of a whole log. Raises Differs."""
        found = cls()
        for index, entry in enumerate(entries):
            found.take(index, leaves.parse(entry, index))
        found.check()
        return found

    def take(self, index: int, leaf: leaves.Leaf) -> None:
        """Follow one more entry. Raises Differs where it contradicts an earlier one."""
        entry, kind = Entry(index, leaf), leaf["kind"]
        subject = tuple(leaf[name] for name in SUBJECTS[kind])
        before = self.latest[kind].get(subject)
        if before is not None and kind in _ONCE:
            raise entry.differs(kind, f"Entry {before.index} is about the same already.")
        if kind in ("accepted", "restored"):
            self._accept(entry)
        if kind == "gated" and (leaf["gate"],) not in self.latest["gate"]:
            raise entry.differs("gate", "No entry before it says what this gate asks.")
        if kind == "gate" and before is not None and before["asks"] != leaf["asks"]:
            raise entry.differs("asks", f"Entry {before.index} has another question for it.")
        if kind == "merged" and leaf["team"] == leaf["into"]:
            raise entry.differs("into", "No team is merged into itself.")
        self._commit(entry)
        self.latest[kind][subject] = entry
        self._taken.append(entry)
        if kind == "lost":
            self._lose(entry)
        self.size = index + 1

    def up_to(self, last: Entry) -> Self:
        """Return the history up to an entry: what boards are that stand still since then."""
        found = type(self)()
        for entry in self._taken[: last.index + 1]:
            found.take(entry.index, entry.leaf)
        found.check()
        return found

    def check(self) -> None:
        """Raise Differs where something is said of a submission that was never accepted."""
        accepted = self.latest["accepted"].values()
        told = {self.now(each["team"], each["submission"]): each for each in accepted}
        self._find_stand_ins(told)
        self.submissions = told | self.stand_ins
        for kind in (*_OUTCOMES, "requeued", "excluded", "final"):
            for entry in self.latest[kind].values():
                if self.accepted(entry["team"], entry["submission"]) is None:
                    raise entry.differs("submission", "No entry says that it was accepted.")
        for kind in ("disqualified", "hidden", "baseline", "verified", "merged", "selected"):
            for entry in self.latest[kind].values():
                if (entry["team"],) not in self.latest["team"]:
                    raise entry.differs("team", "No entry names this team.")

    def now(self, team: str, submission: int) -> Key:
        """Return the team that a submission belongs to by now, and its number there."""
        seen = {team}
        while (merger := self.latest["merged"].get((team,))) is not None:
            team, submission = merger["into"], submission + merger["offset"]
            if team in seen:
                raise merger.differs("into", "Teams were merged in a circle.")
            seen.add(team)
        return team, submission

    def accepted(self, team: str, submission: int) -> Entry | None:
        """Return the entry of a submission, by the name that it had then or has now."""
        key = team, submission
        return self.latest["accepted"].get(key) or self.submissions.get(self.now(team, submission))

    def rounds_of(self, ledger: str) -> set[int]:
        """Return the rounds of the submissions that have answers in a ledger."""
        told = (
            self.accepted(entry["team"], entry["submission"])
            for kind in ("released", "gated", "restored")
            for entry in self.latest[kind].values()
            if entry["ledger"] == ledger
        )
        return {entry["round"] for entry in told if entry is not None}

    def is_on(self, mark: str, team: str) -> bool:
        """Return whether a team has a mark: a baseline, verified, disqualified or hidden."""
        entry = self.latest[mark].get((team,))
        return entry is not None and bool(entry["on"])

    @property
    def hidden_rounds(self) -> set[int]:
        """Return the rounds that are hidden until the end, which has not come.

        By the limits that stood when a round's first file was accepted: they stay so for good.
        """
        hidden, begun = dict[int, bool](), set[int]()
        for entry in self._taken:
            if entry["kind"] in ("accepted", "restored"):
                begun.add(entry["round"])
            elif entry["kind"] == "limits" and entry["round"] not in begun & hidden.keys():
                hidden[entry["round"]] = bool(entry["limits"].get("is_hidden"))
        revealed = {round for (round,) in self.latest["revealed"]}
        return {round for round, is_hidden in hidden.items() if is_hidden} - revealed

    @property
    def excluded(self) -> set[Key]:
        """Return the submissions that boards and finals leave out."""
        entries = self.latest["excluded"].values()
        return {self.now(each["team"], each["submission"]) for each in entries if each["on"]}

    @property
    def unanswered(self) -> list[Entry]:
        """Return the accepted submissions that have no outcome, the oldest first."""
        done = {
            self.now(entry["team"], entry["submission"])
            for kind in _OUTCOMES
            for entry in self.latest[kind].values()
        }
        return [entry for key, entry in self.submissions.items() if key not in done]

    def _commit(self, entry: Entry) -> None:
        for number, digest in _committed(entry.leaf):
            known = self.ledgers.setdefault(entry["ledger"], {})
            first = known.setdefault(number, (digest, entry))
            if first[0] != digest:
                message = f"Entry {first[1].index} has another entry {number} of the ledger."
                raise entry.differs("hash", message)

    def _lose(self, entry: Entry) -> None:
        """Forget what an earlier entry tells; the entries behind this one tell what holds now."""
        named = self._taken[entry["entry"]] if entry["entry"] < entry.index else entry
        kind = named["kind"]
        if kind in _KEPT:
            raise entry.differs("entry", f"Entry {named.index}, “{kind}”, can't be lost.")
        subject = tuple(named[name] for name in SUBJECTS[kind])
        if self.latest[kind].get(subject) is named:
            del self.latest[kind][subject]
        for number, _ in _committed(named.leaf):
            if self.ledgers[named["ledger"]][number][1] is named:
                del self.ledgers[named["ledger"]][number]
        self._restored = [each for each in self._restored if each[0].index != named.index]
        self.lost.append(named)

    def _accept(self, entry: Entry) -> None:
        """Refuse what came after the deadline that stood in the log; keep what was restored."""
        if entry["kind"] == "restored":
            if entry["practice"] and (entry["round"],) not in self.latest["finals_started"]:
                raise entry.differs("practice", "No entry before it starts the round's finals.")
            entry = Entry(entry.index, {**entry.leaf, "at": entry["accepted"]})
        deadline = self.latest["deadline"].get((entry["round"],))
        closes_at = deadline["closes_at"] if deadline else None
        is_late = bool(closes_at) and entry["at"] >= closes_at and not entry["practice"]
        if entry["kind"] == "restored":
            self._restored.append((entry, is_late))
        elif is_late:
            message = f"{entry['at']} is not before the deadline {closes_at}"
            raise entry.differs("at", f"{message} of entry {deadline.index if deadline else 0}.")

    def _find_stand_ins(self, told: Collection[Key]) -> None:
        """Let restored answers stand in for what no entry tells; all of one must agree."""
        for entry, is_late in self._restored:
            key = self.now(entry["team"], entry["submission"])
            if key in told:
                continue
            known = self.stand_ins.setdefault(key, entry)
            for name in ("round", "practice", "accepted", "ledger"):
                if known[name] != entry[name]:
                    message = f"Entry {known.index} has {shown(known[name])} for its submission."
                    raise entry.differs(name, message)
            if is_late:
                self.late.add(key)


def _committed(leaf: leaves.Leaf) -> list[tuple[int, str]]:
    """Return the ledger's entries that an entry of the log commits to, by number."""
    if leaf["kind"] in ("noted", "gated"):
        return [(leaf["number"], leaf["hash"])]
    return [(each["number"], each["hash"]) for each in leaf.get("entries", ())]
