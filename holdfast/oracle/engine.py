"""One file, one answer: reads it, measures it, asks the rules, commits, and only then says it.

The only code of an oracle that touches labels.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from fractions import Fraction
from itertools import groupby
from typing import Any, Final

from durable.watermark import Rewound, WatermarkAway
from holdfast.checking import rejected
from holdfast.errors import Conflict, Failure, Invalid, NotFound, NotNow, Refused
from holdfast.oracle.ledger import Entry, Json, Known
from holdfast.oracle.reading import Reader
from holdfast.oracle.setup import Opened
from scoring import gates, ledger
from scoring.chain import answer_fields, document_hash
from scoring.entries import entry_document
from scoring.errors import PredictionError
from scoring.measuring import measure
from scoring.predictions import Limits, Predictions, read_predictions

LONGEST_CAMPAIGN: Final = 100  # characters
MOST_LISTED: Final = 200
MB: Final = 1_000_000

# What is known before a question -> its entry, and what is known after it
_Ask = Callable[[Known], tuple[Json, Known]]


@dataclass(frozen=True)
class Declared:
    """A gate as it is asked by its name; `in_use` is the file that it compares with."""

    name: str
    uid: str
    gate: gates.Gate
    in_use: Predictions | None


class Engine:
    """The oracle behind every way to ask it; one answer at a time."""

    def __init__(self, opened: Opened, most_bytes: int = 50 * MB) -> None:
        self.setup, self.labels = opened.setup, opened.labels
        self.reader = Reader(opened.setup)
        self.limits = Limits.of_upload(most_bytes)
        self._ledger, self._noise = opened.ledger, opened.noise
        self._gates: dict[str, Declared] = {}
        self._lock = threading.Lock()

    def declare(self, declared: tuple[Declared, ...]) -> None:
        """Take gates, before anybody asks."""
        self._gates = {each.name: each for each in declared}

    def ask(self, file: bytes, *, claim: float | None = None, campaign: str = "") -> Json:
        """Return the answer to a prediction file. Raises Failure; then nothing was counted.

        The same predictions get the answer that they have had, at no cost.
        """
        _check_campaign(campaign)
        claimed = self._claimed(claim)
        predictions = self.read(file)
        board, team = self.setup.board, self.setup.team
        tag = self._noise.tag(predictions.digest, team=team, board=board)
        return self._answer(
            tag, campaign, lambda known: self._score(known, predictions, claimed, tag)
        )

    def pass_gate(self, name: str, file: bytes, *, campaign: str = "") -> Json:
        """Return a gate's bit about a prediction file. Raises Failure; then nothing was counted."""
        _check_campaign(campaign)
        if name not in self._gates:
            known = ", ".join(self._gates) or "none"
            raise _refusal(
                NotFound, "gate_unknown", f"There is no gate {name!r}; there is {known}."
            )
        declared, predictions = self._gates[name], self.read(file)
        tag = self._noise.tag(predictions.digest, team=self.setup.team, board=declared.uid)
        return self._answer(
            tag, campaign, lambda known: self._pass(known, declared, predictions, tag)
        )

    def read(self, file: bytes) -> Predictions:
        """Return the predictions of a file. Raises Rejected."""
        try:
            return read_predictions(file, self.labels.schema, self.labels.row_ids, self.limits)
        except PredictionError as error:
            raise rejected("The predictions were rejected. Nothing was counted.", error) from None

    def facts(self) -> Json:
        """Return what may be known before the first question."""
        setup, rules = self.setup, self.setup.rules
        metric = setup.metric
        known = self._known()
        board = setup.scoring["boards"][setup.board]
        rows = setup.scoring["holdout"]
        return {
            "name": setup.name,
            "metric": metric.name,
            "metric_title": metric.title,
            "direction": metric.direction,
            "mechanism": rules.mechanism.name,
            "mechanism_parameters": board["mechanism_parameters"],
            "takes_claims": self._takes_claims,
            "schema": rows["schema"],
            "rows": len(self.labels.row_ids),
            "public_rows": rows["public_rows"],
            "private_rows": rows["private_rows"],
            "limit": setup.terms.question_limit,
            "max_file_bytes": self.limits.max_bytes,
            "gates": [
                {"name": each.name, **self.reader.gate_promise(each.gate, known)}
                for each in self._gates.values()
            ],
            "left": self.reader.left(known),
            "guarantee": self.reader.guarantee(known),
            "no_guarantee": self.reader.no_guarantee,
        }

    def sample(self) -> Json:
        """Return the header of a prediction file and the ids, in the order that arrays have."""
        ids = self.labels.row_ids
        header = list(self.labels.schema.header)
        return {"header": header, "ids": [ids[row] for row in range(len(ids))]}

    def guarantee(self) -> Json:
        return self.reader.guarantee(self._known()) | {"left": self.reader.left(self._known())}

    def history(self, most: int = MOST_LISTED) -> Json:
        """Return the newest answers, the newest first."""
        with self._lock:
            known = self._ledger.known()
            found = self._ledger.newest(min(most, MOST_LISTED))
        results = [self.reader.answer(each, known, is_repeat=False) for each in found]
        return {"count": known.head.number, "results": results}

    def lines(self) -> bytes:
        """Return the ledger as it is published."""
        with self._lock:
            return b"".join(self._ledger.lines(self.setup))

    @property
    def _takes_claims(self) -> bool:
        rules = self.setup.rules
        return rules.mechanism.reference(rules.parameters) == "claim"

    def _known(self) -> Known:
        with self._lock:
            return self._ledger.known()

    def _claimed(self, claim: float | None) -> Fraction | None:
        if (claim is None) == self._takes_claims:
            what = "no claims" if claim is not None else "a claimed score with each file"
            raise _refusal(Invalid, "claim", f"This oracle takes {what}. Nothing was counted.")
        if claim is None:
            return None
        rules = self.setup.rules
        low, high = sorted(self.setup.metric.score_range(rules.metric_parameters))
        if not low <= claim <= high:
            text = f"A claim is a score from {low:g} to {high:g}. Nothing was counted."
            raise _refusal(Invalid, "claim", text)
        return Fraction(self.setup.metric.loss(claim, rules.metric_parameters))

    def _answer(self, tag: str, campaign: str, ask: _Ask) -> Json:
        """Give the stored answer, or commit a new one; nothing is said before it is on the disk."""
        uid = self.setup.uid
        with self._lock:
            try:
                self._ledger.check(uid)
                stored = self._ledger.find(tag)
                if stored is not None:
                    known = self._ledger.known()
                    return self.reader.answer(stored, known, is_repeat=True)
                entry, after = self._write(ask, campaign)
                self._ledger.note(uid)
            except Rewound as rewound:
                text = f"The ledger is older than what it has answered. {rewound}"
                raise _refusal(Conflict, "rewound", text) from None
            except WatermarkAway as away:
                raise _refusal(NotNow, "watermark_away", str(away)) from None
            return self.reader.answer(entry, after, is_repeat=False)

    def _write(self, ask: _Ask, campaign: str) -> tuple[Entry, Known]:
        known = self._ledger.known()
        document, after = ask(known)
        after = replace(after, submissions=known.submissions + 1)
        cost = self.setup.terms.cost(known.standing.account, after.standing.account)
        entry = Entry(document, document_hash(document), campaign, cost or 0)
        with self._ledger.transaction():
            self._ledger.append(entry, after)
        return entry, after

    def _score(
        self, known: Known, predictions: Predictions, claimed: Fraction | None, tag: str
    ) -> tuple[Json, Known]:
        """Return the entry of a question to the board, and what is known after it."""
        setup, rules = self.setup, self.setup.rules
        measured = measure(
            self.setup.metric,
            rules.metric_parameters,
            predictions,
            self.labels.solution,
            claims=self._takes_claims,
            claimed=claimed,
        )
        state = known.standing.state
        question = rules.mechanism.question(rules.parameters, state, measured.reference)
        by = {"team": setup.team, "board": setup.board}
        noise = self._noise.for_question(predictions.digest, question, **by)
        standing, said, length = ledger.ask(
            setup.terms, rules.asked, known.standing, measured, noise
        )
        head, team = standing.state.holdout, standing.state.team
        own = {
            "number": known.head.number + 1,
            **answer_fields(said),
            **setup.bounds.fields(said, length),
            **vars(head),
            "share_left": team.share_left,
            "predictions_tag": tag,
            "question": question,
            "parameters_hash": setup.parameters_hash,
            "previous_hash": known.head.hash,
        }
        document = entry_document(
            own,
            **by,
            submission=known.submissions + 1,
            repeat=False,
            created_at=datetime.now(UTC).isoformat(timespec="seconds"),
            of_laws={
                "length": length,
                "public_loss": ledger.exact_loss(rules.asked, measured.reference),
                "baseline": False,
            },
        )
        return document, replace(known, standing=standing)

    def _pass(
        self, known: Known, declared: Declared, predictions: Predictions, tag: str
    ) -> tuple[Json, Known]:
        """Return the note of a gate's answer, and what is known after it."""
        setup, rules, gate = self.setup, self.setup.rules, declared.gate
        account = known.standing.account
        if not gates.count_left(setup.terms, account):
            limit = setup.terms.gate_limit
            text = f"All {limit} gates that were declared are used. Nothing was counted."
            raise _refusal(Conflict, "gate_closed", text)
        beta = rules.mechanism.ledger_beta(rules.parameters)
        length = gates.gate_length(setup.terms, account, beta)
        evidence = gates.measure(
            gate,
            self.setup.metric,
            rules.metric_parameters,
            self.labels.solution,
            predictions,
            declared.in_use,
        )
        against = ""
        if declared.in_use is not None and gate.compares:
            against = self._noise.tag(declared.in_use.digest, team="", board=declared.uid)
        head = known.standing.state.holdout
        document = {
            "number": known.head.number + 1,
            "kind": "gate",
            "gate": declared.uid,
            "board": setup.board,
            "asks": gate.to_json(),
            "against": against,
            "team": setup.team,
            "submission": known.submissions + 1,
            "predictions_tag": tag,
            "length": length,
            "yes": gates.passes(gate, evidence, length),
            **{name: getattr(head, name) for name in ("asked", "answered", "log_alphabets")},
            "boards": {setup.board: {"firings": head.firings, "budget_left": head.budget_left}},
            "parameters_hash": document_hash(setup.scoring["holdout"]),
            "previous_hash": known.head.hash,
            "created_at": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        standing = replace(known.standing, account=gates.charge_gate(account))
        return document, replace(known, standing=standing)


def _check_campaign(name: str) -> None:
    if len(name) > LONGEST_CAMPAIGN or not name.isprintable():
        text = (
            f"campaign: one line of at most {LONGEST_CAMPAIGN} characters was expected, "
            f"not {len(name)} characters of text. Nothing was counted."
        )
        raise _refusal(Invalid, "campaign", text)


def _refusal(kind: type[Refused], code: str, text: str) -> Refused:
    refused = kind(text)
    refused.code = code
    return refused


def campaigns(reader: Reader, entries: list[Entry]) -> list[Json]:
    """Return what was told to each campaign, by name."""
    ordered = sorted(entries, key=lambda entry: entry.campaign)
    return [
        {"campaign": name, **reader.exposure(found)}
        for name, found in groupby(ordered, key=lambda entry: entry.campaign)
    ]


def problem_of(failure: Failure) -> Json:
    """Return a failure as a problem document (RFC 9457)."""
    problems: Any = getattr(failure, "problems", ())
    found: Json = {"code": failure.code, "title": failure.message, "detail": failure.message}
    if problems:
        found["errors"] = list(problems)
    return found
