"""Gates of a ledger: what they rest on, which may be asked, and the one way to write an answer."""

from dataclasses import dataclass

from leaderboard.errors import Refused
from leaderboard.ledger.accounts import read_account, save_account
from leaderboard.ledger.entries import terms_of
from leaderboard.ledger.heads import rules_of
from leaderboard.ledger.notes import add_note
from leaderboard.models import (
    Board,
    Gate,
    Holdout,
    Ledger,
    LedgerNote,
    NoteKind,
    Round,
    Submission,
    Team,
)
from scoring import gates, metrics
from scoring.gates import Evidence, Reading
from scoring.noise import KeyedNoise


@dataclass(frozen=True)
class Ground:
    """What the gates of a board rest on now: L in millionths, the rows, and how many are left."""

    length: int
    rows: int
    rounding: float
    left: int


def ground_of(board: Board, ledger: Ledger, holdout: Holdout) -> Ground:
    """Return what a board's gates rest on. Raises Refused where none were declared."""
    if ledger.gate_limit is None:
        raise Refused("gate_closed", variant="none")
    asked, terms, account = rules_of(board, holdout), terms_of(ledger), read_account(ledger, None)
    length = gates.gate_length(terms, account, asked.mechanism.ledger_beta(asked.params))
    is_weighted = asked.private_rows < holdout.private_rows
    rounding = metrics.get(board.metric).rounding(weighted=is_weighted)
    return Ground(length, asked.private_rows, rounding, gates.count_left(terms, account))


def read(question: gates.Gate, board: Board, ground: Ground) -> Reading:
    """Return what a gate's answers promise now, in scores."""
    metric = metrics.get(board.metric)
    promise = gates.promise(question, ground.length, ground.rows, ground.rounding)
    return gates.in_scores(question, promise, metric, metric.parse(board.metric_parameters))


def check_may_ask(gate: Gate, ledger: Ledger, holdout: Holdout) -> None:
    """Raise Refused where a new question can't be asked. It follows from published facts alone."""
    ground = ground_of(gate.board, ledger, holdout)
    if gate.retired_at is not None:
        raise Refused("gate_closed", variant="retired")
    # Exact scores tell of the same rows.
    if Round.objects.filter(ledger=ledger, finals_started_at__isnull=False).exists():
        raise Refused("gate_closed", variant="ended")
    if not ground.left:
        raise Refused("gate_closed", variant="none_left", limit=ledger.gate_limit)
    now = read(gate.question, gate.board, ground).margin
    if gate.margin is not None and now > gate.margin:
        raise Refused("gate_closed", variant="margin", now=now, announced=gate.margin)


def tag_of(gate: Gate, team: Team | None, noise: KeyedNoise, digest: str) -> str:
    """Return what stands for predictions at a gate, by who asks; of the file in use nobody does."""
    return noise.tag(digest, team=team.uid if team else "", board=gate.uid)


def find_answer(
    gate: Gate, holdout: Holdout, team: Team, noise: KeyedNoise, digest: str
) -> LedgerNote | None:
    """Return the answer that a team, or one that became a part of it, has had for predictions."""
    teams = [team, *Team.objects.filter(merged_into=team)]
    tags = [tag_of(gate, each, noise, digest) for each in teams]
    answers = LedgerNote.objects.filter(
        holdout=holdout,
        kind=NoteKind.GATE,
        document__gate=gate.uid,
        document__predictions_tag__in=tags,
    )
    return answers.order_by("number").first()


def answer(
    ledger: Ledger,
    holdout: Holdout,
    submission: Submission,
    tags: tuple[str, str],
    evidence: Evidence,
) -> LedgerNote:
    """Answer a gate: charge the bit, and write it as an entry of the ledger.

    Call it in a transaction that holds the ledger's lock, for what `check_may_ask` allows under it.
    tags: those of the predictions and of the file in use, which is empty where there is none.
    """
    gate = submission.gate
    assert gate is not None  # noqa: S101  (the caller has it)
    length = ground_of(gate.board, ledger, holdout).length
    yes = gates.passes(gate.question, evidence, length)
    save_account(ledger, None, gates.charge_gate(read_account(ledger, None)))
    return add_note(
        ledger,
        holdout,
        NoteKind.GATE,
        gate=gate.uid,
        board=gate.board.uid,
        asks=gate.question.to_json(),
        against=tags[1],
        team=submission.team.uid,
        submission=submission.number,
        predictions_tag=tags[0],
        length=length,
        yes=yes,
    )
