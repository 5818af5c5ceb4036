"""A segment of the ledger, computed again entry by entry.

With a publication, every answer is drawn again: from the measurement, by the mechanism, with the
noise of the published secret. Without one, the answer is taken as stated, and everything else of
the entry follows from it and from what stood before: which question it was, whether it had been
asked before, the guarantee's parts, the counts of the ledger, budget and shares.
"""

import hashlib
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Final, Protocol

from scoring import duels, gates, ledger, mechanisms, metrics
from scoring.chain import ANSWER_FIELDS, answer_fields, canonical
from scoring.errors import ConditionError, HoldfastError, ParameterError
from scoring.guarantees.certificate import interval_fields
from scoring.guarantees.groups import Design, design_of
from scoring.laws.books import Account, TeamBook
from scoring.measurement import Mean, Measurement
from scoring.measuring import measure
from scoring.mechanisms.base import HoldoutState, Mechanism, State, TeamState
from scoring.metrics import Metric
from scoring.metrics.base import FINE
from scoring.noise import KeyedNoise, Noise
from scoring.predictions import Schema, Solution, Usage
from scoring.verification import notes
from scoring.verification.differences import Differs, shown
from scoring.verification.ledgers import LAW_TYPES, TYPES, Header
from scoring.verification.publications import Compared, Gated, Lost, Origin, Recall

COUNTS: Final = ("asked", "answered", "log_alphabets")
HEAD_FIELDS: Final = ("answered", "log_alphabets", "firings", "budget_left")
_OF_ANSWER: Final = (*ANSWER_FIELDS, "low", "high", "bound")
_JOINT: Final = ""  # the account of a ledger that counts all teams together
_EXACT: Final = re.compile(r"(0|[1-9][0-9]{0,19})/([1-9][0-9]{0,19})")
# Widths come out of logarithms, which differ by a last digit between machines.
_CLOSE: Final = 1e-9

Entry = Mapping[str, Any]
_Submission = tuple[str, str, int]  # board, team, number


@dataclass(frozen=True)
class _Stored:
    """An answer that is given again, and the board that gave it."""

    board: str
    question: str
    fields: tuple[Any, ...]


@dataclass(frozen=True)
class Rules:
    """How answers are made, by the published facts."""

    board: str
    known_as: str
    mechanism: Mechanism[Any]
    parameters: Any
    metric: Metric | None
    metric_parameters: Any
    rows: int
    reference_rows: int
    design: Design
    rounding: float
    form: str

    @classmethod
    def of(cls, board: str, facts: Mapping[str, Any]) -> "Rules":
        """Return the rules of a board by its published facts. Raises Differs."""
        try:
            mechanism = mechanisms.get(facts["mechanism"])
            parameters = mechanism.parse(facts["mechanism_parameters"])
            metric = metrics.METRICS.get(facts["metric"])
            metric_parameters = metric.parse(facts["metric_parameters"]) if metric else {}
            rows = facts["effective_private_rows"]
            public = facts["effective_public_rows"]
            is_weighted = rows < facts["private_rows"]
            schema = Schema.from_json(facts["schema"])
        except (ParameterError, KeyError, TypeError, AttributeError) as error:
            raise Differs(None, "scoring", f"These facts are no competition's: {error}.") from None
        for count, least in ((rows, 1), (public, 0)):
            if type(count) is not int or count < least:
                raise Differs(None, "scoring", f"{shown(count)} is no number of rows.")
        try:
            design = design_of(facts.get("designs", {}), Usage.PRIVATE, rows)
        except (ConditionError, TypeError, AttributeError):
            raise Differs(None, "designs", "They count no rows.") from None
        return cls(
            board=board,
            known_as=facts.get("same_as", board),
            mechanism=mechanism,
            parameters=parameters,
            metric=metric,
            metric_parameters=metric_parameters,
            rows=rows,
            reference_rows=rows if mechanism.reference(parameters) == "claim" else public,
            design=design,
            rounding=metric.rounding(weighted=is_weighted) if metric else 0.0,
            form=duels.form_of(metric, schema, is_plain=not is_weighted) if metric else "",
        )

    @property
    def asked(self) -> ledger.Board:
        """Return the board as the ledger's rules know it."""
        claims = self.mechanism.reference(self.parameters) == "claim"
        public = 0 if claims else self.reference_rows
        return ledger.Board(self.board, self.mechanism, self.parameters, self.rows, public)

    @property
    def additive(self) -> bool:
        """Return whether the metric is a mean of rows' losses, so that answers are certified."""
        return self.metric is not None and self.metric.is_mean

    @property
    def resolutions(self) -> tuple[int, ...]:
        """Return the units that a row's loss may be counted in; weighted rows have their own."""
        if self.metric is None:
            return (FINE,)
        return tuple(dict.fromkeys((self.metric.units, FINE)))


