"""The final board as it will be read: places and intervals, stored once all scores are there."""

import math
from collections.abc import Iterator

from django.db.models import F

from leaderboard.models import Board, FinalScore, Release
from scoring import mechanisms, metrics
from scoring.guarantees.finals import counted_interval, untouched_interval
from scoring.guarantees.ledger import ledger_width

BATCH = 500
FIELDS = ("low", "high", "place", "position", "released_place", "released_loss")


def store_places(board: Board) -> None:
    """Rank teams by the best of their exact scores; equal scores share a place.

    Those of one place stand as the released board had them, and behind them teams that only an
    earlier round on the same rows has released a score of.
    """
    scores = list(FinalScore.objects.filter(board=board).order_by("submission_id"))
    if not scores:
        return
    _set_intervals(board, scores)
    best = dict[int, FinalScore]()
    for score in scores:
        kept = best.setdefault(score.team_id, score)
        if score.loss < kept.loss:
            best[score.team_id] = score
    ranked, others = list[FinalScore](), dict(best)
    standings = board.standings.order_by(F("loss").asc(nulls_last=True), "reached_at", "pk")
    rows = standings.values_list("team", "loss").iterator()
    for place, (team, loss) in enumerate(rows, start=1):
        if team in best:
            best[team].released_place, best[team].released_loss = place, loss
            ranked.append(others.pop(team))
    ranked += others.values()
    ranked.sort(key=lambda score: score.loss)
    for position, score in enumerate(ranked, start=1):
        before = ranked[position - 2] if position > 1 else None
        tied = before is not None and before.loss == score.loss
        score.position, score.place = position, before.place if before and tied else position
    FinalScore.objects.bulk_update(scores, FIELDS, batch_size=BATCH)
    Board.objects.filter(pk=board.pk).update(finalists=len(scores))


def on_final_rows(score: FinalScore) -> bool:
    """Return whether it was measured on rows that were kept for the end."""
    return score.holdout.final_rows > 0


def beta(board: Board) -> float:
    """Return the chance that a board's guarantees leave, all together."""
    parameters = mechanisms.get(board.mechanism).parse(board.mechanism_parameters)
    return float(1 - parameters.confidence)


def _set_intervals(board: Board, scores: list[FinalScore]) -> None:
    if not metrics.get(board.metric).is_mean:
        return
    rest = beta(board)
    final = on_final_rows(scores[0])
    widths = iter(()) if final else _widths(board, scores, rest)
    for score in scores:
        loss = score.units / (score.rows * score.resolution)
        if final:
            ends = untouched_interval(loss, score.rows, len(scores), rest)
        else:
            ends = counted_interval(loss, score.rows, next(widths))
        score.low, score.high = ends


def _widths(board: Board, scores: list[FinalScore], rest: float) -> Iterator[float]:
    """Return what the ledger sets aside for each entered submission, in their order.

    As it was published with the answer, or, for one that was not asked since a revision, as one
    more question now.
    """
    holdout = scores[0].holdout
    head, question = holdout.ledger, holdout.ledger.asked
    asked = Release.objects.filter(
        holdout=holdout,
        board=board,
        submission__in=board.final_scores.order_by().values("submission"),
    )
    known = dict(asked.values_list("submission", "width"))
    for score in scores:
        width = known.get(score.submission_id)
        if width is None:
            question += 1
            # Half of beta is the ledger's with every mechanism; some keep the rest for their noise.
            width = ledger_width(
                score.rows, question, head.answered, head.log_alphabets, math.log(rest / 2)
            )
        yield width
