"""The final board as it will be read: places and intervals, stored once all scores are there."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from itertools import count, groupby

from django.db.models import F

from leaderboard.ledger.accounts import read_account
from leaderboard.ledger.entries import terms_of
from leaderboard.models import Board, FinalScore, FinalTests, Release
from leaderboard.pipeline.final_tests import Ends, Tested, baselines, beta
from scoring import mechanisms, metrics
from scoring.guarantees.finals import counted_interval, untouched_interval
from scoring.guarantees.groups import Design, design_of
from scoring.guarantees.ledger import ledger_width
from scoring.guarantees.rank_sets import SHARE
from scoring.laws.exact import MILLION
from scoring.predictions import Usage

BATCH = 500
_WIDTHS = ("submission", "width", "length")


@dataclass(frozen=True)
class Result:
    """What a final score means on its board; the fields of `FinalScore` with these names."""

    low: float | None = None
    high: float | None = None
    place: int | None = None
    position: int | None = None
    best_place: int | None = None
    worst_place: int | None = None
    released_place: int | None = None
    released_loss: float | None = None


RESULT = tuple(field.name for field in fields(Result))


def store_places(board: Board, tested: Tested | None = None) -> None:
    """Store what every final score of a board means, and what the tests of all pairs found."""
    results = final_results(board, tested)
    scores = [FinalScore(pk=key, **asdict(result)) for key, result in results.items()]
    # A position is held by one row at a time.
    board.final_scores.update(position=None)
    FinalScore.objects.bulk_update(scores, RESULT, batch_size=BATCH)
    Board.objects.filter(pk=board.pk).update(finalists=len(results))
    if tested is not None:
        FinalTests.objects.update_or_create(board=board, defaults={"document": tested.document})


def final_results(board: Board, tested: Tested | None = None) -> dict[int, Result]:
    """Return what each final score of a board means, by its key, from the stored scores alone.

    Teams stand by the best of their exact scores; equal scores share a place. Baselines have none.
    Those of one place
    stand as the released board had them, and behind them teams that only an earlier round on the
    same rows has released a score of.
    """
    scores = list(board.final_scores.order_by("submission_id"))
    results = {score.pk: Result(*ends) for score, ends in _intervals(board, scores)}
    best = dict[int, FinalScore]()
    for score in scores:
        if score.team_id not in best or score.loss < best[score.team_id].loss:
            best[score.team_id] = score
    for team in baselines(board):
        best.pop(team, None)
    released = _released(board)
    order = [team for team in released if team in best]
    order += [team for team in best if team not in released]
    order.sort(key=lambda team: best[team].loss)
    places: Mapping[int, Ends] = {} if tested is None else tested.places
    positions = enumerate(order, start=1)
    for _, level in groupby(positions, key=lambda each: best[each[1]].loss):
        tied = list(level)
        for position, team in tied:
            key, ends = best[team].pk, places.get(team, (None, None))
            before = released.get(team, (None, None))
            results[key] = replace(
                results[key],
                place=tied[0][0],
                position=position,
                best_place=ends[0],
                worst_place=ends[1],
                released_place=before[0],
                released_loss=before[1],
            )
    return results


def on_final_rows(score: FinalScore) -> bool:
    """Return whether it was measured on rows that were kept for the end."""
    return score.holdout.final_rows > 0


def final_design(score: FinalScore) -> Design:
    """Return how the rows that it was measured on are counted."""
    usage = Usage.FINAL if on_final_rows(score) else Usage.PRIVATE
    return design_of(score.holdout.designs, usage, score.rows)


def interval_beta(board: Board, *, final: bool) -> float:
    """Return the chance that a board's intervals leave; tests of Final rows take the other part."""
    return beta(board) * (1 - SHARE) if final else beta(board)


def _released(board: Board) -> dict[int, tuple[int, float | None]]:
    """Return place and loss of each team on the released board, in its order; ties share places."""
    ranked = board.standings.filter(is_ranked=True)
    rows = ranked.order_by(F("loss").asc(nulls_last=True), "reached_at", "pk")
    found, place, last = dict[int, tuple[int, float | None]](), 0, object()
    for position, (team, loss) in enumerate(rows.values_list("team", "loss").iterator(), start=1):
        place, last = (place, last) if loss == last else (position, loss)
        found[team] = place, loss
    return found


def _intervals(
    board: Board, scores: Sequence[FinalScore]
) -> Iterator[tuple[FinalScore, tuple[float, float] | tuple[()]]]:
    """Yield the interval around each score, where the metric allows one.

    What the ledger sets aside for a submission is as it was published with the answer, or, for one
    that was not asked since a revision, as one more question now.
    """
    if not metrics.get(board.metric).is_mean or not scores:
        yield from ((score, ()) for score in scores)
        return
    holdout, final = scores[0].holdout, on_final_rows(scores[0])
    asked = Release.objects.filter(board=board, holdout=holdout)
    if holdout.ledger.law:  # what said nothing had no number of its own, and gets one now
        asked = asked.exclude(length=None, repeat_of=None)
    lengths = {key: (width, length) for key, width, length in asked.values_list(*_WIDTHS)}
    ahead, design = count(1), final_design(scores[0])
    for score in scores:
        loss = score.units / (score.rows * score.resolution)
        if final:
            rest = interval_beta(board, final=True)
            yield score, untouched_interval(loss, score.rows, len(scores), rest, design=design)
            continue
        width, length = lengths.get(score.submission_id) or _next(board, score, next(ahead))
        if length is not None:
            width = math.sqrt(length / MILLION / (2 * score.rows))
        yield score, counted_interval(loss, score.rows, width, design=design)


def _next(board: Board, score: FinalScore, ahead: int) -> tuple[float, int | None]:
    """Return the width of a question that comes so far behind the last, and its length by laws."""
    ledger, mechanism = score.holdout.ledger, mechanisms.get(board.mechanism)
    part = mechanism.ledger_beta(mechanism.parse(board.mechanism_parameters))
    if ledger.law:
        account = read_account(ledger, score.team)
        return 0.0, terms_of(ledger).next_length(account, part, ahead)
    asked, answered = ledger.asked + ahead, ledger.answered
    # Half of beta is the ledger's with every mechanism; some keep the rest for their noise.
    ln_beta = math.log(beta(board) / 2)
    return ledger_width(score.rows, asked, answered, ledger.log_alphabets, ln_beta), None