class Witness(Protocol):
    """A source of what the entries of one holdout version were drawn from.

    `solution` is None where its labels may not be seen.
    """

    @property
    def noise(self) -> KeyedNoise: ...

    @property
    def solution(self) -> Solution | None: ...

    def origin(self, entry: Entry) -> Origin | Compared | Gated | Lost:
        """Return what an entry was drawn from; called in the ledger's order. Raises Differs.

        Called for answers, duels and gates; of others there is nothing to know.
        """
        ...

    def check_end(self) -> None:
        """Raise Differs if there is more than the ledger has."""
        ...


class Replay:
    """One segment. `take` its entries in order; `heads` and `teams` are the states after them.

    `heads` are by board, `teams` and `books` by board and team, `accounts` by team where each has
    its own, else under "". What heads say of the ledger as a whole (asked,
    answered, log_alphabets) is the same in all of them. A header names all boards of today, also
    those of rounds that were added later: each begins where an answer or a note first names it, so
    that nothing from before is counted as its own.
    """

    def __init__(
        self,
        header: Header,
        *,
        witness: Witness | None = None,
        recall: Recall | None = None,
        before: "Replay | None" = None,
    ) -> None:
        """Begin a segment; `before` is that of the version that this one revises."""
        self.rules = {board: Rules.of(board, facts) for board, facts in header.boards.items()}
        self.header = header
        self.witness = witness
        self.recall = recall
        self.recomputed = self.lost = self.measured = 0
        self.origin: Origin | None = None  # of the answer that was taken last
        self.terms = _terms(header)
        self.accounts: dict[str, Account] = before.accounts if before else {}
        self.books: dict[tuple[str, str], TeamBook] = before.books if before else {}
        self._answered_before: set[_Submission] = before._charged if before else set()
        self._charged: set[_Submission] = set(self._answered_before)
        self.heads: notes.Heads = dict(before.heads) if before else {}
        self.teams: notes.Teams = before.teams if before else {}
        self._merged: set[str] = set(before._merged) if before else set()
        self._revises = before is not None
        if before is not None:
            self.recomputed, self.lost = before.recomputed, before.lost
            self.measured = before.measured
        self._leads = duels.Leads()
        self._asked_duels: set[tuple[str, str]] = set()
        self._gates: dict[str, tuple[Any, ...]] = {}
        self._passed: set[tuple[str, str, str]] = set()
        self._digests: dict[int, str] = {}
        self._answered: dict[bytes, _Stored] = {}
        self._entered: set[_Submission] = set()
        self._resolutions = {board: rules.resolutions for board, rules in self.rules.items()}

    @property
    def notes(self) -> tuple[str, ...]:
        """Return what can't be checked, although predictions are at hand, and why."""
        custom = (board for board, rules in self.rules.items() if rules.metric is None)
        return tuple(
            f"The metric {self.header.boards[board]['metric']!r} is this server's own: what it "
            "measured can't be measured again here."
            for board in custom
            if self.witness and self.recall
        )

    def account(self, team: str) -> Account:
        """Return the account that a team's questions are charged to."""
        first = self.accounts.get(_JOINT, Account())
        return self.accounts.get(team, first) if self.terms.by_team else first

    def _may_begin(self, team: str) -> bool:
        """Return whether the team has an account, or a part of beta is left for one."""
        of_teams = self.accounts.keys() - {_JOINT}
        return not self.terms.by_team or team in of_teams or len(of_teams) < self.terms.parts

    def memory(self, board: str, team: str) -> dict[str, Any]:
        """Return what the laws of a board remember of a team, as it is stored."""
        book = self.books.get((board, team))
        return book.to_json() if book else {}

    def state_after(self, entry: Entry) -> State:
        """Return the states of the ledger and the team after an answer that was just taken."""
        board = entry["board"]
        return State(self.heads[board], self.teams[board, entry["team"]])

    def head(self, board: str) -> HoldoutState:
        """Return a board's head; of one that was not named yet, that with which it would begin."""
        if board in self.heads:
            return self.heads[board]
        begun = self.rules[board].mechanism.initial_holdout(self.rules[board].parameters)
        known = next(iter(self.heads.values()), begun)
        return replace(begun, **{name: getattr(known, name) for name in COUNTS})

    def take(self, entry: Entry) -> None:
        """Compute the entry again. Raises Differs at the first field that is different."""
        if self._revises != (entry["kind"] == notes.REVISION):
            raise _differs(entry, "kind", "Each later version begins with a revision, once.")
        self._revises = False
        try:
            if notes.is_note(entry):
                self._take_note(entry)
            else:
                self._take_answer(entry)
        except Differs:
            raise
        except HoldfastError as error:
            raise _differs(entry, "kind", f"No such answer is possible here: {error}") from None

    def _take_answer(self, entry: Entry) -> None:
        _check_types(entry, TYPES)
        if self.terms.version:
            _check_types(entry, LAW_TYPES)
        if entry["board"] not in self.rules:
            raise _differs(entry, "board", "The header names no such board.")
        if entry["team"] in self._merged:
            raise _differs(entry, "team", "This team was merged into another one.")
        submission = (entry["board"], entry["team"], entry["submission"])
        if submission in self._entered:
            raise _differs(entry, "submission", "This submission has an entry already.")
        self._entered.add(submission)
        rules = self.rules[entry["board"]]
        head, team = self.head(rules.board), self.teams.get((rules.board, entry["team"]))
        state = State(head, team or TeamState())
        origin = self.witness.origin(entry) if self.witness else None
        self.origin = origin if isinstance(origin, Origin) else None
        if self.witness is None or origin is None or isinstance(origin, Lost):
            self.lost += origin is not None
            self._check_as_said(entry, rules, state)
            return
        if not isinstance(origin, Origin):
            raise _differs(entry, "publication", "The publication has no answer here.")
        measurement = origin.measurement
        self._digests[entry["number"]] = origin.digest
        asked_by = {"team": entry["team"], "board": rules.known_as}
        if self.witness.noise.tag(origin.digest, **asked_by) != entry["predictions_tag"]:
            raise _differs(entry, "predictions_tag", "It is not of the published predictions.")
        self._check_rows(entry, rules, measurement)
        self._check_measurement(entry, rules, origin, self.witness.solution)
        question = rules.mechanism.question(rules.parameters, state, measurement.reference)
        noise = self.witness.noise.for_question(origin.digest, question, **asked_by)
        self._check(entry, rules, state, measurement, noise)
        self.recomputed += 1

    def _take_note(self, entry: Entry) -> None:
        if entry["kind"] == notes.REVISION:
            _same(entry, "version", self.header.version)
            if entry["rescore"] not in notes.RESCORES or type(entry["reason"]) is not str:
                raise _differs(entry, "rescore", "It names no reason, or nothing to score again.")
        boards = entry["boards"]
        if not isinstance(boards, dict) or not self.heads.keys() <= boards.keys():
            raise _differs(entry, "boards", "It lacks a board that has answered or was named.")
        if not boards or not boards.keys() <= self.rules.keys():
            raise _differs(entry, "boards", "The header names no such board.")
        self.heads = {board: self.head(board) for board in boards}
        alphabet = max(self.rules[board].parameters.alphabet for board in boards)
        self.heads, self.teams = notes.after(
            entry, self.heads, self.teams, alphabet, by_team=self.terms.by_team
        )
        takers = {
            notes.MERGE: self._merge,
            notes.DUEL: self._take_duel,
            notes.GATE: self._take_gate,
        }
        if take := takers.get(entry["kind"]):
            take(entry)
        self._charge_note(entry, alphabet)
        head = next(iter(self.heads.values()))
        for name in COUNTS:
            _same(entry, name, getattr(head, name))
        of_boards = {
            board: {"firings": each.firings, "budget_left": each.budget_left}
            for board, each in self.heads.items()
        }
        _same(entry, "boards", {board: of_boards[board] for board in sorted(of_boards)})
        self._share_counts(replace(head, log_alphabets=float(entry["log_alphabets"])))

    def _charge_note(self, entry: Entry, alphabet: int) -> None:
        """Charge what is no answer to all accounts, also to those that are still to begin."""
        # What a duel or a gate said is charged by itself.
        free = {notes.MERGE, notes.TOP_UP, notes.DUEL, notes.GATE}
        if not self.terms.version or entry["kind"] in free:
            return
        self.accounts.setdefault(_JOINT, Account())
        for name, account in self.accounts.items():
            if entry["kind"] == notes.REVISION:
                self.accounts[name] = account.revise()
            else:
                has_gates = self.terms.gate_limit is not None
                lost = entry["lost"]
                self.accounts[name] = account.write_off(lost, alphabet, gates=has_gates)

    def _merge(self, entry: Entry) -> None:
        """End a team, and carry the numbers of its submissions over to the other one."""
        team, into = entry["team"], entry["into"]
        if {team, into} & self._merged:
            raise _differs(entry, "team", "One of these teams was merged before.")
        self._merged.add(team)
        self._leads.merge(team, into)
        for board in self.rules:
            book, kept = self.books.pop((board, team), None), self.books.get((board, into))
            if book is not None:
                self.books[board, into] = kept.merge(book) if kept else book
        offset = entry["offset"]
        last = max((number for _, of, number in self._entered if of == into), default=0)
        if type(offset) is not int or offset < last:
            raise _differs(entry, "offset", "Two submissions would get the same number.")
        for numbered in (self._entered, self._charged, self._answered_before):
            found = [(board, number) for board, of, number in numbered if of == team]
            numbered.update((board, into, offset + number) for board, number in found)

    def _note_lead(self, entry: Entry, rules: Rules) -> None:
        """Remember a file that took the lead of its board: the next one is compared with it."""
        if not self.terms.version or not rules.asked.may_lead(entry["kind"]):
            return
        self._leads.note(
            duels.Lead(
                number=entry["number"],
                board=entry["board"],
                level=entry["level"],
                team=entry["team"],
                tag=entry["predictions_tag"],
                public_loss=entry["public_loss"],
            )
        )

    def _take_duel(self, entry: Entry) -> None:
        """Check that the rule asks for the duel now, its length, and its answer where it can be."""
        account = self.account(_JOINT)
        duel = self._leads.due(self._asked_duels)
        if duel is None or not duels.are_asked(self.terms, account):
            raise _differs(entry, "kind", "The rule asks for no duel here.")
        rules, better, worse = self.rules[duel.better.board], duel.better, duel.worse
        for name, value in (
            *(("board", better.board), ("entry", better.number), ("team", better.team)),
            *(("against", worse.number), ("against_team", worse.team), ("form", rules.form)),
        ):
            _same(entry, name, value)
        self._asked_duels.add(duel.key)
        length = duels.duel_length(
            self.terms, account, rules.mechanism.ledger_beta(rules.parameters)
        )
        _same(entry, "length", None if entry["yes"] is None else length)
        self._check_verdict(entry, rules, length)
        if entry["yes"] is not None:
            context = duel.context(rules.reference_rows, rules.rows)
            self.accounts[_JOINT] = duels.charge_duel(account, context, better=entry["yes"])

    def _check_verdict(self, entry: Entry, rules: Rules, length: int) -> None:
        """Compare a duel's answer with what it follows from, and that with files at hand."""
        if type(entry["yes"]) not in (bool, type(None)):
            raise _differs(entry, "yes", "It is yes, no, or nothing.")
        origin = self.witness.origin(entry) if self.witness else None
        if isinstance(origin, Origin | Gated):
            raise _differs(entry, "publication", "The publication has no duel here.")
        if entry["yes"] is None or origin is None or isinstance(origin, Lost):
            self.lost += origin is not None
            return
        _same(entry, "yes", duels.is_surely_better(origin.comparison, length))
        self.recomputed += 1
        known = [
            self.recall({**entry, "number": number}, self._digests.get(number, ""))
            for number in (entry["entry"], entry["against"])
            if self.recall
        ]
        solution = self.witness.solution if self.witness else None
        if solution is None or rules.metric is None or None in known or not known:
            return
        files = [each.predictions for each in known if each is not None]
        again = duels.compare(rules.metric, rules.metric_parameters, solution, *files)
        if again != origin.comparison:
            message = f"The publication has p = {origin.comparison.p}, not {again.p}."
            raise _differs(entry, "p", message)
        self.measured += 1

    def _take_gate(self, entry: Entry) -> None:
        """Check that the gate could be asked, its length, and the bit where it can be."""
        account, name, team = self.account(_JOINT), entry["gate"], entry["team"]
        if not gates.count_left(self.terms, account):
            raise _differs(entry, "kind", "The ledger declared fewer gates when it began.")
        asked = entry["board"], entry["asks"], entry["against"]
        if self._gates.setdefault(name, asked) != asked:
            raise _differs(entry, "asks", "This gate has asked something else before.")
        if team in self._merged:
            raise _differs(entry, "team", "This team was merged into another one.")
        named, question = (name, team, entry["submission"]), (name, team, entry["predictions_tag"])
        if named in self._entered or question in self._passed:
            raise _differs(entry, "gate", "It has answered these predictions before.")
        self._entered.add(named)
        self._passed.add(question)
        if entry["board"] not in self.rules or type(entry["yes"]) is not bool:
            raise _differs(entry, "yes", "It is yes or no, by a board of the header.")
        rules = self.rules[entry["board"]]
        beta = rules.mechanism.ledger_beta(rules.parameters)
        length = gates.gate_length(self.terms, account, beta)
        _same(entry, "length", length)
        self._check_bit(entry, rules, length)
        self.accounts[_JOINT] = gates.charge_gate(account)

    def _check_bit(self, entry: Entry, rules: Rules, length: int) -> None:
        """Compare a gate's bit with what it follows from, as far as that is known."""
        try:
            gate = gates.Gate.from_json(entry["asks"])
        except (KeyError, TypeError, ValueError, ArithmeticError):
            raise _differs(entry, "asks", "This is no gate.") from None
        if gate.compares != bool(entry["against"]):
            raise _differs(entry, "against", "It compares with another file, or with none.")
        origin = self.witness.origin(entry) if self.witness else None
        if self.witness is None or origin is None or isinstance(origin, Lost):
            self.lost += origin is not None
            return
        if not isinstance(origin, Gated):
            raise _differs(entry, "publication", "The publication has no gate here.")
        noise, evidence = self.witness.noise, origin.evidence
        for field, digest, team in (
            ("predictions_tag", origin.digest, entry["team"]),
            ("against", origin.in_use, ""),
        ):
            tag = noise.tag(digest, team=team, board=entry["gate"]) if digest else ""
            if tag != entry[field]:
                raise _differs(entry, field, "It is not of the published predictions.")
        expected = {"mark": (1, 0, 0), "not_worse": (1, 1, 0), "better": (0, 0, 1)}[gate.kind]
        has = evidence.found, evidence.known, evidence.comparison
        means = [mean for mean in (evidence.found, evidence.known) if mean is not None]
        if tuple(each is not None for each in has) != tuple(map(bool, expected)) or any(
            mean.rows != rules.rows or mean.resolution not in rules.resolutions for mean in means
        ):
            raise _differs(entry, "measurement", "It is not what this gate measures.")
        _same(entry, "yes", gates.passes(gate, evidence, length))
        self.recomputed += 1

    def _share_counts(self, head: HoldoutState) -> None:
        """Give every board's head the counts of the ledger as a whole."""
        counts = {name: getattr(head, name) for name in COUNTS}
        self.heads = {board: replace(each, **counts) for board, each in self.heads.items()}

    def _check_as_said(self, entry: Entry, rules: Rules, state: State) -> None:
        """Check with any resolution that fits; the first entry that tells them apart settles it."""
        wrong: HoldfastError | None = None
        for resolution in self._resolutions[rules.board]:
            try:
                self._check(entry, rules, state, *_account_for(entry, rules, resolution))
            except HoldfastError as error:
                wrong = wrong or error
            else:
                if wrong:
                    self._resolutions[rules.board] = (resolution,)
                return
        if wrong:
            raise wrong

    def _check(
        self, entry: Entry, rules: Rules, state: State, measurement: Measurement, noise: Noise
    ) -> None:
        """Compare the entry with the mechanism's answer, and continue from the state after it."""
        key, who = self._key(entry, rules), (rules.board, entry["team"])
        stored = self._answered.get(key)
        question = rules.mechanism.question(rules.parameters, state, measurement.reference)
        # Whatever was claimed of the same predictions later: the first claim stands.
        _same(entry, "question", stored.question if stored else question)
        _same(entry, "repeat", stored is not None)
        after = ledger.Standing(state, self.account(entry["team"]), self.books.get(who))
        submission = (*who, entry["submission"])
        if stored is None:
            after, answer, length = ledger.ask(
                self.terms,
                rules.asked,
                after,
                measurement,
                noise,
                again=submission in self._answered_before,
                may_begin=self._may_begin(entry["team"]),
                is_baseline=bool(self.terms.version) and entry["baseline"],
            )
            said = replace(answer, width=entry["width"], tolerance=entry["tolerance"])
            fields = answer_fields(answer) | {"certificate": said.certificate}
            fields |= interval_fields(
                said, rules.rows, design=rules.design, rounding=rules.rounding, length=length
            )
        else:
            length, fields = None, dict(zip(_OF_ANSWER, stored.fields, strict=True))
            if stored.board != rules.board:
                recalled = ledger.recall(state, rules.asked, entry["kind"], entry["level"])
                after = replace(after, state=recalled)
        state = after.state
        if self.terms.version:
            fields |= {
                "length": length,
                "public_loss": ledger.exact_loss(rules.asked, measurement.reference),
            }
        fields |= {name: getattr(state.holdout, name) for name in HEAD_FIELDS}
        fields["share_left"] = state.team.share_left
        for name, value in fields.items():
            _same(entry, name, value)
        if length is not None or stored is not None:
            self._charged.add(submission)
        if length is not None or not self.terms.version:
            said_now = tuple(entry[name] for name in _OF_ANSWER)
            self._answered.setdefault(key, _Stored(rules.board, question, said_now))
        self._note_lead(entry, rules)
        self._continue(entry, who, after)

    def _continue(self, entry: Entry, who: tuple[str, str], after: ledger.Standing) -> None:
        """Take what is known after an answer as what the next one begins with."""
        # From the published value, so that differing last digits don't add up.
        published = float(entry["log_alphabets"])
        head = replace(after.state.holdout, log_alphabets=published)
        self.heads[who[0]] = head
        self._share_counts(head)
        self.teams[who] = after.state.team
        if self.terms.version:
            if after.account != self.account(entry["team"]):
                self.accounts[entry["team"] if self.terms.by_team else _JOINT] = after.account
            if after.book is not None:
                self.books[who] = after.book

    def _key(self, entry: Entry, rules: Rules) -> bytes:
        """Return what has one answer: a team's predictions, and what is asked of them."""
        asked = {"team": entry["team"], "predictions_tag": entry["predictions_tag"]}
        if not self.terms.version:
            asked |= {"board": rules.board, "question": entry["question"]}
        return hashlib.sha256(canonical({"board": rules.known_as} | asked)).digest()

    def _check_rows(self, entry: Entry, rules: Rules, measurement: Measurement) -> None:
        """Check that means are of the published number of rows, in a unit that the metric has."""
        for mean, rows in (
            (measurement.holdout, rules.rows),
            (measurement.reference, rules.reference_rows),
        ):
            if mean is None:
                continue
            if mean.rows != rows or mean.resolution not in self._resolutions[rules.board]:
                raise _differs(entry, "measurement", "It is of other rows than the published ones.")
            if rules.metric is not None and mean.additive != rules.additive:
                raise _differs(entry, "measurement", "The metric does not measure like that.")
        if (measurement.reference is None) != (rules.reference_rows == 0):
            raise _differs(entry, "measurement", "It has no reference, or one of no rows.")

    def _check_measurement(
        self, entry: Entry, rules: Rules, origin: Origin, solution: Solution | None
    ) -> None:
        """Measure predictions that are at hand again, against the published solution."""
        known = self.recall(entry, origin.digest) if self.recall else None
        if known is None or rules.metric is None or solution is None:
            return
        if known.predictions.digest != origin.digest:
            raise _differs(entry, "predictions_digest", "The stored predictions are others.")
        again = measure(
            rules.metric,
            rules.metric_parameters,
            known.predictions,
            solution,
            claims=rules.mechanism.reference(rules.parameters) == "claim",
            claimed=known.claimed,
        )
        for name in ("holdout", "reference"):
            found, kept = getattr(again, name), getattr(origin.measurement, name)
            if None not in (found, kept) and found != kept:
                message = (
                    f"The publication has {kept.units} of {kept.whole} units; measured again there "
                    f"are {found.units} of {found.whole}."
                )
                raise _differs(entry, name, message)
        self.measured += 1


