"""The final board as it will be read: places and intervals, stored once all scores are there."""

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import count

from django.db.models import F

from leaderboard.models import Board, FinalScore, Release
from scoring import mechanisms, metrics
from scoring.guarantees.finals import counted_interval, untouched_interval
from scoring.guarantees.groups import Design, design_of
from scoring.guarantees.ledger import ledger_width
from scoring.predictions import Usage

BATCH = 500
PLACES = ("place", "position", "released_place", "released_loss")


def store_places(board: Board) -> None:
    """Rank teams by the best of their exact scores; equal scores share a place.

    Those of one place stand as the released board had them, and behind them teams that only an
    earlier round on the same rows has released a score of. Scores are read a batch at a time; of
    each team only its best loss is kept in memory.
    """
    scores = FinalScore.objects.filter(board=board).select_related("holdout__ledger")
    scores = scores.order_by("submission_id")
    finalists = scores.count()
    if not finalists:
        return
    best = dict[int, tuple[Fraction, int]]()
    questions, last = count(scores[0].holdout.ledger.asked + 1), 0
    while batch := list(scores.filter(submission_id__gt=last)[:BATCH]):
        _set_intervals(board, batch, finalists, questions)
        for score in batch:
            if score.team_id not in best or score.loss < best[score.team_id][0]:
                best[score.team_id] = score.loss, score.pk
        last = batch[-1].submission_id
    standings = board.standings.order_by(F("loss").asc(nulls_last=True), "reached_at", "pk")
    rows = enumerate(standings.values_list("team", "loss").iterator(), start=1)
    released = {team: (at, loss) for at, (team, loss) in rows if team in best}
    order = [*released, *(team for team in best if team not in released)]
    order.sort(key=lambda team: best[team][0])
    place = 0
    for start in range(0, len(order), BATCH):
        placed = []
        for position, team in enumerate(order[start : start + BATCH], start + 1):
            loss, key = best[team]
            place = place if position > 1 and best[order[position - 2]][0] == loss else position
            facts = (place, position, *released.get(team, (None, None)))
            placed.append(FinalScore(pk=key, **dict(zip(PLACES, facts, strict=True))))
        FinalScore.objects.bulk_update(placed, PLACES)
    Board.objects.filter(pk=board.pk).update(finalists=finalists)


def on_final_rows(score: FinalScore) -> bool:
    """Return whether it was measured on rows that were kept for the end."""
    return score.holdout.final_rows > 0


def final_design(score: FinalScore) -> Design:
    """Return how the rows that it was measured on are counted."""
    usage = Usage.FINAL if on_final_rows(score) else Usage.PRIVATE
    return design_of(score.holdout.designs, usage, score.rows)


def beta(board: Board) -> float:
    """Return the chance that a board's guarantees leave, all together."""
    parameters = mechanisms.get(board.mechanism).parse(board.mechanism_parameters)
    return float(1 - parameters.confidence)


def _set_intervals(
    board: Board, scores: Sequence[FinalScore], finalists: int, questions: Iterator[int]
) -> None:
    """Store intervals, of `finalists` scores in all, around what was entered.

    What the ledger sets aside for a submission is as it was published with the answer, or, for one
    that was not asked since a revision, as one more question now: the next of `questions`.
    """
    if not metrics.get(board.metric).is_mean:
        return
    rest, asked = beta(board), Release.objects.filter(board=board, holdout=scores[0].holdout)
    entered = asked.filter(submission__in=[score.submission_id for score in scores])
    widths = dict(entered.values_list("submission", "width"))
    design = final_design(scores[0])
    for score in scores:
        loss, width = score.units / (score.rows * score.resolution), widths.get(score.submission_id)
        if on_final_rows(score):
            score.low, score.high = untouched_interval(
                loss, score.rows, finalists, rest, design=design
            )
            continue
        if width is None:
            head, question = score.holdout.ledger, next(questions)
            # Half of beta is the ledger's with every mechanism; some keep the rest for their noise.
            width = ledger_width(
                score.rows, question, head.answered, head.log_alphabets, math.log(rest / 2)
            )
        score.low, score.high = counted_interval(loss, score.rows, width, design=design)
    FinalScore.objects.bulk_update(scores, ("low", "high"))
