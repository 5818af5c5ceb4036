"""One question, one answer: asks a board's mechanism, writes its state and the ledger's entry."""

from dataclasses import asdict
from datetime import datetime

from leaderboard.ledger import levels
from leaderboard.ledger.entries import entry_hash, ledger_head, parameters_hash, team_head
from leaderboard.ledger.heads import save_heads
from leaderboard.models import (
    Board,
    BoardState,
    Holdout,
    Ledger,
    Release,
    Standing,
    Submission,
    Team,
    TeamState,
)
from leaderboard.vault import Measured
from scoring import mechanisms, metrics
from scoring.chain import ANSWER_FIELDS, answer_fields
from scoring.guarantees.certificate import interval_fields
from scoring.mechanisms.base import State
from scoring.mechanisms.base import TeamState as TeamHead


def answer(
    ledger: Ledger,
    submission: Submission,
    holdout: Holdout,
    board: Board,
    digest: str,
    measured: Measured,
    now: datetime,
) -> Release:
    """Ask a board's mechanism and write down what it answers.

    Call it in a transaction that holds the ledger's lock. A retry gives the same answer: noise is a
    function of what is asked, and a question that has been answered is not asked again. Raises
    LostRace.
    """
    mechanism = mechanisms.get(board.mechanism)
    parameters = mechanism.parse(board.mechanism_parameters)
    head = ledger_head(ledger, BoardState.objects.get(board=board))
    known = TeamState.objects.filter(holdout=holdout, board=board, team=submission.team).first()
    state = State(head, team_head(known) if known else TeamHead())
    team, by = submission.team, {"team": submission.team.uid, "board": board.uid}
    question = mechanism.question(parameters, state, measured.measurement.reference)
    tag = measured.noise.tag(digest, **by)
    stored = find_answer(holdout, board, team, tag, question)
    if stored is None:
        noise = measured.noise.for_question(digest, question, **by)
        state, given = mechanism.step(parameters, state, measured.measurement, noise)
        fields = answer_fields(given)
    else:
        fields = {name: getattr(stored, name) for name in ANSWER_FIELDS} | {"repeat_of": stored}
    entry = Release(
        submission=submission,
        holdout=holdout,
        board=board,
        team=team,
        submission_number=submission.number,
        number=ledger.entries + 1,
        share_left=state.team.share_left,
        predictions_tag=tag,
        predictions_digest=digest,
        question=question,
        parameters_hash=parameters_hash(board, holdout),
        previous_hash=ledger.head_hash,
        created_at=now,
        **(asdict(state.holdout) | fields),
    )
    rows = holdout.effective_private_rows
    rounding = metrics.get(board.metric).rounding(weighted=rows < holdout.private_rows)
    for name, value in interval_fields(entry, rows, rounding=rounding).items():
        setattr(entry, name, value)
    add_entry(entry)
    save_heads(ledger, {board.pk: state.holdout}, entries=entry.number, head_hash=entry.hash)
    TeamState.objects.update_or_create(
        holdout=holdout, board=board, team=team, defaults=asdict(state.team)
    )
    stand(entry, submission, state)
    return entry


def find_answer(
    holdout: Holdout, board: Board, team: Team, tag: str, question: str
) -> Release | None:
    """Return the answer that a team has had to a question: it is given again, and costs nothing."""
    asked = Release.objects.filter(holdout=holdout, board=board, team=team, predictions_tag=tag)
    return asked.filter(question=question, repeat_of__isnull=True).first()


def add_entry(entry: Release) -> None:
    """Chain an entry and write it."""
    entry.hash = entry_hash(entry)
    entry.save(force_insert=True)


def stand(entry: Release, submission: Submission, state: State) -> None:
    """Write the team's row of the board: its best released loss, and when the file that reached it
    was accepted, so that a retry does not decide who was first."""
    standing = Standing.objects.select_related("best", "last").filter(
        board=entry.board, team=entry.team
    ).first() or Standing(board=entry.board, team=entry.team, reached_at=submission.created_at)
    before = levels.spot(standing)
    stands_on = standing.best or (standing.last if standing.last_id else None)
    is_earlier = stands_on is not None and stands_on.holdout_id != entry.holdout_id
    # A first answer on a revised solution takes the place of what stood there before; a team that
    # learns nothing, such as one without a share left, keeps its score on the earlier solution.
    if is_earlier and mechanisms.answer_kind(entry.kind).bounds != "nothing":
        standing.loss, standing.best, standing.reached_at = None, None, submission.created_at
    standing.last = entry
    # A file that is scored again on a revised solution has its answer from before.
    standing.entries += submission.release_id is None
    best = state.team.best
    if best is not None and (standing.loss is None or best / entry.steps < standing.loss):
        standing.loss, standing.best = best / entry.steps, entry
        standing.reached_at = submission.created_at
    standing.save()
    levels.move(standing.board_id, before, levels.spot(standing))
