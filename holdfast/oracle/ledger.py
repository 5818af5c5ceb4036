"""The ledger of an oracle: one SQLite file, the watermark beside it, one transaction an answer.

    DIR/ledger.sqlite3  setup, state, entries, gates
    DIR/secret          what keys noise and hides commitments, readable by the owner alone
    DIR/lock            held by the one oracle that answers from it
    DIR/watermark/      how far it has come: an older copy of the file alone answers nobody

Entries are those of a site's public ledger, chained alike, so that `holdfast verify` takes them.
"""

import json
import sqlite3
import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Self

from durable.watermark import Head, Rewound, Watermark
from holdfast.errors import Failure
from scoring import metrics
from scoring.chain import document_hash
from scoring.entries import Bounds
from scoring.gates import Gate
from scoring.laws.books import Account, TeamBook
from scoring.ledger import Standing, Terms
from scoring.mechanisms import answer_kind
from scoring.mechanisms.base import HoldoutState, State, TeamState
from scoring.metrics import Metric
from scoring.scales import Scale, scale_of
from scoring.verification.ledgers import Header, entry_line
from scoring.verification.replay import Rules

Json = dict[str, Any]

FILE: Final = "ledger.sqlite3"
FORMAT: Final = "holdfast oracle 1"
BUSY_SECONDS: Final = 30.0
_TABLES: Final = """
CREATE TABLE setup (document TEXT NOT NULL);
CREATE TABLE state (document TEXT NOT NULL);
CREATE TABLE entries (
    number INTEGER PRIMARY KEY,
    hash TEXT NOT NULL,
    tag TEXT NOT NULL UNIQUE,
    campaign TEXT NOT NULL,
    nats INTEGER NOT NULL,
    document TEXT NOT NULL
);
CREATE TABLE gates (
    uid TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    asks TEXT NOT NULL,
    in_use TEXT NOT NULL,
    UNIQUE (name, asks, in_use)
);
"""


@dataclass(frozen=True)
class Setup:
    """What an oracle begins with, for good: who is asked, and everything that fixes its answers.

    scoring: as a ledger's header has it. board, team: the permanent ids that entries name.
    """

    uid: str
    board: str
    team: str
    scoring: Json

    @property
    def name(self) -> str:
        """Return what the ledger is called where sites have a competition's short name."""
        return f"oracle-{self.uid[:8]}"

    @cached_property
    def rules(self) -> Rules:
        """Return how the board answers, by the published facts."""
        return Rules.of(self.board, self.header(0, "").boards[self.board])

    @cached_property
    def terms(self) -> Terms:
        return Terms.from_json(self.scoring["ledger"])

    @cached_property
    def parameters_hash(self) -> str:
        """Return the hash of everything that fixes what an answer means."""
        return self.header(0, "").hash_for({"kind": "", "board": self.board})

    @property
    def bounds(self) -> Bounds:
        return Bounds(self.rules.rows, self.rules.design, self.rules.rounding)

    @cached_property
    def metric(self) -> Metric:
        """Return the metric of the board."""
        return metrics.get(self.scoring["boards"][self.board]["metric"])

    @cached_property
    def scale(self) -> Scale:
        """Return how levels read as scores."""
        rules = self.rules
        return scale_of(self.metric, rules.metric_parameters, rules.mechanism, rules.parameters)

    def header(self, entries: int, head_hash: str) -> Header:
        return Header(
            competition=self.name,
            version=1,
            scoring=self.scoring,
            parameters_hash=document_hash(self.scoring),
            first=1,
            previous_hash="",
            entries=entries,
            head_hash=head_hash,
        )

    def begin(self) -> "Known":
        """Return what is known before the first question."""
        rules = self.rules
        state = State(rules.mechanism.initial_holdout(rules.parameters), TeamState())
        return Known(Standing(state, Account()), Head(0, ""), 0)

    def to_json(self) -> Json:
        names = ("uid", "board", "team", "scoring")
        return {"format": FORMAT, **{name: getattr(self, name) for name in names}}


