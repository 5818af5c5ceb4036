"""What a ledger has answered, as objects of the API and in words; it follows from what is public.

Names are those of a site's API where both have the same: submissions, releases, guarantees.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Final

from holdfast.oracle.ledger import Entry, Json, Known, Setup
from scoring import ledger as rules
from scoring.gates import Gate, count_left, gate_length, promise
from scoring.guarantees.ledger import NO_CERTIFICATE
from scoring.laws.books import Account
from scoring.laws.exact import MILLION
from scoring.mechanisms import answer_kind
from scoring.scales import Interval, reach, round_up

_PACE_FROM: Final = 10  # questions; after fewer nobody knows the pace
_USUAL_LOSS: Final = 0.25  # of a good file, where none has a score yet
_DIGITS: Final = 6
_NOTHING: Final = {
    "exhausted": "No corrections or passes are left: the oracle answers no more files.",
    "limit": "The limit of questions is reached: the oracle answers no more files.",
}


@dataclass(frozen=True)
class Reader:
    """What entries of one oracle's ledger mean."""

    setup: Setup

    @property
    def no_guarantee(self) -> str:
        """Return why scores have no guarantee, plainly; empty where they can have one."""
        metric = self.setup.metric
        if metric.is_mean:
            return ""
        return f"No guarantee. {metric.title}: {metric.guarantee}"

    def answer(self, entry: Entry, known: Known, *, is_repeat: bool) -> Json:
        """Return what is sent as the answer to a file."""
        said = self.gate(entry) if entry.is_gate else self.released(entry)
        summary = self.summary(entry)
        if is_repeat:
            summary += " The same predictions were asked about before: the same answer, at no cost."
        return {
            "number": entry.document["submission"],
            "status": "released",
            "summary": summary,
            "campaign": entry.campaign,
            "created_at": entry.document["created_at"],
            **said,
            "is_repeat": is_repeat,
            "left": self.left(known),
        }

    def released(self, entry: Entry) -> Json:
        """Return an answer of the board."""
        document, scale = entry.document, self.setup.scale
        kind, level, steps = document["kind"], document["level"], document["steps"]
        shows = answer_kind(kind).shows
        loss = None if level is None or shows == "none" else level / steps
        certificate = self._certificate(document)
        release: Json = {
            "kind": kind,
            "score": None if loss is None else float(scale.text(loss).lstrip("<> ")),
            "score_text": None if loss is None else scale.text(loss),
            "certificate": certificate and _rounded(certificate),
            "guarantee_text": "none",
            "share_left": document["share_left"],
        }
        if certificate and loss is not None:
            release["guarantee_text"] = f"±{reach(certificate, scale.score(loss))}"
        return {"release": release}

    def gate(self, entry: Entry) -> Json:
        """Return an answer of a gate: one bit, and how far it may err."""
        document = entry.document
        asked = Gate.from_json(document["asks"])
        rules_, rows = self.setup.rules, self.setup.rules.rows
        found = promise(asked, document["length"], rows, rules_.rounding)
        of_gate = {"asks": document["asks"], "passed": document["yes"], "high": found.high}
        return {"gate": of_gate | {"low": found.low}}

    def summary(self, entry: Entry) -> str:
        """Return an answer in words."""
        document = entry.document
        if entry.is_gate:
            return "Passed." if document["yes"] else "Not passed."
        kind, scale = answer_kind(document["kind"]), self.setup.scale
        if kind.bounds == "nothing":
            return _NOTHING[kind.code]
        level, reference, steps = (document[name] for name in ("level", "reference_level", "steps"))
        unit, left = self.setup.rules.mechanism.unit, document["share_left"]
        values = {
            "score": None if level is None else scale.text(level / steps),
            "step": None if level is None else scale.step_text(level / steps),
            scale.reference: None if reference is None else scale.text(reference / steps),
            "left": unit and left is not None and (unit.one if left == 1 else unit.several),
        }
        values["left"] = values["left"].format(count=left) if values["left"] else None
        sentences = [each.format(**values) for each in kind.select_sentences(values)]
        return " ".join([*sentences, *filter(None, [self.no_guarantee])])

    def left(self, known: Known) -> Json:
        """Return what may still be asked; None where nothing limits it."""
        account, terms = known.standing.account, self.setup.terms
        limit, state = terms.account_limit, known.standing.state
        share = state.team.share_left
        gates = None if terms.gate_limit is None else count_left(terms, account)
        return {
            "questions": None if limit is None else max(0, limit - account.count.numbered),
            "answers": state.holdout.budget_left if share is None else share,
            "gates": gates,
        }

    def guarantee(self, known: Known) -> Json:
        """Return what the oracle promises of its best score: now, and at the limit at this pace."""
        setup, scale = self.setup, self.setup.scale
        answered, limit = known.standing.account.count.numbered, setup.terms.account_limit
        rules_ = setup.rules
        best, steps = known.standing.state.team.best, rules_.parameters.steps
        level = round(_USUAL_LOSS * steps) if best is None else best
        now = self._interval(known, level, 0 if answered == limit else 1)
        has_pace = limit is not None and answered >= _PACE_FROM
        end = self._interval(known, level, limit - answered) if limit and has_pace else None
        score = scale.text(level / steps)
        return {
            "sentence": self._sentence(known, score, now),
            "questions_text": _questions(answered, limit),
            "score_text": score,
            "half_width": _half(now),
            "interval": now and _rounded(now),
            "half_width_at_end": _half(end),
            "confidence": float(rules_.parameters.confidence),
            "answered": answered,
            "limit": limit,
        }

    def exposure(self, entries: Iterable[Entry]) -> Json:
        """Return what answers have told: questions, informative ones, gates, nats."""
        questions = informative = gates = nats = 0
        for entry in entries:
            nats += entry.nats
            gates += entry.is_gate
            questions += not entry.is_gate and entry.document["length"] is not None
            informative += entry.says_more
        return {
            "questions": questions,
            "informative": informative,
            "gates": gates,
            "nats": round(nats / MILLION, _DIGITS),
        }

    def gate_promise(self, asked: Gate, known: Known) -> Json:
        """Return how far the answers of a gate may err now, in losses."""
        rules_ = self.setup.rules
        beta = rules_.mechanism.ledger_beta(rules_.parameters)
        length = gate_length(self.setup.terms, known.standing.account, beta)
        found = promise(asked, length, rules_.rows, rules_.rounding)
        return {"asks": asked.to_json(), "high": found.high, "low": found.low}

    def _certificate(self, document: Json) -> Interval | None:
        low, high = document["low"], document["high"]
        return None if low is None or high is None else self.setup.scale.interval(low, high)

    def _sentence(self, known: Known, score: str, now: Interval | None) -> str:
        if self.no_guarantee:
            return self.no_guarantee
        if not self.setup.rules.mechanism.shows_scores:
            return "It shows no scores: each answer is one bit."
        if now is None:
            first = self._interval(self.setup.begin(), round(_USUAL_LOSS * self._steps), 1)
            why = "Too many scores have been given out" if first else "These rows are too few"
            return f"{why} for a guarantee; these are ordinary scores."
        confidence = f"{100 * float(self.setup.rules.parameters.confidence):.4g} % confidence"
        text = round_up((now.high - now.low) / 2)
        low, high = now.outward(len(text.partition(".")[2]))
        if known.standing.state.team.best is None:
            return f"A score of {score} would be known to ±{text}: between {low} and {high}."
        return (
            f"The best score is known to ±{text}, however many files were asked about: its expected"
            f" value is between {low} and {high} ({confidence})."
        )

    @property
    def _steps(self) -> int:
        return int(self.setup.rules.parameters.steps)

    def _interval(self, known: Known, level: int, ahead: int) -> Interval | None:
        """Return the interval of a level by the question that is so many ahead.

        The questions before it tell as much as those so far did. None where nothing is promised.
        """
        setup, rules_ = self.setup, self.setup.rules
        if self.no_guarantee or not rules_.mechanism.shows_scores:
            return None
        account, terms = known.standing.account, setup.terms
        numbered, code = account.count.numbered, account.length(terms.weight)
        fresh = Account().length(terms.weight)
        code += (code - fresh) * max(ahead - 1, 0) // max(numbered, 1)
        beta = rules_.mechanism.ledger_beta(rules_.parameters)
        length = terms.length_at(max(numbered + ahead, 1), code, beta)
        head = known.standing.state.holdout
        said = rules.foresee(rules_.asked, head, length, level, is_mean=True)
        found = setup.bounds.certify(replace(said, level=level), length)
        shown = level / self._steps
        if found is None or max(shown - found.low, found.high - shown) >= NO_CERTIFICATE:
            return None
        return setup.scale.interval(found.low, found.high)


def _questions(answered: int, limit: int | None) -> str:
    if limit is not None:
        return f"{answered:,} of {limit:,} questions answered."
    return (
        f"{answered:,} {'question' if answered == 1 else 'questions'} answered; there is no limit."
    )


def _half(interval: Interval | None) -> float | None:
    return None if interval is None else round((interval.high - interval.low) / 2, _DIGITS)


def _rounded(interval: Interval) -> dict[str, Any]:
    return {"low": round(interval.low, _DIGITS), "high": round(interval.high, _DIGITS)}
