"""The mechanisms as a library, for one's own validation rows: a twin of a board, without a server.

A validation score that is looked at again and again stops being one: what is chosen by it fits it.
Ask through a mechanism, and each answer comes with an interval that holds for all of them at once,
with the stated confidence, however the questions were chosen by earlier answers.

    guard = twin.Guard(private=5000, public=5000)
    answer = guard.ask(losses[5000:], losses[:5000])     # each row's loss, from 0 to 1
    answer.kind, answer.loss, answer.low, answer.high    # ("confirmed", 0.12, 0.09, 0.16)

Losses are those of single rows (0 or 1 for a wrong class, or anything between): they come from
`Competition.losses`, or from your own metric. Rows are split once, at random; `private` ones are
asked about, `public` ones may be looked at freely. docs/theory.md has the theorems; the code is
that of the server's boards.

What holds, and only as long as the private rows are looked at through the twin alone: with the
stated confidence, for all answers that have an interval, the expected loss of these predictions on
fresh rows of the same kind lies in it. Keep the object (it can be pickled): a new one would forget
what was asked.
"""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from holdfast.checking import require
from holdfast.errors import Failure

if TYPE_CHECKING:
    from fractions import Fraction

    from numpy.typing import ArrayLike

    from scoring.measurement import Mean

    Number = int | float | str | Fraction

FINE = 10**6  # units that a row's loss is counted in
_NAME = "twin"


@dataclass(frozen=True)
class Answer:
    """What a twin says of one set of predictions.

    kind: confirmed, corrected, improved, not_improved, or exhausted and limit, which say nothing.
    loss: what it shows, of these predictions or (not_improved, exhausted) of an earlier question;
        None where there is none yet.
    low, high: of the expected loss of these predictions; None where nothing is guaranteed.
    asked: the number of the question.
    """

    kind: str
    loss: float | None
    low: float | None
    high: float | None
    asked: int

    def _repr_html_(self) -> str:
        shown = {name: value for name, value in vars(self).items() if value is not None}
        texts = {name: f"{x:.4g}" if isinstance(x, float) else x for name, x in shown.items()}
        rows = "".join(f"<tr><th>{name}</th><td>{text}</td></tr>" for name, text in texts.items())
        return f"<table>{rows}</table>"


@dataclass(frozen=True)
class _Mean:
    """What mechanisms ask of a metric: a mean over rows."""

    name: str = "a mean over rows"
    kind: str = "mean"
    units: int = FINE


@dataclass(frozen=True)
class _Rows:
    public: int
    private: int


class Twin:
    """A mechanism with its ledger, asked by one analyst: a `Guard`, `Thresholdout` or `Ladder`."""

    mechanism: ClassVar[str]

    def __init__(
        self, private: int, public: int, questions: int | None, key: bytes | None, **chosen: Any
    ) -> None:
        """Begin a ledger. Raises Failure where the parameters don't fit, naming the one."""
        require("holdfast.twin", "scoring.ledger")
        from scoring import ledger, mechanisms
        from scoring.errors import ParameterError
        from scoring.laws.books import Account
        from scoring.mechanisms.base import State, TeamState
        from scoring.noise import KeyedNoise

        if questions is not None and questions < 1:
            raise Failure("questions: Give a positive number, or None for no end.")
        mechanism = mechanisms.get(self.mechanism)
        try:
            params = mechanism.parse(chosen)
            mechanism.check(params, _Mean(), _Rows(public, private))
        except ParameterError as error:
            raise Failure(str(error)) from None
        self._board = ledger.Board(_NAME, mechanism, params, private, public)
        self._terms = ledger.begin([(mechanism, self._board.laws)], question_limit=questions)
        start = State(mechanism.initial_holdout(params), TeamState())
        self._standing = ledger.Standing(start, Account())
        self._noise = KeyedNoise(key or secrets.token_bytes(32), _NAME)
        self._answers: dict[tuple[str, str], Answer] = {}

    def ask(self, private: ArrayLike, reference: ArrayLike | None = None) -> Answer:
        """Answer a question about predictions: the losses of the private rows, one for each.

        reference: the losses of the public rows; where there are none, the loss that is claimed.
        The same question again gets the same answer, at no cost. Raises Failure, and counts
        nothing, for arrays of another length or losses outside [0, 1].
        """
        from scoring.guarantees.certificate import certify
        from scoring.ledger import ask
        from scoring.measurement import Measurement

        board = self._board
        mean = _mean("private", private, board.private_rows)
        known = self._reference(mean, reference)
        digest = _digest(private, reference)
        question = board.mechanism.question(board.params, self._standing.state, known)
        if stored := self._answers.get((digest, question)):
            return stored
        noise = self._noise.for_question(digest, question, team=_NAME, board=_NAME)
        measured = Measurement(mean, known)
        self._standing, said, length = ask(self._terms, board, self._standing, measured, noise)
        found = None
        if length is not None:
            found = certify(said, board.private_rows, rounding=0.5 / FINE, length=length)
        answer = Answer(
            kind=said.kind,
            loss=None if said.loss is None else float(said.loss),
            low=None if found is None else found.low,
            high=None if found is None else found.high,
            asked=said.asked,
        )
        self._answers[digest, question] = answer
        return answer

    def half_width(self, loss: float = 0.5, ahead: int = 1) -> float | None:
        """Return how far the next answer can be off if it shows this loss; None: no guarantee.

        ahead: of the question so many from now, if those before it tell nothing; None beyond
        `questions`. It follows from what was answered, and costs nothing.
        """
        from scoring.guarantees.certificate import certify
        from scoring.ledger import foresee

        board, standing, limit = self._board, self._standing, self._terms.account_limit
        if limit is not None and standing.account.count.numbered + ahead > limit:
            return None
        beta = board.mechanism.ledger_beta(board.params)
        length = self._terms.next_length(standing.account, beta, ahead)
        level = round(loss * board.params.steps)
        said = foresee(board, standing.state.holdout, length, level, is_mean=True)
        found = certify(said, board.private_rows, rounding=0.5 / FINE, length=length)
        return None if found is None else (found.high - found.low) / 2

    @property
    def asked(self) -> int:
        """Return how many different questions were asked."""
        return self._standing.state.holdout.asked

    @property
    def corrections_left(self) -> int | None:
        """Return how many answers may still say more than "confirmed"; None: no budget."""
        state = self._standing.state
        share = state.team.share_left
        return state.holdout.budget_left if share is None else share

    def _reference(self, mean: Mean, reference: Any) -> Mean | None:
        wanted = self._board.mechanism.reference(self._board.params)
        if wanted == "claim":
            claim = -1.0 if reference is None else float(reference)
            if not 0 <= claim <= 1:
                raise Failure("reference: Give the loss that you expect, from 0 to 1.")
            return mean.claimed(claim)
        if reference is None and wanted == "public":
            raise Failure("reference: Give the losses of the public rows.")
        rows = self._board.public_rows
        return None if reference is None else _mean("reference", reference, rows)


