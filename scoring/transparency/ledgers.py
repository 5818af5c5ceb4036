"""The ledger of some rounds, held against the log that commits to each of its entries."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from scoring.chain import document_hash
from scoring.transparency.history import History, Key
from scoring.verification.differences import Differs
from scoring.verification.ledgers import Header
from scoring.verification.notes import GATE, MERGE, WRITE_OFF, is_note

if TYPE_CHECKING:
    from scoring.laws.books import Account
    from scoring.predictions import Solution
    from scoring.verification.replay import Replay

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Answer:
    """An answer that says something: its loss, if it shows one, and when its file was accepted.

    team, submission: as the file was called when it was answered; it may have been merged since.
    """

    team: str
    version: int
    submission: Key
    loss: Fraction | None
    at: str


class LedgerCheck:
    """Hold a ledger against the log, entry by entry, and collect its boards (an `Observer`).

    settled: a moment before which everything has its entry in the log; `pending` answers are newer.
    uid: of the ledger, by its solution's commitment. header, solution: of the newest version, the
    solution once it is published; `measured` has what it measures on the board's own rows, units
    and what they are out of, by board and submission. written_off: the numbers of entries that a
    restored database has lost. Without a replay, as where numpy is missing,
    hashes alone are compared.
    """

    def __init__(self, history: History, settled: str) -> None:
        """Begin before the ledger's first entry."""
        self.history = history
        self.settled = settled
        self.answers: dict[str, dict[str, list[Answer]]] = {}
        self.uid = ""
        self.numbers: set[int] = set()
        self.written_off: list[range] = []
        self.pending = 0
        self.header: Header | None = None
        self.solution: Solution | None = None
        self.measured: dict[str, dict[Key, tuple[int, int]]] = {}
        self._accounts: dict[str, Account] = {}
        self._has_practice = False
        self._stood: set[Key] = set()

    @property
    def season_code(self) -> float:
        """Return -ln of the chance of all answers before practice, in nats, by sequential laws."""
        from scoring.laws.exact import MILLION  # so that hashes are compared without numpy

        of_teams = {name: each for name, each in self._accounts.items() if name}
        accounts = (of_teams or self._accounts).values()
        return sum(each.length(Fraction(0)) for each in accounts) / MILLION

    def took(self, header: Header, entry: Row, replay: "Replay | None" = None) -> None:
        """Check an entry's hash against the one that the log has, and its submission."""
        if header is not self.header:
            self._begin(header)
        self._check_hash(entry)
        if "submission" in entry:
            self._check_stand_in(entry)
        if entry["kind"] == GATE:
            self._check_gate(entry)
        if entry["kind"] == WRITE_OFF:
            self.written_off.append(range(entry["known_number"] + 1, entry["number"]))
        if replay is None:
            return
        self._account(entry, replay)
        if entry["kind"] == MERGE:
            self._merge(entry)
        elif not is_note(entry):
            self._answer(header, entry)
            self._measure(entry, replay)

    def ended(self, header: Header, replay: "Replay | None" = None) -> None:
        """Keep the version that answers last, and its solution."""
        self.header = header
        self.solution = replay.witness.solution if replay and replay.witness else None

    def check_end(self) -> None:
        """Raise Differs if the log has entries of the ledger that the ledger doesn't have.

        Nor may a restored submission have another moment than those of its answers.
        """
        committed = self.history.ledgers.get(self.uid, {})
        missing = sorted(committed.keys() - self.numbers)
        lost = [each for each in missing if not any(each in gone for gone in self.written_off)]
        if lost:
            message = f"Log entry {committed[lost[0]][1].index} has it, the ledger doesn't."
            raise Differs(lost[0], "number", message)
        for key, stand_in in self.history.stand_ins.items():
            if stand_in["ledger"] == self.uid and key not in self._stood:
                raise stand_in.differs("accepted", "The ledger has no answer of it at this moment.")

    def _check_hash(self, entry: Row) -> None:
        number = entry["number"]
        self.numbers.add(number)
        known = self.history.ledgers.get(self.uid, {}).get(number)
        if known is None and entry["created_at"] < self.settled:
            raise Differs(number, "log", "The log has no entry of it.")
        if known is not None and known[0] != entry["hash"]:
            raise Differs(number, "hash", f"Log entry {known[1].index} commits to another one.")

    def _check_stand_in(self, entry: Row) -> None:
        """Note whether the entry is what a restored submission has its moment from."""
        key = self.history.now(entry["team"], entry["submission"])
        stand_in = self.history.stand_ins.get(key)
        if stand_in is None:
            return
        if stand_in["ledger"] != self.uid:
            raise stand_in.differs("ledger", f"Its answer {entry['number']} is in {self.uid}.")
        if is_same_second(entry["created_at"], stand_in["accepted"]):
            self._stood.add(key)

    def _account(self, entry: Row, replay: "Replay") -> None:
        """Keep what accounts had come to before practice, with which no final place is found."""
        if not replay.terms.version:
            return
        if "submission" in entry:
            accepted = self.history.accepted(entry["team"], entry["submission"])
            self._has_practice |= accepted is not None and accepted["practice"]
        if self._has_practice:
            return
        if is_note(entry):
            self._accounts = dict(replay.accounts)
        else:
            name = entry["team"] if replay.terms.by_team else ""
            if name in replay.accounts:
                self._accounts[name] = replay.accounts[name]

    def _merge(self, entry: Row) -> None:
        for of_board in self.answers.values():
            if moved := of_board.pop(entry["team"], []):
                of_board.setdefault(entry["into"], []).extend(moved)

    def _measure(self, entry: Row, replay: "Replay") -> None:
        if replay.origin is not None:
            mean = replay.origin.measurement.holdout
            measured = self.measured.setdefault(entry["board"], {})
            measured[entry["team"], entry["submission"]] = mean.units, mean.whole

    def _check_gate(self, entry: Row) -> None:
        """Compare what a gate asked with what the log said of it beforehand."""
        made = self.history.latest["gate"].get((entry["gate"],))
        if made is None:
            if entry["created_at"] < self.settled:
                raise Differs(entry["number"], "gate", "The log does not say what it asks.")
        elif made["asks"] != document_hash({name: entry[name] for name in ("board", "asks")}):
            message = f"Log entry {made.index} has another question for it."
            raise Differs(entry["number"], "asks", message)

    def _begin(self, header: Header) -> None:
        commitment = header.holdout["solution_commitment"]
        for kind in ("sealed", "revised"):
            for entry in self.history.latest[kind].values():
                if entry["solution"] == commitment and entry["version"] == header.version:
                    self.uid, self.header, self.measured = entry["ledger"], header, {}
                    return
        raise Differs(None, "solution_commitment", "No entry of the log has this solution.")

    def _answer(self, header: Header, entry: Row) -> None:
        from scoring import mechanisms  # so that hashes are compared without numpy

        kind = mechanisms.answer_kind(entry["kind"])
        accepted = self.history.accepted(entry["team"], entry["submission"])
        if accepted is None:
            if entry["created_at"] < self.settled:
                message = "The log does not say that this submission was accepted."
                raise Differs(entry["number"], "submission", message)
            self.pending += 1
            return
        if kind.bounds == "nothing" or accepted["practice"]:
            return
        team = entry["team"]
        of_board = self.answers.setdefault(entry["board"], {})
        level = entry["level"] if kind.shows == "own" else None
        loss = None if level is None else Fraction(level, entry["steps"])
        of_board.setdefault(team, []).append(
            Answer(team, header.version, (team, entry["submission"]), loss, accepted["at"])
        )


def is_same_second(shown_at: str | None, logged: str | None) -> bool:
    """Return whether a moment of the API is the logged one, to the second; both are in UTC."""
    if shown_at is None or logged is None:
        return shown_at is logged
    return shown_at[:19] == logged[:19] and shown_at.endswith(("Z", "+00:00"))
