"""Duels of a ledger: which are due, and the one way to write down an answer."""

from dataclasses import dataclass

from django.db.models import Min, Q

from leaderboard.ledger.accounts import read_account, save_account
from leaderboard.ledger.entries import terms_of
from leaderboard.ledger.heads import rules_of
from leaderboard.ledger.notes import add_note
from leaderboard.models import (
    Board,
    Holdout,
    Ledger,
    LedgerNote,
    NoteKind,
    Release,
    Round,
    Standing,
)
from leaderboard.notify.leaders import Move
from scoring import duels, mechanisms, metrics
from scoring.duels import Comparison, Leads
from scoring.predictions import Schema


@dataclass(frozen=True)
class Due:
    """A duel that the rule asks for: by a board, and by the answers that put two files ahead."""

    board: Board
    better: Release
    worse: Release
    duel: duels.Duel


def led_by(entry: Release, move: Move | None) -> bool:
    """Return whether a file may just have taken the lead of a board that holds duels.

    `find_due` decides; this costs one look at the board, where the answer is its team's best.
    """
    is_best = move is not None and move.standing.best_id == entry.pk
    if not is_best or not mechanisms.get(entry.board.mechanism).duels:
        return False
    first = Standing.objects.filter(board=entry.board, loss__isnull=False)
    return first.order_by("loss").values_list("best", flat=True).first() == entry.pk


def find_due(ledger: Ledger, holdout: Holdout) -> Due | None:
    """Return the duel that is to be held next, by the published rule; None where there is none.

    It follows from the ledger's entries alone. None is held once the finals have started: exact
    scores tell of the same rows.
    """
    if not duels.are_asked(terms_of(ledger), read_account(ledger, None)):
        return None
    if Round.objects.filter(ledger=ledger, finals_started_at__isnull=False).exists():
        return None
    # Before the answers, so that each duel is of two of them, whatever is released meanwhile.
    held = LedgerNote.objects.filter(holdout=holdout, kind=NoteKind.DUEL)
    entries = list(held.values_list("document__entry", "document__against"))
    answers = _leading_answers(ledger, holdout)
    leads = Leads()
    for each in answers.values():
        leads.note(
            duels.Lead(
                number=each.number,
                board=each.board.uid,
                level=each.level or 0,
                team=each.submission.team.uid,  # who has it now, after mergers
                tag=each.predictions_tag,
                public_loss=each.public_loss,
            )
        )
    tags = {number: each.predictions_tag for number, each in answers.items()}
    duel = leads.due({(tags[better], tags[worse]) for better, worse in entries})
    if duel is None:
        return None
    better, worse = answers[duel.better.number], answers[duel.worse.number]
    return Due(better.board, better, worse, duel)


def settle(ledger: Ledger, holdout: Holdout, due: Due, found: Comparison | None) -> LedgerNote:
    """Answer a duel, or write it off where `found` is None, a file having been lost.

    Call it in a transaction that holds the ledger's lock, for what `find_due` returns under it.
    Only the bit is written, and charged. Raises LostRace.
    """
    asked, account = rules_of(due.board, holdout), read_account(ledger, None)
    length = yes = None
    if found is not None:
        beta = asked.mechanism.ledger_beta(asked.params)
        length = duels.duel_length(terms_of(ledger), account, beta)
        yes = duels.is_surely_better(found, length)
        context = due.duel.context(asked.public_rows, asked.private_rows)
        save_account(ledger, None, duels.charge_duel(account, context, better=yes))
    return add_note(
        ledger,
        holdout,
        NoteKind.DUEL,
        board=due.board.uid,
        entry=due.better.number,
        team=due.duel.better.team,
        against=due.worse.number,
        against_team=due.duel.worse.team,
        form=_form(due.board, holdout),
        length=length,
        yes=yes,
    )


def _leading_answers(ledger: Ledger, holdout: Holdout) -> dict[int, Release]:
    """Return the first answer on each level of the boards that hold duels, by number, in order."""
    own = Q(pk__in=[])
    for board in Board.objects.filter(state__ledger=ledger):
        rules = rules_of(board, holdout)
        kinds = [each.code for each in rules.mechanism.kinds if rules.may_lead(each.code)]
        own |= Q(board=board, kind__in=kinds)
    answers = Release.objects.filter(own, holdout=holdout, level__isnull=False).order_by()
    first = answers.values("board", "level").annotate(first=Min("number")).values("first")
    rows = Release.objects.filter(holdout=holdout, number__in=first).order_by("number")
    described = rows.select_related("board__same_as", "board__round", "team")
    return {
        each.number: each
        for each in described.select_related("submission__team", "submission__round__competition")
    }


def _form(board: Board, holdout: Holdout) -> str:
    schema = Schema.from_json(board.round.origin.schema)
    is_plain = holdout.effective_private_rows == holdout.private_rows
    return duels.form_of(metrics.get(board.metric), schema, is_plain=is_plain)
