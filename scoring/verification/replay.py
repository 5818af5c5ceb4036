"""A segment of the ledger, computed again entry by entry.

With an opening, every answer is drawn again: from the measurement, by the mechanism, with the noise
of the opened secret. Without one, the answer itself is taken as said, and everything else of the
entry follows from it and from what stood before: which question it was, whether it had been asked
before, the certificate's parts, the counts of the ledger, budget and shares.
"""

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Final, Protocol

from scoring import mechanisms, metrics
from scoring.chain import ANSWER_FIELDS, answer_fields, canonical
from scoring.errors import HoldfastError, ParameterError
from scoring.measurement import Mean, Measurement
from scoring.measuring import measure
from scoring.mechanisms.base import Mechanism, State, TeamState
from scoring.metrics import Metric
from scoring.metrics.base import FINE
from scoring.noise import KeyedNoise, Noise
from scoring.predictions import Solution
from scoring.verification import notes
from scoring.verification.differences import Differs, shown
from scoring.verification.ledgers import Header
from scoring.verification.openings import Lost, Opened, Recall

HEAD_FIELDS: Final = ("answered", "log_alphabets", "firings", "budget_left")
# Widths come out of logarithms, which differ by a last digit between machines.
_CLOSE: Final = 1e-9

Entry = Mapping[str, Any]


@dataclass(frozen=True)
class Rules:
    """What the published facts say of how answers are made."""

    mechanism: Mechanism[Any]
    parameters: Any
    metric: Metric | None
    metric_parameters: Any
    rows: int
    reference_rows: int

    @classmethod
    def of(cls, header: Header) -> "Rules":
        """Read the rules from a header. Raises Differs where the facts can't be a competition's."""
        facts = header.scoring
        try:
            mechanism = mechanisms.get(facts["mechanism"])
            parameters = mechanism.parse(facts["mechanism_parameters"])
            metric = metrics.METRICS.get(facts["metric"])
            metric_parameters = metric.parse(facts["metric_parameters"]) if metric else {}
            rows = facts["effective_private_rows"]
            public = facts["effective_public_rows"]
        except (ParameterError, KeyError, TypeError, AttributeError) as error:
            raise Differs(None, "scoring", f"These facts are no competition's: {error}.") from None
        for count, least in ((rows, 1), (public, 0)):
            if type(count) is not int or count < least:
                raise Differs(None, "scoring", f"{shown(count)} is no number of rows.")
        reference_rows = rows if mechanism.reference(parameters) == "claim" else public
        return cls(mechanism, parameters, metric, metric_parameters, rows, reference_rows)

    @property
    def additive(self) -> bool:
        """Whether the metric is a mean of the rows' losses, so that answers are certified."""
        return self.metric is not None and self.metric.is_mean

    @property
    def resolutions(self) -> tuple[int, ...]:
        """The units in which a row's loss may have been counted; weighted rows have their own."""
        if self.metric is None:
            return (FINE,)
        return tuple(dict.fromkeys((self.metric.resolution(self.metric_parameters), FINE)))


class Witness(Protocol):
    """Who knows what the entries of one holdout version were drawn from.

    `solution` is None where its labels may not be seen.
    """

    @property
    def noise(self) -> KeyedNoise: ...

    @property
    def solution(self) -> Solution | None: ...

    def opened(self, entry: Entry) -> Opened | Lost:
        """Return what an entry was drawn from; asked in the ledger's order. Raises Differs."""
        ...

    def check_end(self) -> None:
        """Raise Differs if there is more than the ledger has."""
        ...


