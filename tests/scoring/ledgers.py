"""A competition that is played without a server, and the documents that it would publish."""

import hashlib
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from scoring import mechanisms, metrics
from scoring.chain import answer_fields, document_hash
from scoring.guarantees.certificate import interval_fields
from scoring.guarantees.groups import choose_designs, design_of
from scoring.measuring import measure
from scoring.mechanisms.base import State, TeamState
from scoring.noise import KeyedNoise
from scoring.predictions import (
    Column,
    Predictions,
    RowIds,
    Schema,
    Solution,
    Usage,
    read_row_ids,
)
from scoring.verification.ledgers import Header, entry_line
from scoring.verification.publications import Known, Origin, Salted, write_publication

ROWS, PUBLIC = 100, 20
SCHEMA = Schema("id", (Column("label", "label", ("0", "1")),))
SALT = bytes(range(100, 132))
SECRET = bytes(range(32))
BOARD = "b" * 32
BOARDS: dict[str, dict[str, str]] = {
    "ladder": {"steps": "20"},
    "guard": {"errors": "2", "budget": "6", "team_share": "2", "steps": "20"},
    "thresholdout": {
        "threshold": "0.25", "noise_scale": "0.0125", "budget": "7", "team_share": "2",
        "steps": "20",
    },
    "sparse_validate": {"mark": "0.25", "questions": "12", "budget": "4", "team_share": "2"},
}  # fmt: skip
CLAIMING = BOARDS["thresholdout"] | {"reference": "claim"}


def row_ids() -> RowIds:
    sample = "id,label\n" + "".join(f"r{row},0\n" for row in range(ROWS))
    return read_row_ids(sample.encode(), SCHEMA)


def truth() -> "np.typing.NDArray[np.int32]":
    return (np.arange(ROWS) % 2).astype(np.int32)


def guess(wrong: Iterable[int]) -> Predictions:
    """Predictions that err on the given rows."""
    labels = truth()
    places = list(wrong)
    labels[places] = 1 - labels[places]
    return Predictions(SCHEMA, {"label": labels}, row_ids())


@dataclass(frozen=True)
class File:
    """What a team sends."""

    team: str
    wrong: tuple[int, ...]
    claimed: float = 0.0


