"""Submissions as their team sees them, and what was released about them."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any

from django.db.models import F, Q, QuerySet

from leaderboard.models import Board, Release, Sanction, Status, Submission, Team
from leaderboard.queries.certificates import certificate_interval
from leaderboard.queries.finals import FinalEntry
from leaderboard.queries.gates import GateAnswer, gate_answer
from leaderboard.queries.moments import to_the_second
from leaderboard.queries.scales import Interval, Scale, sampling_interval, scale
from leaderboard.queries.waiting import Wait
from scoring import mechanisms
from scoring.errors import Problem
from scoring.mechanisms.base import Unit
from scoring.mechanisms.kinds import AnswerKind

_DIGEST_BEGINS = 8  # characters; shorter ones would be found in too many digests


@dataclass(frozen=True)
class Released:
    """What was released about one submission, ready to be put in words.

    `number` and `asked` are its places in the ledger and among all questions, None while teams may
    not know of each other. `repeats` is the number of the submission that got this answer first,
    None where this one did. `unit` is what shares are counted in. `version` is that of the solution
    that it was measured on, `earlier` whether it has been revised since. `apart`: the guarantee
    holds if teams don't share answers. `runs` and `spread` are as in a `BoardRow`.
    """

    kind: AnswerKind
    number: int | None
    score: str | None
    value: float | None
    reference: str | None
    reference_kind: str
    sampling: Interval | None
    certificate: Interval | None
    runs: int
    spread: float | None
    step: str
    share_left: int | None
    unit: Unit | None
    asked: int | None
    repeats: int | None
    version: int
    earlier: bool
    apart: bool
    created_at: datetime

    @property
    def is_repeat(self) -> bool:
        return self.repeats is not None


@dataclass(frozen=True)
class SubmissionRow:
    """A submission as its team sees it. `problems` are those of a rejected file.

    `gate` is the name of the gate that it was sent to, None where the boards answer; `answer` what
    that gate said. is_lost: whether the file was lost with a database. `final` and `wait` are there
    where the API asks for them.
    """

    number: int
    user: str
    file_name: str
    size: int
    sha256: str
    is_lost: bool
    message: str
    campaign: str | None
    status: Status
    problems: tuple[dict[str, Any], ...]
    problem_count: int
    created_at: datetime
    read_at: datetime | None
    finished_at: datetime | None
    takes_quota: bool
    is_practice: bool
    released: Released | None
    gate: str | None
    answer: GateAnswer | None
    final: FinalEntry | None = None
    wait: Wait | None = None

    @property
    def is_final(self) -> bool:
        return self.finished_at is not None

    @property
    def waits_again(self) -> bool:
        """Return whether it has an answer on an earlier solution and waits for one on the new."""
        return self.released is not None and self.status in (Status.QUEUED, Status.SCORING)


# What a submission is shown with.
RELATED = (
    *("user", "campaign", "release__holdout", "release__board__round"),
    "release__repeat_of__submission",
    *("gate__board", "gate_answer__holdout__ledger"),
)
_LOSS = F("release__level") * 1.0 / F("release__steps")
# How a list of submissions may be ordered, and in words.
ORDERS: Mapping[str, tuple[str, tuple[Any, ...]]] = {
    "newest": ("Newest first", ("-number",)),
    "oldest": ("Oldest first", ("number",)),
    "score": ("Best score first", (_LOSS.asc(nulls_last=True), "number")),
    "file": ("By file name", ("file_name", "-number")),
}


def own_submissions(
    team: Team, *, search: str = "", status: str = "", campaign: str = "", order: str = "newest"
) -> QuerySet[Submission]:
    """Return the team's submissions in one of `ORDERS`, also of one status or campaign alone.

    `search` looks in messages, file names, who sent it, and is a number or a beginning of a digest.
    """
    found = team.submissions.order_by(*ORDERS[order][1])
    if status:
        found = found.filter(status=status)
    if campaign:
        found = found.filter(campaign__name=campaign)
    if search:
        texts = Q(message__icontains=search) | Q(file_name__icontains=search)
        texts |= Q(user__username__icontains=search)
        if len(search) >= _DIGEST_BEGINS:
            texts |= Q(sha256__startswith=search.lower())
        if search.isascii() and search.isdigit() and len(search) < _DIGEST_BEGINS:
            texts |= Q(number=int(search))
        found = found.filter(texts)
    return found.select_related(*RELATED)


def submission_rows(team: Team, part: slice = slice(None)) -> list[SubmissionRow]:
    """Return the team's submissions, newest first, or a part of them."""
    return rows_of(own_submissions(team)[part])


