"""What trials of a draft were told: for its owners and editors alone."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from leaderboard.models import Board, Round, Status, Trial
from leaderboard.queries.scales import scale
from scoring.errors import HoldfastError, Problem


@dataclass(frozen=True)
class TrialAnswer:
    """What a board said of a trial: the code of its answer kind, and the score that it shows."""

    board: str
    kind: str
    score: str


@dataclass(frozen=True)
class TrialRow:
    """A trial as it is listed. `is_old`: the draft asks something else by now."""

    pk: int
    title: str
    kind: str
    status: Status
    created_at: datetime
    answers: tuple[TrialAnswer, ...]
    problems: tuple[Problem, ...]
    problem_count: int
    failure: str
    is_baseline: bool
    is_old: bool


def list_trials(round: Round, basis: str) -> list[TrialRow]:
    """Return a draft's trials, the newest first; none once it was opened.

    basis: what the draft asks now.
    """
    if round.competition.opened_by_organizer_at is not None:
        return []
    boards = list(round.boards.all())
    return [trial_row(trial, boards, basis) for trial in round.trials.all()]


def trial_row(trial: Trial, boards: list[Board], basis: str) -> TrialRow:
    """Return a trial as it is listed."""
    return TrialRow(
        pk=trial.pk,
        title=trial.title,
        kind=trial.kind,
        status=Status(trial.status),
        created_at=trial.created_at,
        answers=tuple(
            _answer(board, trial.answers[board.uid])
            for board in boards
            if board.uid in trial.answers
        ),
        problems=tuple(map(Problem.from_json, trial.problems)),
        problem_count=trial.problem_count,
        failure=trial.failure,
        is_baseline=trial.is_baseline,
        is_old=trial.status == Status.RELEASED and trial.basis != basis,
    )


def _answer(board: Board, said: dict[str, Any]) -> TrialAnswer:
    score = ""
    if said["level"] is not None:
        try:
            score = scale(board).text(said["level"] / said["steps"])
        except HoldfastError:  # the board was changed since
            score = ""
    return TrialAnswer(str(board), said["kind"], score)
