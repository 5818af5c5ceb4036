"""What the database says beside a competition's ledger, at one moment, to be compared with it."""

from dataclasses import dataclass

from django.db import transaction

from leaderboard.models import Competition, HoldoutState, Standing, TeamState
from scoring.mechanisms.base import TeamState as TeamHead

Head = HoldoutState  # to be read: whoever writes it imports the model


@dataclass(frozen=True)
class Stand:
    """A team's row of the board: its loss, the entries it rests on, and how many it has."""

    loss: float | None
    best: int | None
    last: int
    entries: int


@dataclass(frozen=True)
class Snapshot:
    """heads: of each version, in order. teams: for each version's key, by team. board: by team."""

    heads: tuple[Head, ...]
    teams: dict[int, dict[int, TeamHead]]
    board: dict[int, Stand]


def snapshot(competition: Competition) -> Snapshot:
    """Reads it all while no answer can be written."""
    with transaction.atomic():
        states = HoldoutState.objects.filter(holdout__competition=competition)
        heads = states.select_for_update(of=("self",)).select_related("holdout")
        ordered = tuple(heads.order_by("holdout__version"))
        teams: dict[int, dict[int, TeamHead]] = {state.pk: {} for state in ordered}
        for row in TeamState.objects.filter(holdout__in=teams):
            known = TeamHead(row.best, row.last, row.share_left)
            teams[row.holdout_id][row.team_id] = known
        board = {row.team_id: _stand(row) for row in _standings(competition)}
    return Snapshot(ordered, teams, board)


def _standings(competition: Competition) -> list[Standing]:
    rows = Standing.objects.filter(competition=competition)
    return list(rows.select_related("best", "last"))


def _stand(row: Standing) -> Stand:
    best = row.best.number if row.best else None
    return Stand(row.loss, best, row.last.number, row.entries)