def rows_of(submissions: Iterable[Submission]) -> list[SubmissionRow]:
    """Return submissions as their team sees them."""
    scale_once = cache(scale)
    return [submission_row(each, scale_once) for each in submissions]


def best_scores(team: Team, board: Board) -> list[tuple[datetime, float]]:
    """Return when the team reached each of its best scores on a board, oldest first."""
    reads, mechanism = scale(board), mechanisms.get(board.mechanism)
    releases = board.releases.filter(
        submission__team=team,
        kind__in=[each.code for each in mechanism.kinds if each.shows == "own"],
        holdout__retired_at__isnull=True,
        submission__is_practice=False,
    ).exclude(submission__in=Sanction.objects.at().of_submissions().values("submission"))
    steps, best = list[tuple[datetime, float]](), math.inf
    for level, each, at in releases.order_by("number").values_list("level", "steps", "created_at"):
        if level is not None and level / each < best:
            best = level / each
            steps.append((to_the_second(at), reads.score(best)))
    return steps


def submission_row(
    submission: Submission, scale_of: Callable[[Board], Scale] = scale
) -> SubmissionRow:
    """Return one submission."""
    entry = submission.release
    return SubmissionRow(
        number=submission.number,
        user=submission.user.username,
        file_name=submission.file_name,
        size=submission.size,
        sha256=submission.sha256,
        is_lost=not submission.file,
        message=submission.message,
        campaign=submission.campaign.name if submission.campaign else None,
        status=Status(submission.status),
        problems=tuple(Problem.from_json(each).render() for each in submission.problems),
        problem_count=submission.problem_count,
        created_at=submission.created_at,
        read_at=to_the_second(submission.read_at),
        finished_at=to_the_second(submission.finished_at),
        takes_quota=submission.takes_quota,
        is_practice=submission.is_practice,
        released=_released(entry, scale_of(entry.board), submission) if entry else None,
        gate=submission.gate.name if submission.gate else None,
        answer=gate_answer(submission),
    )


def _released(entry: Release, reads: Scale, submission: Submission) -> Released:
    holdout, mechanism = entry.holdout, mechanisms.get(entry.board.mechanism)
    # Exact final scores on the rows that answer are counted by no ledger.
    is_sure = not submission.is_practice or holdout.final_rows > 0
    hides = submission.team.competition.hides_others
    loss = None if entry.level is None else entry.level / entry.steps
    reference = entry.reference_level
    return Released(
        kind=mechanism.kind(entry.kind),
        number=None if hides else entry.number,
        score=None if loss is None else reads.text(loss),
        value=None if loss is None else reads.score(loss),
        reference=None if reference is None else reads.text(reference / entry.steps),
        reference_kind=reads.reference,
        sampling=None if loss is None else sampling_interval(reads, holdout, loss),
        certificate=certificate_interval(reads, entry) if is_sure else None,
        runs=entry.runs,
        spread=entry.spread,
        step=reads.step_text(loss or 0.0),
        share_left=entry.share_left,
        unit=mechanism.unit,
        asked=None if hides else entry.asked,
        repeats=entry.repeat_of.submission.number if entry.repeat_of else None,
        version=holdout.version,
        earlier=holdout.retired_at is not None,
        apart=entry.board.round.is_hidden,
        created_at=to_the_second(entry.created_at),
    )