class Guard(Twin):
    """Confirms the public loss unless the private rows differ from it by more than T, which follows
    from the loss and the rows; then shows the private loss on the grid, at one correction.

    No noise: the guarantee follows from what was said (docs/theory.md, 10.3). The default choice.

    private, public: rows of each kind. Without public rows you claim a loss with each question, and
    `threshold` is T. errors: T in standard errors. budget: corrections in all. steps: of the grid.
    questions: how many you will ask; None for no end, a little wider.
    """

    mechanism = "guard"

    def __init__(
        self,
        private: int,
        public: int = 0,
        *,
        errors: Number = 4,
        threshold: Number = "0.04",
        budget: int = 20,
        steps: int = 100,
        questions: int | None = None,
        confidence: Number = "0.95",
        key: bytes | None = None,
    ) -> None:
        super().__init__(
            private, public, questions, key, errors=errors, threshold=threshold, steps=steps,
            confidence=confidence, **_shared(public, budget),
        )  # fmt: skip


class Thresholdout(Twin):
    """Confirms the public loss unless the private one differs by more than a noisy threshold; then
    shows the private loss with noise, at one correction (Dwork et al. 2015; docs/theory.md, 1).

    noise_scale: sigma; the threshold gets 2, comparisons 4, answers 1 times as much (form "nips").
    key: of the noise, at least 32 bytes; a fresh one if left out. The rest is as of `Guard`.
    """

    mechanism = "thresholdout"

    def __init__(
        self,
        private: int,
        public: int = 0,
        *,
        threshold: Number = "0.04",
        noise_scale: Number = "0.001",
        form: str = "nips",
        budget: int = 20,
        steps: int = 100,
        questions: int | None = None,
        confidence: Number = "0.95",
        key: bytes | None = None,
    ) -> None:
        super().__init__(
            private, public, questions, key, threshold=threshold, noise_scale=noise_scale,
            form=form, steps=steps, confidence=confidence, **_shared(public, budget),
        )  # fmt: skip


class Ladder(Twin):
    """Shows a loss only if it is below the best so far by more than a step, rounded to the step
    (Blum and Hardt 2015; docs/theory.md, 3). No public rows, no noise and no budget are needed.

    steps: a step is 1 / steps. The rest is as of `Guard`.
    """

    mechanism = "ladder"

    def __init__(
        self,
        private: int,
        *,
        steps: int = 50,
        questions: int | None = None,
        confidence: Number = "0.95",
        key: bytes | None = None,
    ) -> None:
        super().__init__(private, 0, questions, key, steps=steps, confidence=confidence)


def _shared(public: int, budget: int) -> dict[str, Any]:
    """Return what Guard and Thresholdout share: one analyst has the whole budget."""
    reference = "public" if public else "claim"
    return {"budget": budget, "team_share": budget, "reference": reference}


def _mean(name: str, losses: ArrayLike, rows: int) -> Mean:
    import numpy as np

    from scoring.measurement import Mean

    array = np.asarray(losses, dtype=np.float64)
    if array.shape != (rows,):
        raise Failure(f"{name}: Give {rows:,} losses, one for each row, not {array.shape}.")
    if not ((array >= 0) & (array <= 1)).all():  # also finds what is not a number
        raise Failure(f"{name}: Losses lie between 0 and 1.")
    return Mean(int(np.rint(array * FINE).astype(np.int64).sum()), rows, FINE)


def _digest(*arrays: ArrayLike | None) -> str:
    import numpy as np

    found = hashlib.sha256()
    for array in arrays:
        data = b"" if array is None else np.asarray(array, "<f8").tobytes()
        found.update(len(data).to_bytes(8) + data)
    return found.hexdigest()
