"""One question, one answer: asks a board's mechanism, writes its state and the ledger's entry."""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final, Self, TypeVar

from django.db import DEFAULT_DB_ALIAS
from django.db.models import Exists, FilteredRelation, OuterRef, Q, QuerySet

from leaderboard.ledger import levels
from leaderboard.ledger.accounts import may_begin, read_account, read_book, save_account
from leaderboard.ledger.entries import (
    LostRace,
    entry_hash,
    ledger_head,
    parameters_hash,
    team_head,
    terms_of,
)
from leaderboard.ledger.heads import rules_of, save_heads
from leaderboard.ledger.sanctions import is_ranked, leave_out_sanctioned, of_files
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
from leaderboard.platform.statements import insert_row, prepared, update_rows
from leaderboard.vault import Measured
from scoring import ledger as rules
from scoring import mechanisms, metrics
from scoring.chain import ANSWER_FIELDS, answer_fields
from scoring.entries import Bounds
from scoring.mechanisms.base import State
from scoring.mechanisms.base import TeamState as TeamHead

Row = TypeVar("Row")
_KEPT: Final = tuple(each.attname for each in TeamState._meta.concrete_fields)


@dataclass(frozen=True, repr=False)
class Asked:
    """What is asked of a board, with all that follows from it before the ledger is locked."""

    holdout: Holdout
    board: Board
    digest: str
    measured: Measured
    rules: rules.Board
    bounds: Bounds
    parameters_hash: str

    @classmethod
    def of(cls, holdout: Holdout, board: Board, digest: str, measured: Measured) -> Self:
        """Return what is asked about predictions with this digest."""
        asked, bounds = rules_of(board, holdout), Bounds.of(metrics.get(board.metric), holdout)
        fixed = parameters_hash(board, holdout)
        return cls(holdout, board, digest, measured, asked, bounds, fixed)


def answer(
    ledger: Ledger, submission: Submission, given: Asked, now: datetime
) -> tuple[Release, Move | None]:
    """Ask a board's mechanism and write down what it answers; return that, and the row it moved.

    Call it in a transaction that holds the ledger's lock. A retry gives the same answer: noise is a
    function of what is asked, and a question that has been answered is not asked again. Raises
    LostRace.
    """
    holdout, board, digest, team = given.holdout, given.board, given.digest, submission.team
    asked, measured = given.rules, given.measured
    found = _found(holdout.pk, board.pk, team.pk, digest)
    if not found:
        raise LostRace
    firings, budget_left, is_sanctioned, is_old, *columns = found[0]
    head = ledger_head(ledger, BoardState(firings=firings, budget_left=budget_left))
    known = TeamState.from_db(DEFAULT_DB_ALIAS, _KEPT, columns) if columns[0] else None
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
        after, said, length = rules.ask(
            terms,
            asked,
            before,
            measured.measurement,
            noise,
            again=was_answered(submission, holdout, board),
            may_begin=may_begin(ledger, team),
            is_baseline=team.is_baseline,
        )
        fields = answer_fields(said) | {"length": length}
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
        parameters_hash=given.parameters_hash,
        previous_hash=ledger.head_hash,
        created_at=now,
        is_baseline=team.is_baseline,
        public_loss=rules.exact_loss(asked, reference),
        cost=terms.cost(before.account, after.account),
        runs=measured.measurement.runs,
        spread=measured.measurement.spread,
        **(vars(state.holdout) | fields),
    )
    for name, value in given.bounds.fields(entry, length).items():
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
    of_team = vars(state.team) | memory
    if known is None:
        insert_row(TeamState(holdout=holdout, board=board, team=team, **of_team))
    else:
        update_rows(TeamState, {"pk": known.pk}, **of_team)
    return entry, stand(
        entry, submission, state, is_variant=not is_old, is_sanctioned=is_sanctioned
    )


@prepared
def _found(holdout: int, board: int, team: int, digest: str) -> QuerySet[BoardState, Any]:
    """Return what the board keeps, whether the team's row is bound by sanctions, whether it has
    sent such predictions, and the columns of what the board keeps of it, which are null at first;
    nothing where the holdout is not active any more."""
    active = Q(ledger__holdouts=holdout, ledger__holdouts__retired_at__isnull=True)
    own = Q(board__team_states__team=team, board__team_states__holdout=holdout)
    kept = FilteredRelation("board__team_states", condition=own)
    rows = BoardState.objects.filter(active, board=board).annotate(kept=kept)
    sanctions, same = of_files(team, OuterRef("ledger")), _same(board, team, digest)
    columns = [f"kept__{each}" for each in _KEPT]
    return rows.values_list("firings", "budget_left", Exists(sanctions), Exists(same), *columns)