def _account_for(entry: Entry, rules: Rules, resolution: int) -> tuple[Measurement, Noise]:
    """Return a measurement and noise with which the mechanism gives the entry's answer."""
    loss, reference = (
        None if entry[name] is None else Fraction(entry[name], entry["steps"])
        for name in ("level", "reference_level")
    )
    units, noise = rules.mechanism.account_for(
        rules.parameters, entry["kind"], loss, rules.rows * resolution, reference
    )
    holdout = Mean(units, rules.rows, resolution, rules.additive)
    if reference is None:
        return Measurement(holdout), noise
    rows = max(1, rules.reference_rows)
    if entry.get("public_loss"):
        exact = _EXACT.fullmatch(entry["public_loss"])
        if exact is None or int(exact[2]) != rows * resolution:
            raise _differs(entry, "public_loss", "It is no number of units of these rows.")
        return Measurement(holdout, Mean(int(exact[1]), rows, resolution, rules.additive)), noise
    nearest = math.floor(reference * rows * resolution + Fraction(1, 2))
    return Measurement(holdout, Mean(nearest, rows, resolution, rules.additive)), noise


def _terms(header: Header) -> ledger.Terms:
    if not header.terms:
        return ledger.Terms()
    try:
        return ledger.Terms.from_json(header.terms)
    except (ValueError, KeyError, ZeroDivisionError) as error:
        raise Differs(None, "ledger", f"These laws and limits are impossible: {error}.") from None


def _check_types(entry: Entry, types: Mapping[str, tuple[type, ...]]) -> None:
    """Check types, that numbers are finite and not negative, and that levels are on their grid."""
    for name, kinds in types.items():
        value = entry[name]
        is_number = type(value) in (int, float)
        if type(value) not in kinds or (is_number and not 0 <= value < math.inf):
            raise _differs(entry, name, f"{shown(value)} is impossible here.")
    if entry["steps"] < 1:
        raise _differs(entry, "steps", "A grid has at least one step.")
    for name in ("level", "reference_level"):
        if entry[name] is not None and entry[name] > entry["steps"]:
            raise _differs(entry, name, "It lies beyond the grid.")


def _same(entry: Entry, name: str, computed: Any) -> None:
    found = entry[name]
    if isinstance(computed, float) and isinstance(found, float | int):
        same = math.isclose(found, computed, rel_tol=_CLOSE, abs_tol=_CLOSE)
    else:
        same = found == computed and type(found) is type(computed)
    if not same:
        raise _differs(
            entry, name, f"It is {shown(found)}; computed again it is {shown(computed)}."
        )


def _differs(entry: Entry, name: str, message: str) -> Differs:
    return Differs(entry["number"], name, message)
