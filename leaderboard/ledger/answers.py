"""One question, one answer: asks a board's mechanism, writes its state and the ledger's entry."""

from dataclasses import asdict, replace
from datetime import datetime
from typing import Any, TypeVar

from django.db.models import Model, QuerySet

from leaderboard.ledger import levels
from leaderboard.ledger.accounts import may_begin, read_account, read_book, save_account
from leaderboard.ledger.entries import (
    entry_hash,
    ledger_head,
    parameters_hash,
    team_head,
    terms_of,
)
from leaderboard.ledger.heads import rules_of, save_heads
from leaderboard.ledger.sanctions import is_ranked, leave_out_sanctioned
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
from leaderboard.notify.leaders import Move
from leaderboard.vault import Measured
from scoring import ledger as rules
from scoring import mechanisms, metrics
from scoring.chain import ANSWER_FIELDS, answer_fields
from scoring.entries import Bounds
from scoring.mechanisms.base import State
from scoring.mechanisms.base import TeamState as TeamHead

Row = TypeVar("Row", bound=Model)


def answer(
    ledger: Ledger,
    submission: Submission,
    holdout: Holdout,
    board: Board,
    digest: str,
    measured: Measured,
    now: datetime,
) -> tuple[Release, Move | None]:
    """Ask a board's mechanism and write down what it answers; return that, and the row it moved.

    Call it in a transaction that holds the ledger's lock. A retry gives the same answer: noise is a
    function of what is asked, and a question that has been answered is not asked again. Raises
    LostRace.
    """
    asked, team = rules_of(board, holdout), submission.team
    head = ledger_head(ledger, BoardState.objects.get(board=board))
    known = _only(TeamState.objects.filter(holdout=holdout, board=board, team=team))
    state = State(head, team_head(known) if known else TeamHead())
    before = rules.Standing(state, read_account(ledger, team), read_book(known))
    by = {"team": team.uid, "board": board.known_as}
    question = asked.mechanism.question(asked.params, state, measured.measurement.reference)
    tag = measured.noise.tag(digest, **by)
    stored = find_answer(holdout, board, team, tag, question)
    fields: dict[str, Any]
    terms = terms_of(ledger)
    if stored is None:
        noise = measured.noise.for_question(digest, question, **by)
        after, given, length = rules.ask(
            terms,
            asked,
            before,
            measured.measurement,
            noise,
            again=was_answered(submission, holdout, board),
            may_begin=may_begin(ledger, team),
            is_baseline=team.is_baseline,
        )
        fields = answer_fields(given) | {"length": length}
    else:
        length, question = stored.length, stored.question
        fields = {name: getattr(stored, name) for name in ANSWER_FIELDS} | {"repeat_of": stored}
        after = before
        if stored.board_id != board.pk:
            state = rules.recall(state, asked, stored.kind, stored.level)
            after = replace(before, state=state)
    state, reference = after.state, measured.measurement.reference
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
        is_baseline=team.is_baseline,
        public_loss=rules.exact_loss(asked, reference),
        cost=terms.cost(before.account, after.account),
        runs=measured.measurement.runs,
        spread=measured.measurement.spread,
        **(asdict(state.holdout) | fields),
    )
    said = Bounds.of(metrics.get(board.metric), holdout).fields(entry, length)
    for name, value in said.items():
        setattr(entry, name, value)
    add_entry(entry)
    newest: dict[str, Any] = {"entries": entry.number, "head_hash": entry.hash}
    if after.account != before.account:
        if ledger.by_team:
            save_account(ledger, team, after.account)
        else:
            newest["account"] = after.account.to_json()
    save_heads(ledger, {board.pk: state.holdout}, before={board.pk: head}, **newest)
    memory = {"law_memory": after.book.to_json() if after.book else {}}
    of_team = asdict(state.team) | memory
    if known is None:
        TeamState.objects.create(holdout=holdout, board=board, team=team, **of_team)
    else:
        TeamState.objects.filter(pk=known.pk).update(**of_team)
    return entry, stand(entry, submission, state)


def _only(rows: QuerySet[Row]) -> Row | None:
    """Return the one row that there can be, without the cost of an order."""
    return next(iter(rows.order_by()), None)


def find_answer(
    holdout: Holdout, board: Board, team: Team, tag: str, question: str
) -> Release | None:
    """Return the answer that a team has had: it is given again, and costs nothing.

    By laws, predictions have one answer, whatever is claimed of them and whenever they come;
    what said nothing is no answer. By the count alone, it is one for each question.
    """
    asked = Release.objects.filter(
        holdout=holdout, team=team, predictions_tag=tag, repeat_of__isnull=True
    )
    if holdout.ledger.law:
        return _only(asked.filter(length__isnull=False))
    return asked.filter(board=board, question=question).order_by("number").first()


def was_answered(submission: Submission, holdout: Holdout, board: Board) -> bool:
    """Return whether the board has answered the file before the solution was revised."""
    if holdout.version == 1:
        return False
    earlier = Release.objects.filter(submission=submission, board=board).exclude(holdout=holdout)
    return earlier.exclude(length=None, repeat_of=None).exists()


def add_entry(entry: Release) -> None:
    """Chain an entry and write it."""
    entry.hash = entry_hash(entry)
    entry.save(force_insert=True)


def stand(entry: Release, submission: Submission, state: State) -> Move | None:
    """Write the team's row of the board: its best released loss, and when the file that reached it
    was accepted, so that a retry does not decide who was first. Practice changes no board."""
    if submission.is_practice:
        return None
    row = {"board": entry.board, "team": entry.team}
    standing = _only(Standing.objects.filter(**row))
    if standing is None:
        standing = Standing(**row, reached_at=submission.created_at)
        standing.is_ranked = is_ranked(entry.team)
    standing.board, standing.team = entry.board, entry.team  # as they are known already
    before = levels.spot(standing)
    stands_on = Release.objects.filter(pk=standing.best_id or standing.last_id)
    is_earlier = entry.holdout.version > 1 and (
        stands_on.exclude(holdout=entry.holdout_id).exists()
    )
    # A first answer on a revised solution takes the place of what stood there before; a team that
    # learns nothing, such as one without a share left, keeps its score on the earlier solution.
    if is_earlier and mechanisms.answer_kind(entry.kind).bounds != "nothing":
        standing.loss, standing.best, standing.reached_at = None, None, submission.created_at
        levels.draw_curve(standing)
    standing.last = entry
    # A file that is scored again on a revised solution has its answer from before.
    if submission.release_id is None:
        others = Release.objects.filter(**row, predictions_digest=entry.predictions_digest)
        standing.entries += 1
        standing.variants += not others.exclude(pk=entry.pk).exists()
    best = state.team.best
    if best is not None and (standing.loss is None or best / entry.steps < standing.loss):
        standing.loss, standing.best = best / entry.steps, entry
        standing.reached_at = submission.created_at
        levels.draw_curve(standing)
    leave_out_sanctioned(standing)
    levels.save(standing, before, entry.created_at)
    return Move(standing, before, levels.spot(standing))