def _first(rows: list[Row]) -> Row | None:
    return rows[0] if rows else None


def find_answer(
    holdout: Holdout, board: Board, team: Team, tag: str, question: str
) -> Release | None:
    """Return the answer that a team has had: it is given again, and costs nothing.

    By laws, predictions have one answer, whatever is claimed of them and whenever they come;
    what said nothing is no answer. By the count alone, it is one for each question.
    """
    if holdout.ledger.law:
        return _first(_answers_by_law(holdout.pk, team.pk, tag))
    return _first(_answers_by_count(holdout.pk, team.pk, tag, board.pk, question))


def _asked(holdout: int, team: int, tag: str) -> QuerySet[Release]:
    rows = Release.objects.filter(holdout=holdout, team=team, predictions_tag=tag)
    rows = rows.only("board", "question", "length", *ANSWER_FIELDS)
    return rows.filter(repeat_of__isnull=True).order_by()


@prepared
def _answers_by_law(holdout: int, team: int, tag: str) -> QuerySet[Release]:
    return _asked(holdout, team, tag).filter(length__isnull=False)


@prepared
def _answers_by_count(
    holdout: int, team: int, tag: str, board: int, question: str
) -> QuerySet[Release]:
    return _asked(holdout, team, tag).filter(board=board, question=question).order_by("number")


def was_answered(submission: Submission, holdout: Holdout, board: Board) -> bool:
    """Return whether the board has answered the file before the solution was revised."""
    if holdout.version == 1:
        return False
    earlier = Release.objects.filter(submission=submission, board=board).exclude(holdout=holdout)
    return earlier.exclude(length=None, repeat_of=None).exists()


def add_entry(entry: Release) -> None:
    """Chain an entry and write it."""
    entry.hash = entry_hash(entry)
    insert_row(entry)


def stand(
    entry: Release,
    submission: Submission,
    state: State,
    *,
    is_variant: bool,
    is_sanctioned: bool | None = None,
) -> Move | None:
    """Write the team's row of the board: its best released loss, and when the file that reached it
    was accepted, so that a retry does not decide who was first. Practice changes no board.

    is_variant: the team has not sent such predictions before. is_sanctioned: as
    `leave_out_sanctioned` takes it.
    """
    if submission.is_practice:
        return None
    row = {"board": entry.board, "team": entry.team}
    standing = _first(_standing(entry.board_id, entry.team_id))
    if standing is None:
        standing = Standing(**row, reached_at=submission.created_at)
        standing.is_ranked = is_ranked(entry.team)
    standing.board, standing.team = entry.board, entry.team  # as they are known already
    before = levels.spot(standing)
    is_earlier = entry.holdout.version > 1 and (
        Release.objects.filter(pk=standing.best_id or standing.last_id)
        .exclude(holdout=entry.holdout_id)
        .exists()
    )
    # A first answer on a revised solution takes the place of what stood there before; a team that
    # learns nothing, such as one without a share left, keeps its score on the earlier solution.
    if is_earlier and mechanisms.answer_kind(entry.kind).bounds != "nothing":
        standing.loss, standing.best, standing.reached_at = None, None, submission.created_at
        levels.draw_curve(standing)
    standing.last = entry
    # A file that is scored again on a revised solution has its answer from before.
    if submission.release_id is None:
        standing.entries += 1
        standing.variants += is_variant
    best = state.team.best
    if best is not None and (standing.loss is None or best / entry.steps < standing.loss):
        standing.loss, standing.best = best / entry.steps, entry
        standing.reached_at = submission.created_at
        levels.draw_curve(standing)
    leave_out_sanctioned(standing, is_sanctioned)
    levels.save(standing, before, entry.created_at)
    return Move(standing, before, levels.spot(standing))


@prepared
def _standing(board: int, team: int) -> QuerySet[Standing]:
    return Standing.objects.filter(board=board, team=team).order_by()


def has_sent(team: Team, board: Board, digest: str) -> bool:
    """Return whether the board has an entry of the team for these predictions."""
    return _same(board.pk, team.pk, digest).exists()


def _same(board: int, team: int, digest: str) -> QuerySet[Release]:
    return Release.objects.filter(board=board, team=team, predictions_digest=digest).order_by()