class Replay:
    """One segment. `take` its entries in order; `head` and `teams` are the states after them."""

    def __init__(
        self,
        header: Header,
        *,
        opening: Witness | None = None,
        recall: Recall | None = None,
        before: "Replay | None" = None,
    ) -> None:
        """Start a segment; `before` is that of the version that this one corrects."""
        self.rules = Rules.of(header)
        self._version = header.version
        self.opening = opening
        self.recall = recall
        self.recomputed = self.lost = self.measured = 0
        self.head = self.rules.mechanism.initial_holdout(self.rules.parameters)
        self.teams: dict[str, TeamState] = {}
        self._corrects = before is not None
        if before is not None:
            self.head, self.teams = before.head, before.teams
        self._answered: dict[bytes, tuple[Any, ...]] = {}
        self._entered: set[tuple[int, int]] = set()
        self._resolutions = self.rules.resolutions

    def take(self, entry: Entry) -> None:
        """Compute the entry again. Raises Differs at the first field that is another."""
        if self._corrects != (entry["kind"] == notes.CORRECTION):
            raise _differs(entry, "kind", "Each later version begins with a correction, once.")
        self._corrects = False
        try:
            if notes.is_note(entry):
                self._take_note(entry)
                return
            _check_types(entry)
            submission = (entry["team"], entry["submission"])
            if submission in self._entered:
                raise _differs(entry, "submission", "This submission has an entry already.")
            self._entered.add(submission)
            self._compare(entry)
        except Differs:
            raise
        except HoldfastError as error:
            raise _differs(entry, "kind", f"No such answer is possible here: {error}") from None

    def _take_note(self, entry: Entry) -> None:
        if entry["kind"] == notes.CORRECTION:
            _same(entry, "version", self._version)
        alphabet = self.rules.parameters.alphabet
        self.head, self.teams = notes.after(entry, self.head, self.teams, alphabet)
        for name in ("asked", *HEAD_FIELDS):
            _same(entry, name, getattr(self.head, name))
        self.head = replace(self.head, log_alphabets=float(entry["log_alphabets"]))

    def _compare(self, entry: Entry) -> None:
        team = self.teams.get(entry["team"])
        if team is None:
            state = State(*self.rules.mechanism.initial_team(self.rules.parameters, self.head))
        else:
            state = State(self.head, team)
        if self.opening is None:
            self._check_as_said(entry, state)
            return
        opened = self.opening.opened(entry)
        if isinstance(opened, Lost):
            self.lost += 1
            self._check_as_said(entry, state)
            return
        asked_by = {"team": entry["team"], "board": entry["board"]}
        if self.opening.noise.tag(opened.digest, **asked_by) != entry["predictions_tag"]:
            raise _differs(entry, "predictions_tag", "It is not of the opened predictions.")
        self._check_rows(entry, opened.measurement)
        self._check_measurement(entry, opened)
        question = self._question(entry, state, opened.measurement)
        noise = self.opening.noise.for_question(opened.digest, question, **asked_by)
        self._check(entry, state, opened.measurement, noise)
        self.recomputed += 1

    def _check_as_said(self, entry: Entry, state: State) -> None:
        """Check in whichever resolution fits; the first entry that tells them apart settles it."""
        wrong: HoldfastError | None = None
        for resolution in self._resolutions:
            try:
                self._check(entry, state, *_account_for(entry, self.rules, resolution))
            except HoldfastError as error:
                wrong = wrong or error
            else:
                if wrong:
                    self._resolutions = (resolution,)
                return
        if wrong:
            raise wrong

    def _question(self, entry: Entry, state: State, measurement: Measurement) -> str:
        return self.rules.mechanism.question(self.rules.parameters, state, measurement.reference)

    def _check(self, entry: Entry, state: State, measurement: Measurement, noise: Noise) -> None:
        """Compare the entry with what the mechanism says, and go on from the state after it."""
        _same(entry, "question", self._question(entry, state, measurement))
        key = _key(entry)
        stored = self._answered.get(key)
        _same(entry, "repeat", stored is not None)
        if stored is None:
            state, answer = self.rules.mechanism.step(
                self.rules.parameters, state, measurement, noise
            )
            fields = answer_fields(answer)
            fields["certificate"] = replace(
                answer, width=entry["width"], tolerance=entry["tolerance"]
            ).certificate
        else:
            fields = dict(zip(ANSWER_FIELDS, stored, strict=True))
        fields |= {name: getattr(state.holdout, name) for name in HEAD_FIELDS}
        fields["share_left"] = state.team.share_left
        for name, value in fields.items():
            _same(entry, name, value)
        # What was published goes on, so that a last digit that differs does not add up.
        self.head = replace(state.holdout, log_alphabets=float(entry["log_alphabets"]))
        self.teams[entry["team"]] = state.team
        self._answered.setdefault(key, tuple(entry[name] for name in ANSWER_FIELDS))

    def _check_rows(self, entry: Entry, measurement: Measurement) -> None:
        """Check that the opened means are of as many rows as published, in a unit of the metric."""
        for mean, rows in (
            (measurement.holdout, self.rules.rows),
            (measurement.reference, self.rules.reference_rows),
        ):
            if mean is None:
                continue
            if mean.rows != rows or mean.resolution not in self._resolutions:
                raise _differs(entry, "measurement", "It is of other rows than the published ones.")
            if self.rules.metric is not None and mean.additive != self.rules.additive:
                raise _differs(entry, "measurement", "The metric does not measure like that.")
        if (measurement.reference is None) != (self.rules.reference_rows == 0):
            raise _differs(entry, "measurement", "It has no reference, or one of no rows.")

    def _check_measurement(self, entry: Entry, opened: Opened) -> None:
        """Measure predictions that are at hand again, against the opened solution."""
        known = self.recall(entry, opened.digest) if self.recall else None
        metric, solution = self.rules.metric, self.opening.solution if self.opening else None
        if known is None or metric is None or solution is None:
            return
        if known.predictions.digest != opened.digest:
            raise _differs(entry, "predictions_digest", "The stored predictions are others.")
        again = measure(
            metric,
            self.rules.metric_parameters,
            known.predictions,
            solution,
            claims=self.rules.mechanism.reference(self.rules.parameters) == "claim",
            claimed=known.claimed,
        )
        if again.holdout != opened.measurement.holdout:
            raise _differs(entry, "holdout", _other_mean(again.holdout, opened.measurement.holdout))
        found, kept = again.reference, opened.measurement.reference
        if found is not None and kept is not None and found != kept:
            raise _differs(entry, "reference", _other_mean(found, kept))
        self.measured += 1


