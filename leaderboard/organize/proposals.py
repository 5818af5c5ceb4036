"""Defaults from data, for console, API and command line: what is proposed, and taking it."""

import json
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final

from numpy.typing import NDArray

from leaderboard.models import Board, FileRole, QuickSetup, Round, User
from leaderboard.organize.scoring import Scoring, change_scoring, effective_rows
from leaderboard.platform.files import open_stored
from scoring import metrics, proposals
from scoring.errors import ParameterError, SolutionError
from scoring.predictions import Column, Schema, read_labels
from scoring.proposals import Size, Suggestion

EXPECTED_TEAMS: Final = 60  # where no number of teams is set
_MOST_BYTES: Final = 64_000_000
_ENDLESS_DAYS: Final = 365


def propose(board: Board) -> tuple[Suggestion, ...]:
    """Return what the data of a board's round propose; nothing before there are metric and columns.

    The training file's labels and published counts are all that is read: the solution is sealed.
    """
    round = board.round
    if board.metric not in metrics.METRICS or not round.schema:
        return ()
    metric, schema = metrics.get(board.metric), Schema.from_json(round.schema)
    try:
        metric.check(schema, None, metric.parse(board.metric_parameters))
    except ParameterError:
        return ()
    size, labels = expected_size(round), training_labels(round)
    *found, limit = proposals.propose(
        metric, board.metric_parameters, schema, size, training=labels
    )
    if round.closes_at is None:
        return tuple(found)  # a board without an end goes on without a limit
    if round.team_limit is None:
        assumed = f" No number of teams is set: {EXPECTED_TEAMS} are expected."
        limit = replace(limit, reason=limit.reason + assumed)
    return (*found, limit)


def is_used(board: Board, suggestion: Suggestion) -> bool:
    """Return whether a board, or its round, has the value that is proposed."""
    owner, _, name = suggestion.field.rpartition(".")
    holder = getattr(board, owner) if owner else vars(board.round) | vars(board)
    return str(holder.get(name)) == suggestion.value


def use_proposal(board: Board, *, by: User | None = None) -> bool:
    """Give a board of a draft the metric's and mechanism's values that are proposed.

    The question limit is a setting of the round. Return whether that withdrew a solution. Raises
    Refused as `change_scoring` does.
    """
    given = {each.field: each.value for each in propose(board)}
    mechanism = given.get("mechanism", board.mechanism)
    kept = board.mechanism_parameters if mechanism == board.mechanism else {}
    scoring = Scoring(
        metric=board.metric,
        metric_parameters=board.metric_parameters | of_kind("metric_parameters", given),
        mechanism=mechanism,
        mechanism_parameters=kept | of_kind("mechanism_parameters", given),
    )
    return change_scoring(board, scoring, by=by)


def expected_size(round: Round) -> Size:
    """Return how large a round is by its limits, and its solution where there is one."""
    holdout = round.active_holdout
    rows = effective_rows(holdout) if holdout else None
    days = (round.closes_at - round.opens_at).days if round.closes_at else _ENDLESS_DAYS
    return Size(
        teams=round.team_limit or EXPECTED_TEAMS,
        submissions=round.total_limit or round.daily_limit * max(1, days),
        boards=round.boards.count(),
        private=rows.private if rows else None,
        public=rows.public if rows else None,
    )


def training_labels(round: Round) -> list[NDArray[Any]] | None:
    """Return the labels of the training files' columns, from the first that has them all."""
    schema = json.dumps(round.schema, sort_keys=True)
    setup = QuickSetup.objects.filter(round=round.origin).first()
    label = json.dumps(setup.facts.get("label"), sort_keys=True) if setup else "null"
    files = round.origin.files.filter(role=FileRole.TRAIN).order_by("name")
    found = (_read(str(each.file.name), each.sha256, schema, label) for each in files)
    return next((labels for labels in found if labels is not None), None)


@lru_cache(maxsize=8)
def _read(name: str, sha256: str, schema: str, label: str) -> list[NDArray[Any]] | None:
    """Keep them for each content and schema; of a large file the beginning is read."""
    column = json.loads(label)
    with open_stored(name) as file:
        head = file.read(_MOST_BYTES)
    if len(head) == _MOST_BYTES:
        head = head[: head.rfind(b"\n") + 1]
    try:
        return read_labels(
            head,
            Schema.from_json(json.loads(schema)),
            label=Column.from_json(column) if column else None,
        )
    except (ParameterError, SolutionError):
        return None


def of_kind(kind: str, given: dict[str, str]) -> dict[str, str]:
    """Return the proposed values of one kind of parameters, by their own names."""
    return {
        name.removeprefix(f"{kind}."): value
        for name, value in given.items()
        if name.startswith(f"{kind}.")
    }
