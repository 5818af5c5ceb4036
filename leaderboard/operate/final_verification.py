"""Compute the finals of a ledger again: entries, exact scores, intervals, tests and places."""

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, Final

from django.db.models import QuerySet

from leaderboard import vault
from leaderboard.models import Board, FinalScore, FinalTests, Holdout, Round, Submission
from leaderboard.participate.selection import entered
from leaderboard.pipeline.final_places import final_results
from leaderboard.pipeline.final_tests import Tested, compare_entries, entry_order, pairs_level
from leaderboard.pipeline.parse import parse
from leaderboard.platform.files import FileDamaged
from leaderboard.platform.scratch import scratch_array
from scoring import measuring, metrics
from scoring.contest import Contest
from scoring.errors import PredictionError
from scoring.guarantees.rank_sets import RankSets
from scoring.measurement import Mean
from scoring.predictions import Predictions, Solution
from scoring.verification.differences import Differs, shown

# Ends of intervals come out of searches and logarithms, which differ by a last digit.
_CLOSE: Final = 1e-9


@dataclass(frozen=True)
class Labels:
    """What may be computed from labels that are at hand here: exact means, and contests."""

    measure: Callable[[Board, Predictions], Mean]
    contest: Callable[[Board, int], Contest]


def sealed(holdout: Holdout) -> Labels:
    """Return what the vault computes of a revision; its labels stay there."""
    return Labels(partial(vault.measure_final, holdout), partial(vault.contest, holdout))


def published(solution: Solution) -> Labels:
    """Return what follows from a published solution."""

    def measure(board: Board, predictions: Predictions) -> Mean:
        metric = metrics.get(board.metric)
        parameters = metric.parse(board.metric_parameters)
        return measuring.measure_final(metric, parameters, predictions, solution)

    def contest(board: Board, entries: int) -> Contest:
        metric = metrics.get(board.metric)
        parameters = metric.parse(board.metric_parameters)
        return Contest(metric, parameters, solution, entries, scratch_array)

    return Labels(measure, contest)


def verify_finals(rounds: QuerySet[Round], labels: Labels | None) -> int:
    """Compare what is stored of the finals of rounds; return how many files were scored again.

    Without labels, what was measured and tested is taken as stored, and only what follows from it
    is computed. Raises Differs at the first difference.
    """
    files = 0
    for round in rounds.order_by("number"):
        scores = FinalScore.objects.filter(board__round=round)
        first = scores.select_related("holdout__ledger").first()
        if first is None and not entered(round).exists():
            continue  # all answers were lost with a database, and written off
        if first is None:
            if entered(round).exists():
                raise Differs(None, f"finals of round {round.number}", "There is no final score.")
            continue  # every entry was lost with a database, and the finals had begun
        holdout = first.holdout
        boards = list(round.boards.all())
        for board in boards:
            _check_entered(round, board)
        if labels is None:
            stored = {board.pk: _as_stored(board, holdout) for board in boards}
            tests = {key: tested for key, tested in stored.items() if tested is not None}
        else:
            seen = _Scores(scores.select_related("team", "submission"), labels)
            tests = compare_entries(boards, holdout, labels.contest, seen.read, every=True)
            files += seen.files
        for board in boards:
            _check_results(board, tests.get(board.pk))
    return files


class _Scores:
    """Read entered files and compare what they measure with the stored scores."""

    def __init__(self, scores: QuerySet[FinalScore], labels: Labels) -> None:
        self.files = 0
        self._labels = labels
        self._stored: dict[int, list[FinalScore]] = {}
        for score in scores.select_related("board"):
            self._stored.setdefault(score.submission_id, []).append(score)

    def read(self, submission: Submission) -> Predictions:
        """Return the predictions of a file, which give the stored scores. Raises Differs."""
        try:
            predictions = parse(submission)
        except (FileDamaged, FileNotFoundError, PredictionError):
            name = f"final entry {_name(self._stored[submission.pk][0])}"
            raise Differs(None, name, "The stored file can't be read as it was uploaded.") from None
        for score in self._stored[submission.pk]:
            mean = self._labels.measure(score.board, predictions)
            found = {"units": mean.units, "rows": mean.rows, "resolution": mean.resolution}
            _compare(f"final score of {_name(score)}", found, score)
        self.files += 1
        return predictions


def _check_entered(round: Round, board: Board) -> None:
    rows = [(each.pk, each.is_chosen) for each in entered(round)]  # type: ignore[attr-defined]  # annotated
    stored = board.final_scores.values_list("submission", "chosen")
    if set(rows) != set(stored):
        count = len(set(rows) ^ set(stored))
        message = f"{count} differ from what teams selected, or what is used by default."
        raise Differs(None, f"final entries on board {board.uid}", message)
    if board.finalists != len(stored):
        message = f"The database has {board.finalists} of them; there are {len(stored)}."
        raise Differs(None, f"finalists of board {board.uid}", message)


def _check_results(board: Board, tested: Tested | None) -> None:
    """Compare places, intervals and tests of a board with what follows from its scores."""
    kept = _document(board)
    name = f"tests of final entries on board {board.uid}"
    if (kept is None) != (tested is None):
        raise Differs(None, name, "They are missing." if kept is None else "There can be none.")
    if kept is not None and tested is not None:
        for field, expected in tested.document.items():
            found = kept.get(field, "0")
            close = field == "level" and _close(float(found), float(expected))
            if not close and found != expected:
                raise Differs(None, f"{name}, {field}", _differ(found, expected))
    scores = board.final_scores.select_related("team", "submission").in_bulk()
    for key, result in final_results(board, tested).items():
        _compare(f"final score of {_name(scores[key])}", asdict(result), scores[key])


def _as_stored(board: Board, holdout: Holdout) -> Tested | None:
    """Return the stored tests, with what follows from their p-values at the right level."""
    kept = _document(board)
    level = pairs_level(board, holdout)
    if kept is None or level is None:
        return None
    found = RankSets.from_json(kept, level)
    return Tested(tuple(entry_order(board)), found, kept["rows"])


def _document(board: Board) -> dict[str, Any] | None:
    return FinalTests.objects.filter(board=board).values_list("document", flat=True).first()


def _compare(what: str, computed: Mapping[str, Any], score: FinalScore) -> None:
    for name, value in computed.items():
        found = getattr(score, name)
        both = isinstance(value, float) and isinstance(found, float)
        if not (_close(found, value) if both else found == value):
            raise Differs(None, f"{what}, {name}", _differ(found, value))


def _close(found: float, computed: float) -> bool:
    return math.isclose(found, computed, rel_tol=_CLOSE, abs_tol=_CLOSE)


def _differ(found: object, computed: object) -> str:
    return f"It is {shown(found)}; computed again it is {shown(computed)}."


def _name(score: FinalScore) -> str:
    return f"team {score.team.uid} #{score.submission.number}"
