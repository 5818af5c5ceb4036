"""Tests of all pairs of a board's final entries: which places the truth allows each (theory.md).

The order of entries and the form of the tests are fixed before these rows have a part in them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import F

from leaderboard.ledger.accounts import season_code
from leaderboard.models import Board, FinalScore, Holdout, Submission
from scoring import mechanisms, metrics
from scoring.contest import MOST_ENTRIES, Contest
from scoring.guarantees.rank_sets import RankSets, pair_level, place_teams
from scoring.predictions import Predictions

Ends = tuple[int, int]


@dataclass(frozen=True, eq=False)
class Tested:
    """What the tests found of the entries of a board; `order` may go on behind those compared."""

    order: tuple[FinalScore, ...]
    found: RankSets
    rows: str

    @property
    def places(self) -> dict[int, Ends]:
        """Return the best and the worst place that the truth allows each team, by its key.

        Baselines are compared like all entries, but take no place.
        """
        teams = [score.team_id for score in self.order]
        return place_teams(self.found.better, teams, baselines(self.order[0].board))

    @property
    def document(self) -> dict[str, Any]:
        """Return what is published: pairs are places in the list of entries, from 0."""
        compared = self.order[: len(self.found.better)]
        entries = [[score.team.uid, score.submission.number] for score in compared]
        return {"rows": self.rows, "entries": entries, **self.found.to_json()}


def compare_entries(
    boards: Sequence[Board],
    holdout: Holdout,
    start: Callable[[Board, int], Contest],
    read: Callable[[Submission], Predictions],
    *,
    every: bool = False,
) -> dict[int, Tested]:
    """Return what the tests find on each board that has some, by its key; none without entries.

    start: returns a contest of so many entries of a board. read: is asked for each file once; for
        `every` one that was entered, or only for those that are compared.
    """
    orders = {board: order for board in boards if (order := entry_order(board))}
    known = {board: pairs_level(board, holdout) for board in orders}
    levels = {board: level for board, level in known.items() if level is not None}
    contests = {board: start(board, min(len(orders[board]), MOST_ENTRIES)) for board in levels}
    wanted = dict[int, list[tuple[Contest, int]]]()
    for board, contest in contests.items():
        for place, score in enumerate(orders[board][:MOST_ENTRIES]):
            wanted.setdefault(score.submission_id, []).append((contest, place))
    files = Submission.objects.filter(final_scores__board__in=boards).distinct()
    for submission in files.select_related("round__competition").order_by("pk"):
        if not every and submission.pk not in wanted:
            continue
        predictions = read(submission)
        for contest, place in wanted.get(submission.pk, ()):
            contest.take(place, predictions)
    rows = "final" if holdout.final_rows else "private"
    return {
        board.pk: Tested(tuple(orders[board]), contests[board].rank(level), rows)
        for board, level in levels.items()
    }


def pairs_level(board: Board, holdout: Holdout) -> float | None:
    """Return the level of all tests of a board together; None where there are none.

    Rows that gave answers allow less, by all that was said of them.
    """
    if not metrics.get(board.metric).is_mean:
        return None
    code = 0.0 if holdout.final_rows else season_code(holdout.ledger)
    return None if code is None else pair_level(beta(board), code) or None


def beta(board: Board) -> float:
    """Return the chance that a board's guarantees leave, all together."""
    parameters = mechanisms.get(board.mechanism).parse(board.mechanism_parameters)
    return float(1 - parameters.confidence)


def baselines(board: Board) -> set[int]:
    """Return the teams that entered and take no place, by their keys.

    A team under a sanction entered nothing, so what the board doesn't rank is a baseline, as it
    was when the final places were revealed.
    """
    unranked = board.standings.filter(is_ranked=False).values_list("team", flat=True)
    elsewhere = board.final_scores.filter(team__is_baseline=True).exclude(
        team__in=board.standings.values("team")
    )
    return {*unranked, *elsewhere.values_list("team", flat=True)}


def entry_order(board: Board) -> list[FinalScore]:
    """Return a board's entries as the released board has their teams, then by their numbers."""
    standings = board.standings.order_by(F("loss").asc(nulls_last=True), "reached_at", "pk")
    released = {team: place for place, team in enumerate(standings.values_list("team", flat=True))}
    scores = board.final_scores.select_related("team", "submission")
    return sorted(
        scores,
        key=lambda score: (
            released.get(score.team_id, len(released)),
            score.team.uid,
            score.submission.number,
        ),
    )
