"""Entries of the public ledger: how they are published and chained."""

from fractions import Fraction
from typing import Any

from leaderboard.models import Board, BoardState, Holdout, Ledger, Release, Round, TeamState
from scoring import entries
from scoring.chain import document_hash
from scoring.ledger import Terms
from scoring.mechanisms.base import HoldoutState as LedgerHead
from scoring.mechanisms.base import TeamState as TeamHead


class LostRace(Exception):
    """The ledger was changed or the solution revised meanwhile: nothing was written, try again."""


def ledger_head(ledger: Ledger, state: BoardState) -> LedgerHead:
    """Return the ledger's head as a board's mechanism knows it."""
    return LedgerHead(
        ledger.asked, ledger.answered, ledger.log_alphabets, state.firings, state.budget_left
    )


def terms_of(ledger: Ledger) -> Terms:
    """Return what the ledger began with."""
    return Terms(
        version=ledger.law,
        weight=Fraction(ledger.law_weight or 0),
        question_limit=ledger.question_limit,
        team_limit=ledger.team_limit,
        nats_limit=ledger.nats_limit,
        by_team=ledger.by_team,
        gate_limit=ledger.gate_limit,
    )


def team_head(row: TeamState) -> TeamHead:
    """Return a team's state as mechanisms know it."""
    return TeamHead(row.best, row.last, row.share_left)


def holdout_facts(holdout: Holdout) -> dict[str, Any]:
    """Return what is published and hashed of a revision: its rows and its commitments."""
    schemas = Round.objects.filter(ledger=holdout.ledger_id, continues__isnull=True)
    return entries.holdout_facts(holdout, schemas.values_list("schema", flat=True).get())


def board_facts(board: Board) -> dict[str, Any]:
    """Return what is published and hashed of a board: what it asks, and how it answers."""
    facts = entries.board_facts(board)
    return facts | {"same_as": board.same_as.uid} if board.same_as else facts


def scoring_facts(holdout: Holdout) -> dict[str, Any]:
    """Return everything that fixes what a revision's answers mean, for all boards that asked it."""
    boards = Board.objects.filter(state__ledger=holdout.ledger_id).select_related("same_as")
    return {
        "holdout": holdout_facts(holdout),
        "boards": {board.uid: board_facts(board) for board in boards.order_by("uid")},
        **entries.ledger_facts(terms_of(holdout.ledger)),
    }


def parameters_hash(board: Board, holdout: Holdout) -> str:
    """Return the SHA-256 of everything that fixes what a board's answer means."""
    of_rows = entries.holdout_facts(holdout, board.round.origin.schema)
    terms = terms_of(holdout.ledger)
    return entries.parameters_hash(board.uid, of_rows, board_facts(board), terms)


def entry_hash(entry: Release) -> str:
    """Return the hash that chains a ledger entry to the one before it."""
    return document_hash(ledger_document(entry))


def ledger_document(entry: Release) -> dict[str, Any]:
    """Return a ledger entry as it is published and hashed."""
    of_laws = {name: getattr(entry, name) for name in entries.LAW_FIELDS}
    of_laws["baseline"] = entry.is_baseline
    return entries.entry_document(
        {name: getattr(entry, name) for name in entries.OWN_FIELDS},
        board=entry.board.uid,
        team=entry.team.uid,
        submission=entry.submission_number,
        repeat=entry.repeat_of_id is not None,
        created_at=entry.created_at.isoformat(timespec="seconds"),
        of_laws=of_laws if entry.holdout.ledger.law else None,
    )