@dataclass(frozen=True)
class Known:
    """All that the next answer follows from: states, account, the head, how many files came."""

    standing: Standing
    head: Head
    submissions: int

    def to_json(self) -> Json:
        state, book = self.standing.state, self.standing.book
        return {
            "holdout": vars(state.holdout),
            "team": vars(state.team),
            "account": self.standing.account.to_json(),
            "book": None if book is None else book.to_json(),
            "head": [self.head.number, self.head.hash],
            "submissions": self.submissions,
        }

    @classmethod
    def from_json(cls, stored: Json) -> Self:
        state = State(HoldoutState(**stored["holdout"]), TeamState(**stored["team"]))
        book = None if stored["book"] is None else TeamBook.from_json(stored["book"])
        standing = Standing(state, Account.from_json(stored["account"]), book)
        return cls(standing, Head(*stored["head"]), stored["submissions"])


@dataclass(frozen=True)
class Entry:
    """An answer as it is kept: its published document, and the campaign that it was asked in.

    nats: what it told by the ledger's laws, in millionths.
    """

    document: Json
    hash: str
    campaign: str
    nats: int

    @property
    def number(self) -> int:
        return int(self.document["number"])

    @property
    def is_gate(self) -> bool:
        return bool(self.document["kind"] == "gate")

    @property
    def says_more(self) -> bool:
        """Return whether it said more than "no"."""
        if self.is_gate:
            return bool(self.document["yes"])
        return answer_kind(self.document["kind"]).says_more