@dataclass
class Played:
    """A competition with its ledger; `take` scores a file as `leaderboard.pipeline.release`."""

    mechanism: str = "ladder"
    parameters: dict[str, str] = field(default_factory=dict)
    weights: "np.typing.NDArray[np.float64] | None" = None
    groups: "np.typing.NDArray[np.int64] | None" = None
    metric: str = "accuracy"
    salt: bytes = SALT
    secret: bytes = SECRET

    def __post_init__(self) -> None:
        self.solution = _solution(self.weights, self.groups)
        self.salted = Salted(self.salt, self.solution.to_bytes())
        self.sealed_secret = Salted(self.salt[::-1], self.secret)
        self.rules = mechanisms.get(self.mechanism)
        self.params = self.rules.parse(self.parameters or BOARDS[self.mechanism])
        self.head = self.rules.initial_holdout(self.params)
        self.teams: dict[str, TeamState] = {}
        self.noise = KeyedNoise(self.secret, self.salted.commitment)
        self.entries: list[dict[str, Any]] = []
        self.origins: list[Origin] = []
        self.files: dict[tuple[str, int], Known] = {}
        self._stored: dict[tuple[str, str, str], dict[str, Any]] = {}

    @property
    def scoring(self) -> dict[str, Any]:
        counts = self.solution.counts()
        designs = choose_designs(self.solution)
        return ({"designs": designs} if designs else {}) | {
            "metric": self.metric,
            "metric_parameters": {},
            "mechanism": self.mechanism,
            "mechanism_parameters": self.parameters or BOARDS[self.mechanism],
            "schema": SCHEMA.to_json(),
            "row_ids_digest": self.solution.row_ids_digest,
            "solution_commitment": self.salted.commitment,
            "secret_commitment": self.sealed_secret.commitment,
            "public_rows": counts.public,
            "private_rows": counts.private,
            "effective_public_rows": self.solution.effective_rows(Usage.PUBLIC),
            "effective_private_rows": self.solution.effective_rows(Usage.PRIVATE),
        }

    @property
    def published(self) -> dict[str, Any]:
        """The same facts as a header has them: of the holdout, and of each board."""
        return published(self.scoring)

    def take(self, file: File) -> None:
        """Scores a file and writes the entry."""
        predictions = guess(file.wrong)
        measurement = measure(
            metrics.get(self.metric),
            {},
            predictions,
            self.solution,
            claims=self.rules.reference(self.params) == "claim",
            claimed=file.claimed,
        )
        team = self.teams.get(file.team)
        state = State(self.head, team or TeamState())
        question = self.rules.question(self.params, state, measurement.reference)
        key = (file.team, predictions.digest, question)
        repeat = key in self._stored
        if not repeat:
            noise = self.noise.for_question(
                predictions.digest, question, team=file.team, board=BOARD
            )
            state, answer = self.rules.step(self.params, state, measurement, noise)
            facts = self.scoring
            metric, rows = metrics.get(self.metric), facts["effective_private_rows"]
            rounding = metric.rounding(weighted=rows < facts["private_rows"])
            design = design_of(facts.get("designs", {}), Usage.PRIVATE, rows)
            interval = interval_fields(answer, rows, design=design, rounding=rounding)
            self._stored[key] = answer_fields(answer) | interval
        self.head, self.teams[file.team] = state.holdout, state.team
        number = len(self.entries) + 1
        entry = {
            "number": number,
            "board": BOARD,
            "team": file.team,
            "submission": sum(each["team"] == file.team for each in self.entries) + 1,
            **self._stored[key],
            "answered": self.head.answered,
            "log_alphabets": self.head.log_alphabets,
            "firings": self.head.firings,
            "budget_left": self.head.budget_left,
            "share_left": state.team.share_left,
            "predictions_tag": self.noise.tag(predictions.digest, team=file.team, board=BOARD),
            "question": question,
            "repeat": repeat,
            "parameters_hash": document_hash(self.scoring | {"board": BOARD}),
            "previous_hash": self.entries[-1]["hash"] if self.entries else "",
            "created_at": f"2026-01-01T00:00:{number:02}+00:00",
        }
        self.entries.append({**entry, "hash": document_hash(entry)})
        self.origins.append(Origin(number, predictions.digest, measurement))
        self.files[file.team, entry["submission"]] = Known(predictions, file.claimed)

    def lines(self, entries: Sequence[dict[str, Any]] | None = None) -> list[bytes]:
        """The ledger as it is published."""
        listed = self.entries if entries is None else list(entries)
        header = Header(
            competition="played",
            version=1,
            scoring=self.published,
            parameters_hash=document_hash(self.published),
            first=1,
            previous_hash="",
            entries=len(listed),
            head_hash=listed[-1]["hash"] if listed else "",
        )
        return [header.line(), *map(line, listed)]

    def publication(self, **changes: Any) -> io.BytesIO:
        """The publication, as it should be but for the changes."""
        file = io.BytesIO()
        given: dict[str, Any] = {
            "competition": "played",
            "version": 1,
            "solution": self.salted,
            "secret": self.sealed_secret,
            "releases": [each.line() for each in self.origins],
        }
        write_publication(file, **given | changes)
        file.seek(0)
        return file

    def recall(self, entry: Any, digest: str) -> Known | None:
        """All files are at hand."""
        return self.files.get((entry["team"], entry["submission"]))


def published(facts: dict[str, Any]) -> dict[str, Any]:
    """Flat facts, parted into those of the holdout and those of its one board."""
    names = ("metric", "metric_parameters", "mechanism", "mechanism_parameters")
    holdout = {name: value for name, value in facts.items() if name not in names}
    return {
        "holdout": holdout,
        "boards": {BOARD: {name: facts[name] for name in names if name in facts}},
    }


def line(entry: dict[str, Any]) -> bytes:
    """An entry as a line."""
    return entry_line(
        {name: value for name, value in entry.items() if name != "hash"}, entry["hash"]
    )


def rewritten(entries: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same entries with hashes that fit: what somebody would publish who rewrote them."""
    chained: list[dict[str, Any]] = []
    for entry in entries:
        body = {name: value for name, value in entry.items() if name != "hash"}
        body["previous_hash"] = chained[-1]["hash"] if chained else ""
        chained.append({**body, "hash": document_hash(body)})
    return chained


def digest_of(text: str) -> str:
    """A hash that looks like another one."""
    return hashlib.sha256(text.encode()).hexdigest()


def _solution(
    weights: "np.typing.NDArray[np.float64] | None", groups: "np.typing.NDArray[np.int64] | None"
) -> Solution:
    usage = np.full(ROWS, Usage.PRIVATE, np.int8)
    usage[:PUBLIC] = Usage.PUBLIC
    return Solution(SCHEMA, {"label": truth()}, usage, row_ids().digest, weights, groups)
