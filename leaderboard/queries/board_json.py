"""The board as one JSON document, to be published beside a paper: docs/language-models.md."""

import json
from collections.abc import Iterator
from typing import Any, Final

from django.http import Http404
from django.utils import timezone

from leaderboard.access import Person, may_see_others
from leaderboard.models import Board, Ledger, Team
from leaderboard.queries.board_csv import DIGITS
from leaderboard.queries.board_rows import BoardRow
from leaderboard.queries.boards import whole_board
from leaderboard.queries.guarantees import guarantee
from leaderboard.queries.log import log
from leaderboard.queries.moments import to_the_second
from leaderboard.queries.scales import Interval
from scoring import metrics

FORMAT: Final = "holdfast board 1"


def board_json(board: Board, user: Person, team: Team | None) -> Iterator[bytes]:
    """Return the document in parts: what is measured and promised, the heads that it follows from,
    and all rows.

    Heads are read first, so no row is older than they are. Somebody who may not know of other teams
    gets the own row, and no heads.
    """
    round, metric = board.round, metrics.get(board.metric)
    sees_others, holdout = may_see_others(user, round.competition), round.active_holdout
    promised = guarantee(board, team)
    facts = {
        "format": FORMAT,
        "at": to_the_second(timezone.now()).isoformat(),
        "competition": {"slug": round.competition.slug, "title": round.competition.title},
        "round": round.number,
        "board": board.known_as,
        "metric": {
            "name": board.metric,
            "title": metric.title,
            "parameters": board.metric_parameters,
            "direction": metric.direction,
        },
        "mechanism": {"name": board.mechanism, "parameters": board.mechanism_parameters},
        "rows": holdout
        and {
            "public": holdout.public_rows,
            "private": holdout.private_rows,
            "effective": holdout.effective_private_rows,
        },
        "guarantee": promised
        and {"confidence": promised.confidence, "interval": _ends(promised.interval)},
        "ledger": _ledger(round.ledger) if sees_others else None,
        "log": _log(board) if sees_others else None,
    }
    yield json.dumps(facts).encode()[:-1] + b', "teams": ['
    for place, row in enumerate(whole_board(board, user)):
        yield (b",\n" if place else b"\n") + json.dumps(_row(row)).encode()
    yield b"\n]}\n"


def _row(row: BoardRow) -> dict[str, Any]:
    return {
        "rank": row.rank,
        "tied": row.tied,
        "team": row.team,
        "team_uid": row.uid,
        "score": row.value,
        "score_text": row.score,
        "sampling": _ends(row.sampling),
        "certificate": _ends(row.certificate),
        "runs": row.runs,
        "spread": None if row.spread is None else round(row.spread, DIGITS),
        "entries": row.entries,
        "variants": row.variants,
        "ledger_entry": row.entry,
        "last_improvement_at": row.improved_at and to_the_second(row.improved_at).isoformat(),
        "is_baseline": row.is_baseline,
        "is_verified": row.is_verified,
        "version": row.version,
        "surely_better_than": row.surely_better,
    }


def _ends(interval: Interval | None) -> dict[str, float] | None:
    if interval is None:
        return None
    return {"low": round(interval.low, DIGITS), "high": round(interval.high, DIGITS)}


def _ledger(ledger: Ledger | None) -> dict[str, Any] | None:
    if ledger is None:
        return None
    return {"uid": ledger.uid, "entries": ledger.entries, "head_hash": ledger.head_hash}


def _log(board: Board) -> dict[str, Any] | None:
    """Return the newest signed head of the public log; None where none was signed yet."""
    try:
        found = log(board.round.competition)
    except Http404:
        return None
    return {name: getattr(found, name) for name in ("origin", "key", "size", "root", "checkpoint")}
