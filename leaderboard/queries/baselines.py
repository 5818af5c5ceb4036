"""Baselines: rows of a board that are no teams."""

from django.db.models import F, QuerySet

from leaderboard.models import Board, Sanction, Standing


def baselines(board: Board) -> QuerySet[Standing]:
    """Return the rows that stand between the teams' and take no place, in their order."""
    held = Sanction.objects.at(board.round.revealed_at).of_teams()
    unranked = board.standings.filter(is_ranked=False).exclude(team__in=held.values("team"))
    return unranked.order_by(F("loss").asc(nulls_last=True), "reached_at", "pk")
