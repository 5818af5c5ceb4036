"""What an organizer is warned of before and after the opening: no errors, nothing is held up.

Made of training labels, published counts and released scores, so every organizer may read it. What
would need labels of Private or Final rows is for those who may see the solution, alone.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Any, Final

from django.db.models import Count, Max, Min
from django.utils import timezone

from leaderboard.models import Board, Competition, FileRole, Phase, Round, Standing
from leaderboard.organize.plan import suggest_remedy
from leaderboard.organize.proposals import expected_size, training_labels
from leaderboard.platform.files import open_stored
from scoring import mechanisms, metrics
from scoring.errors import HoldfastError
from scoring.predictions import Limits, Schema
from scoring.predictions.limits import MB
from scoring.proposals import MOST_CUT, Size, best_constant, sampling_error, share_cut
from scoring.split import Suspect, find_groups
from scoring.split_table import read_columns

_LARGEST: Final = 50 * MB  # of the test data that are looked at while a page is made
_NAMED: Final = 5


@dataclass(frozen=True)
class SetupWarning:
    """A line under the checklist: what may go wrong, why, and the step on which it can be fixed."""

    name: str
    title: str
    detail: str
    step: str = "scoring"


def find_warnings(competition: Competition) -> list[SetupWarning]:
    """Return what is to be warned of, over all boards of the current round; nothing at its end."""
    round = competition.current_round
    if round.phase(timezone.now()) is Phase.CLOSED:
        return []
    size = expected_size(round)
    is_draft = competition.opened_by_organizer_at is None
    found = list(_warn_of_groups(round)) if is_draft else []
    for board in round.boards.all():
        if board.metric not in metrics.METRICS or board.mechanism not in mechanisms.MECHANISMS:
            continue
        for warn in (_warn_of_labels, _warn_of_baselines, _warn_of_budget, _warn_of_guarantee):
            try:
                found += warn(board, size)
            except HoldfastError:  # the checklist says what doesn't fit
                continue
    return found


def _warn_of_labels(board: Board, size: Size) -> Iterator[SetupWarning]:
    """Compare clip and steps with the best constant prediction on the training labels."""
    labels = training_labels(board.round) if board.round.schema else None
    if labels is None:
        return
    metric, schema = metrics.get(board.metric), Schema.from_json(board.round.schema)
    params = metric.parse(board.metric_parameters)
    cut = share_cut(metric, params, schema, labels)
    if cut is not None and cut > MOST_CUT:
        yield SetupWarning(
            "clip",
            "The clip cuts too much",
            f"{100 * cut:.0f} % of the errors of the best constant prediction on the training "
            "labels are larger than the largest that counts: files that differ there get the same "
            "score.",
        )
    constant = best_constant(metric, params, schema, labels)
    steps = _parsed(board).steps
    if constant is None or size.private is None:
        return
    error = sampling_error(constant, size.private)
    if 1 / steps > 2 * error:
        loss = float(constant.loss)
        step, wide = (
            abs(metric.score(loss, params) - metric.score(max(0.0, loss - by), params))
            for by in (1 / steps, error)
        )
        yield SetupWarning(
            "steps",
            "Steps hide differences",
            f"A step is {step:.2g} of the score, and the sampling error about {wide:.2g}: files "
            "that differ for sure look the same.",
        )


def _warn_of_baselines(board: Board, size: Size) -> Iterator[SetupWarning]:
    """Look at what the board has released of baselines."""
    seen = Standing.objects.filter(board=board, team__is_baseline=True, loss__isnull=False)
    facts = seen.aggregate(count=Count("pk"), best=Min("loss"), worst=Max("loss"))
    if facts["count"] > 1 and facts["best"] == facts["worst"]:
        yield SetupWarning(
            "baselines",
            "All baselines are on one step",
            f"{facts['count']} baselines have the same score: the board can't tell them apart. Its "
            "steps are too wide, or the clip cuts most of their errors.",
        )
    # Half of the largest error that counts, on average: one in twenty lies beyond it, or more.
    if facts["count"] and facts["best"] > 0.5 and metrics.get(board.metric).errors is not None:
        yield SetupWarning(
            "clip",
            "The clip cuts too much",
            f"The best baseline's loss is {100 * facts['best']:.0f} % of the largest there is: "
            "many of its errors are cut.",
        )


def _warn_of_budget(board: Board, size: Size) -> Iterator[SetupWarning]:
    params = _parsed(board)
    budget, share = (getattr(params, name, None) for name in ("budget", "team_share"))
    if budget is not None and share is not None and share * size.teams > budget:
        yield SetupWarning(
            "budget",
            "The budget is smaller than the teams' shares",
            f"{size.teams:,} teams with {share} each could take {share * size.teams:,}, and there "
            f"are {budget:,} in all: once {budget // share:,} teams have taken theirs, others get "
            "none.",
        )


def _warn_of_guarantee(board: Board, size: Size) -> Iterator[SetupWarning]:
    if remedy := suggest_remedy(board):
        holdout = board.round.active_holdout
        kind = "groups" if holdout is not None and holdout.designs else "rows"
        yield SetupWarning(
            "guarantee",
            "No guarantee is left in the end",
            f"With {size.teams:,} teams and {size.submissions:,} submissions each, the last scores "
            f"of a normal competition carry none on {size.private or 0:,} Private {kind}. {remedy}",
        )


def _parsed(board: Board) -> Any:
    return mechanisms.get(board.mechanism).parse(board.mechanism_parameters)


def _warn_of_groups(round: Round) -> Iterator[SetupWarning]:
    """Warn of columns of the test data that look like groups, unless the solution has groups."""
    holdout = round.active_holdout
    if holdout is not None and holdout.designs:
        return
    entries = round.origin.files.filter(role=FileRole.TEST, size__lte=_LARGEST)
    stored = ((entry.sha256, entry.file.name) for entry in entries)
    found = list(chain.from_iterable(_suspects(*each) for each in stored))
    if not found:
        return
    # Days first: of few values there may be many columns that are measurements.
    found.sort(key=lambda each: each.kind != "days")
    named = [f"“{each.column}” ({each.groups:,} {each.kind})" for each in found[:_NAMED]]
    more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    yield SetupWarning(
        "groups",
        "Do rows belong together?",
        f"In the test data many rows share a value of {', '.join(named)}{more}. If rows "
        "that share one depend on each other, as those of a day, a patient or an author do, "
        "the board would promise too much. Name it in a column Group of the solution, whole "
        "groups in each set: “holdfast split --by group” writes such a file. If none does, "
        "leave it as it is.",
        step="solution",
    )


@lru_cache(maxsize=256)
def _suspects(sha256: str, name: str) -> tuple[Suspect, ...]:
    """Return the columns of a stored file that look like groups; none of one that is no table."""
    try:
        with open_stored(name) as file:
            return tuple(find_groups(read_columns(file, Limits.of_upload(_LARGEST))))
    except HoldfastError:
        return ()
