"""Gates as programs and people see them: what each asks, and what its answers promise now."""

from dataclasses import dataclass
from datetime import datetime

from leaderboard.errors import Refused
from leaderboard.ledger.gates import Ground, check_may_ask, ground_of, read
from leaderboard.models import Gate, Holdout, Ledger, Round, Submission
from leaderboard.queries.certificates import round_up
from leaderboard.queries.moments import to_the_second
from leaderboard.queries.scales import Scale, scale
from scoring.gates import Reading


@dataclass(frozen=True)
class GateRow:
    """A gate. `bound`, `high`, `low` and `margin` are in units of the score.

    high: a pass promises this, of a mark the score that a file surely has, else how much it may
    lose at most. low: what a fail promises, None where it says nothing. announced: how far answers
    may err at most, if that was said. closed: why it takes no new question; "" where it does.
    in_use: the number of the submission that it compares with. left: of the ledger, for all gates.
    """

    name: str
    uid: str
    kind: str
    board: str
    metric: str
    bound: float
    differing: float
    margin: float
    announced: float | None
    high: float
    low: float | None
    asks: str
    on_pass: str
    on_fail: str
    in_use: int | None
    left: int
    limit: int
    closed: str
    created_at: datetime
    retired_at: datetime | None


@dataclass(frozen=True)
class GateAnswer:
    """What a gate said of a submission, and what that promised when it was asked.

    is_repeat: the stored answer of the same predictions, for which nothing was asked.
    """

    gate: str
    passed: bool
    is_repeat: bool
    asks: str
    promise: str
    earlier: bool
    left: int
    limit: int

    @property
    def mark(self) -> str:
        """Return the shape by which it is shown."""
        return "pass" if self.passed else "fail"

    @property
    def word(self) -> str:
        """Return the answer in one word."""
        return "Passed" if self.passed else "Failed"


def gates(round: Round, *, retired: bool = False) -> list[GateRow]:
    """Return the gates of a round in the order in which they were made."""
    holdout, ledger = round.active_holdout, round.ledger
    if ledger is None or holdout is None or ledger.gate_limit is None:
        return []
    rows = round.gates.all() if retired else round.gates.open()
    return [gate_row(each, ledger, holdout) for each in rows.select_related("board", "in_use")]


def shown_gate(gate: Gate) -> GateRow:
    """Return a gate by itself."""
    holdout, ledger = gate.round.active_holdout, gate.round.ledger
    assert holdout is not None  # noqa: S101  (a gate is of an open round)
    assert ledger is not None  # noqa: S101
    return gate_row(gate, ledger, holdout)


def gate_row(gate: Gate, ledger: Ledger, holdout: Holdout) -> GateRow:
    """Return a gate as it is now, on a ledger that declared some."""
    ground = ground_of(gate.board, ledger, holdout)
    reads, now = scale(gate.board), read(gate.question, gate.board, ground)
    try:
        check_may_ask(gate, ledger, holdout)
    except Refused as refused:
        closed = refused.detail
    else:
        closed = ""
    asks, on_pass, on_fail = in_words(gate, reads, now)
    return GateRow(
        name=gate.name,
        uid=gate.uid,
        kind=gate.kind,
        board=gate.board.uid,
        metric=gate.board.metric,
        bound=now.bound,
        differing=float(gate.question.differing),
        margin=now.margin,
        announced=gate.margin,
        high=now.high,
        low=now.low,
        asks=asks,
        on_pass=on_pass,
        on_fail=on_fail,
        in_use=gate.in_use.number if gate.in_use else None,
        left=ground.left,
        limit=ledger.gate_limit or 0,
        closed=closed,
        created_at=to_the_second(gate.created_at),
        retired_at=to_the_second(gate.retired_at),
    )


def gate_answer(submission: Submission) -> GateAnswer | None:
    """Return what a gate said of a submission; None where it was asked nothing, or is not done."""
    note, gate = submission.gate_answer, submission.gate
    if note is None or gate is None:
        return None
    holdout, ledger = note.holdout, note.holdout.ledger
    ground = ground_of(gate.board, ledger, holdout)
    then = Ground(note.document["length"], ground.rows, ground.rounding, ground.left)
    words = in_words(gate, scale(gate.board), read(gate.question, gate.board, then))
    passed = bool(note.document["yes"])
    return GateAnswer(
        gate=gate.name,
        passed=passed,
        is_repeat=not submission.takes_quota,
        asks=words[0],
        promise=words[1] if passed else words[2],
        earlier=holdout.retired_at is not None,
        left=ground.left,
        limit=ledger.gate_limit or 0,
    )


def gates_left(round: Round) -> tuple[int, int] | None:
    """Return how many gates the ledger still answers, of how many; None where none was declared."""
    holdout, ledger = round.active_holdout, round.ledger
    if ledger is None or holdout is None or ledger.gate_limit is None:
        return None
    return ground_of(round.board, ledger, holdout).left, ledger.gate_limit


def in_words(gate: Gate, reads: Scale, now: Reading) -> tuple[str, str, str]:
    """Return what a gate asks, and what a pass and a fail mean, as sentences."""
    if gate.kind == "mark":
        at_least, at_most = ("at least", "at most") if reads.maximize else ("at most", "at least")
        low = now.low if now.low is not None else now.bound
        return (
            f"Is the score {at_least} {_score(now.bound)}?",
            f"Its true score is {at_least} {_toward(now.high, reads, better=False)}.",
            f"Its true score is {at_most} {_toward(low, reads, better=True)}.",
        )
    if gate.kind == "better":
        return (
            "Is it surely better than the version in use?",
            "It is truly better than the version in use.",
            "That says nothing: it may be better, by less than these rows can show.",
        )
    share = float(gate.question.differing)
    differing = f" Files may differ on {100 * share:.4g} % of the rows." if share < 1 else ""
    low = now.low if now.low is not None else now.bound
    worse = (
        f"It truly loses at least {_down(low)} against the version in use."
        if low > 0
        else f"It truly gains at most {round_up(-low)} over the version in use."
    )
    if share < 1:
        worse = f"{worse[:-1]}, or it differs on more of the private rows than announced."
    return (
        f"Does it lose at most {_score(now.bound)} against the version in use?{differing}",
        f"It truly loses at most {round_up(now.high)} against the version in use.",
        worse,
    )


def _score(value: float) -> str:
    return f"{value:.6g}"


def _down(distance: float) -> str:
    """Return a distance with four decimals, never too large."""
    return f"{int(distance * 10_000) / 10_000:.4f}"


def _toward(score: float, reads: Scale, *, better: bool) -> str:
    """Return a score with four decimals, never on the wrong side of it."""
    up = reads.maximize == better
    scaled = score * 10_000
    whole = -int(-scaled // 1) if up else int(scaled // 1)
    return f"{whole / 10_000:.4f}"