class Ledger:
    """An open ledger; `connect` and `open_to_read` make one."""

    def __init__(self, directory: Path, connection: sqlite3.Connection) -> None:
        self.directory = directory
        self._connection = connection
        self._watermark = Watermark(directory / "watermark")

    @classmethod
    def connect(cls, directory: Path) -> Self:
        """Open the file for answers; it is made where there is none."""
        connection = sqlite3.connect(
            directory / FILE, isolation_level=None, timeout=BUSY_SECONDS, check_same_thread=False
        )
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=FULL")
        except sqlite3.DatabaseError as error:
            raise Failure(f"{directory / FILE} is no ledger of an oracle: {error}.") from None
        return cls(directory, connection)

    @classmethod
    @contextmanager
    def open_to_read(cls, directory: Path) -> Iterator[Self]:
        """Open a ledger that is there, also while an oracle answers from it. Raises Failure."""
        path = directory / FILE
        if not path.is_file():
            raise Failure(f"There is no ledger in {directory}: it would have a file {FILE}.")
        try:
            found = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)
            with closing(found) as connection:
                found.execute("BEGIN")  # what is read is of one moment
                yield cls(directory, connection)
        except sqlite3.Error as error:
            raise Failure(f"{path} can't be read: {error}.") from None

    def close(self) -> None:
        self._connection.close()

    @property
    def setup(self) -> Setup | None:
        """Return what the ledger began with; None of one that has not begun."""
        has_tables = self._connection.execute(
            "SELECT 1 FROM sqlite_master WHERE name = 'setup'"
        ).fetchone()
        row = has_tables and self._connection.execute("SELECT document FROM setup").fetchone()
        if not row:
            return None
        document = json.loads(row[0])
        if document.pop("format") != FORMAT:
            raise Failure(f"{self.directory / FILE} was written by another version of holdfast.")
        return Setup(**document)

    def begin(self, setup: Setup) -> None:
        """Begin the ledger. Raises Rewound where the watermark knows of answers."""
        written = self._watermark.read(setup.uid).head
        if written is not None and written.number:
            raise Rewound(f"The watermark knows entry {written}, and the ledger is empty.")
        with self.transaction() as connection:
            for statement in filter(str.strip, _TABLES.split(";")):
                connection.execute(statement)
            connection.execute("INSERT INTO setup VALUES (?)", [json.dumps(setup.to_json())])
            connection.execute(
                "INSERT INTO state VALUES (?)", [json.dumps(setup.begin().to_json())]
            )
        self._watermark.append(setup.uid, Head(0, ""))

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Write all or nothing, on the disk when it ends."""
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield self._connection
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:  # some errors have ended it already
                self._connection.execute("ROLLBACK")
            raise

    def known(self) -> Known:
        """Return what the next answer follows from."""
        row = self._connection.execute("SELECT document FROM state").fetchone()
        return Known.from_json(json.loads(row[0]))

    def find(self, tag: str) -> Entry | None:
        """Return the answer that these predictions have had, by their tag."""
        return next(self._entries("WHERE tag = ?", tag), None)

    def entries(self, after: int = 0, most: int = -1) -> Iterator[Entry]:
        """Yield answers in order, behind a number."""
        return self._entries("WHERE number > ? ORDER BY number LIMIT ?", after, most)

    def newest(self, most: int) -> list[Entry]:
        """Return the newest answers, the newest first."""
        return list(self._entries("ORDER BY number DESC LIMIT ?", most))

    def append(self, entry: Entry, after: Known) -> None:
        """Write an answer, in a transaction: the entry and what is known after it."""
        document = json.dumps(entry.document)
        tag = entry.document["predictions_tag"]
        self._connection.execute(
            "INSERT INTO entries (number, hash, tag, campaign, nats, document)"
            " VALUES (?, ?, ?, ?, ?, ?)",
            [entry.number, entry.hash, tag, entry.campaign, entry.nats, document],
        )
        known = replace(after, head=Head(entry.number, entry.hash))
        self._connection.execute("UPDATE state SET document = ?", [json.dumps(known.to_json())])

    def check(self, uid: str, *, only_look: bool = False) -> None:
        """Check that the ledger knows all that was answered. Raises Rewound or WatermarkAway.

        What a crash left unwritten is written.
        """
        known = self.known().head
        written = self._watermark.read(uid, only_look=only_look).head
        if written == known:
            return
        if written is None:
            if known.number:
                raise Rewound(f"The watermark's file {self._watermark.file_of(uid)} is missing.")
        elif written.number >= known.number or not self._follows(written):
            raise Rewound(f"The watermark knows entry {written}, the ledger entry {known}.")
        if not only_look:
            self._watermark.append(uid, known)

    def note(self, uid: str) -> None:
        """Let the watermark know of the newest answer, after its commit. Raises WatermarkAway."""
        self._watermark.append(uid, self.known().head)

    def lines(self, setup: Setup) -> Iterator[bytes]:
        """Yield the ledger as it is published."""
        head = self.known().head
        yield setup.header(head.number, head.hash).line()
        for entry in self.entries():
            if entry.number <= head.number:
                yield entry_line(entry.document, entry.hash)

    def gate_names(self) -> dict[str, str]:
        """Return the names of the gates that were ever declared, by their ids."""
        return dict(self._connection.execute("SELECT uid, name FROM gates").fetchall())

    def declare(self, name: str, gate: Gate, in_use: str) -> str:
        """Write a gate down before it is asked, and return its id.

        The same name with another question, or another file in use, is another gate.
        """
        asks = json.dumps(gate.to_json(), sort_keys=True)
        with self.transaction() as connection:
            connection.execute(
                "INSERT OR IGNORE INTO gates (uid, name, asks, in_use) VALUES (?, ?, ?, ?)",
                [uuid.uuid4().hex, name, asks, in_use],
            )
            found = connection.execute(
                "SELECT uid FROM gates WHERE name = ? AND asks = ? AND in_use = ?",
                [name, asks, in_use],
            )
            return str(found.fetchone()[0])

    def _follows(self, written: Head) -> bool:
        """Return whether some entry names the watermark's head as the one before it."""
        following = next(self.entries(written.number, 1), None)
        return following is not None and following.document["previous_hash"] == written.hash

    def _entries(self, where: str, *values: Any) -> Iterator[Entry]:
        rows = self._connection.execute(
            f"SELECT document, hash, campaign, nats FROM entries {where}",  # noqa: S608  (constant)
            values,
        )
        for document, digest, campaign, nats in rows:
            yield Entry(json.loads(document), digest, campaign, nats)