def _account_for(entry: Entry, rules: Rules, resolution: int) -> tuple[Measurement, Noise]:
    """Return a measurement and noise with which the mechanism gives the entry's answer."""
    loss, reference = (
        None if entry[name] is None else Fraction(entry[name], entry["steps"])
        for name in ("level", "reference_level")
    )
    units, noise = rules.mechanism.account_for(
        rules.parameters, entry["kind"], loss, rules.rows * resolution
    )
    holdout = Mean(units, rules.rows, resolution, rules.additive)
    if reference is None:
        return Measurement(holdout), noise
    rows = max(1, rules.reference_rows)
    nearest = math.floor(reference * rows * resolution + Fraction(1, 2))
    return Measurement(holdout, Mean(nearest, rows, resolution, rules.additive)), noise


_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    **dict.fromkeys(("submission", "steps", "asked", "answered", "firings"), (int,)),
    **dict.fromkeys(("level", "reference_level", "budget_left", "share_left"), (int, type(None))),
    **dict.fromkeys(("board", "team", "kind", "question", "predictions_tag", "created_at"), (str,)),
    **dict.fromkeys(("width", "tolerance", "log_alphabets"), (float, int)),
    "certificate": (float, int, type(None)),
    "repeat": (bool,),
}


def _check_types(entry: Entry) -> None:
    """Check the types, and that numbers are finite and not negative, and levels on their grid."""
    for name, kinds in _TYPES.items():
        value = entry[name]
        if type(value) not in kinds:
            raise _differs(entry, name, f"{shown(value)} is impossible here.")
        if type(value) in (int, float) and not 0 <= value < math.inf:
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


def _key(entry: Entry) -> bytes:
    """Return what makes two questions the same: board, team, predictions and what is asked."""
    asked = {name: entry[name] for name in ("board", "team", "predictions_tag", "question")}
    return hashlib.sha256(canonical(asked)).digest()


def _other_mean(again: Mean, kept: Mean) -> str:
    return (
        f"The opening has {kept.units} of {kept.whole} units; measured again there are "
        f"{again.units} of {again.whole}."
    )


def _differs(entry: Entry, name: str, message: str) -> Differs:
    return Differs(entry["number"], name, message)
