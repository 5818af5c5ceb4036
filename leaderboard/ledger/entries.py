"""Entries of the public ledger: how they are published and chained."""

from fractions import Fraction
from typing import Any, Final

from leaderboard.models import Board, BoardState, Holdout, Ledger, Release, Round, TeamState
from scoring.chain import ANSWER_FIELDS, document_hash
from scoring.ledger import Terms
from scoring.mechanisms.base import HoldoutState as LedgerHead
from scoring.mechanisms.base import TeamState as TeamHead


class LostRace(Exception):
    """The ledger was changed or the solution revised meanwhile: nothing was written, try again."""


# What a published entry has from its row as it is.
OWN_FIELDS: Final = (
    *("number", *ANSWER_FIELDS, "low", "high", "bound"),
    *("answered", "log_alphabets", "firings", "budget_left", "share_left"),
    *("predictions_tag", "question", "parameters_hash", "previous_hash"),
)


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
    )


def team_head(row: TeamState) -> TeamHead:
    """Return a team's state as mechanisms know it."""
    return TeamHead(row.best, row.last, row.share_left)


def holdout_facts(holdout: Holdout) -> dict[str, Any]:
    """Return what is published and hashed of a revision: its rows and its commitments."""
    schemas = Round.objects.filter(ledger=holdout.ledger_id, continues__isnull=True)
    return {
        "schema": schemas.values_list("schema", flat=True).get(),
        "row_ids_digest": holdout.row_ids_digest,
        "solution_commitment": holdout.solution_commitment,
        "secret_commitment": holdout.secret_commitment,
        "public_rows": holdout.public_rows,
        "private_rows": holdout.private_rows,
        "effective_public_rows": holdout.effective_public_rows,
        "effective_private_rows": holdout.effective_private_rows,
    } | ({"designs": holdout.designs} if holdout.designs else {})


def ledger_facts(ledger: Ledger) -> dict[str, Any]:
    """Return what is published and hashed of a ledger: its laws and limits, if it has any."""
    return {"ledger": terms_of(ledger).to_json()} if ledger.law else {}


def board_facts(board: Board) -> dict[str, Any]:
    """Return what is published and hashed of a board: what it asks, and how it answers."""
    facts = {
        "metric": board.metric,
        "metric_parameters": board.metric_parameters,
        "mechanism": board.mechanism,
        "mechanism_parameters": board.mechanism_parameters,
    }
    return facts | {"same_as": board.same_as.uid} if board.same_as else facts


def scoring_facts(holdout: Holdout) -> dict[str, Any]:
    """Return everything that fixes what a revision's answers mean, for all boards that asked it."""
    boards = Board.objects.filter(state__ledger=holdout.ledger_id).select_related("same_as")
    return {
        "holdout": holdout_facts(holdout),
        "boards": {board.uid: board_facts(board) for board in boards.order_by("uid")},
        **ledger_facts(holdout.ledger),
    }


def parameters_hash(board: Board, holdout: Holdout) -> str:
    """Return the SHA-256 of everything that fixes what a board's answer means."""
    facts = holdout_facts(holdout) | board_facts(board) | ledger_facts(holdout.ledger)
    return document_hash(facts | {"board": board.uid})


def entry_hash(entry: Release) -> str:
    """Return the hash that chains a ledger entry to the one before it."""
    return document_hash(ledger_document(entry))


def ledger_document(entry: Release) -> dict[str, Any]:
    """Return a ledger entry as it is published and hashed."""
    of_laws = {
        "length": entry.length,
        "public_loss": entry.public_loss,
        "baseline": entry.is_baseline,
    }
    return {
        **(of_laws if entry.holdout.ledger.law else {}),
        **{name: getattr(entry, name) for name in OWN_FIELDS},
        "board": entry.board.uid,
        "team": entry.team.uid,
        "submission": entry.submission_number,
        "repeat": entry.repeat_of_id is not None,
        # Finer moments would reveal how long the vault and the noise took to answer.
        "created_at": entry.created_at.isoformat(timespec="seconds"),
    }
