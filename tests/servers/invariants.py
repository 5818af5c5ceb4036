"""What must be true of a site's database at any moment, recomputed from the releases alone."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from django.contrib.auth.models import AnonymousUser

from leaderboard import queries
from leaderboard.models import (
    COUNTED,
    FINAL,
    Competition,
    Holdout,
    HoldoutState,
    Release,
    Standing,
    Status,
    Submission,
    Team,
    TeamState,
)
from leaderboard.pipeline.release import entry_hash
from scoring import mechanisms
from scoring.mechanisms.books import VACUOUS

YES = {"improved", "corrected"}
SHOWN = {"improved", "corrected", "confirmed"}


def violations(*, settled: bool) -> list[str]:
    """One sentence for each invariant that doesn't hold; `settled` where no work is under way."""
    found = [*_of_submissions(settled=settled), *_of_quotas()]
    for holdout in Holdout.objects.filter(retired_at__isnull=True).select_related("competition"):
        found += _of_ledger(holdout)
    for competition in Competition.objects.all():
        found += _of_board(competition)
    return found


def _of_submissions(*, settled: bool) -> Iterator[str]:
    if settled:
        for row in Submission.objects.exclude(status__in=FINAL):
            yield f"Submission {row.pk} never ends: it is {row.status}."
    for row in Submission.objects.filter(status=Status.FAILED):
        yield f"Submission {row.pk} failed: {row.failure}"
    answers = Counter(Release.objects.values_list("submission_id", flat=True))
    for row in Submission.objects.all():
        if answers[row.pk] != (row.status == Status.RELEASED):
            yield f"Submission {row.pk} is {row.status} and has {answers[row.pk]} releases."
    for row in Submission.objects.filter(status=Status.SCORING, claimed_at__isnull=True):
        yield f"Submission {row.pk} is held by nobody."


def _of_quotas() -> Iterator[str]:
    """Numbers have no gaps, and no team has more than its quota."""
    for team in Team.objects.select_related("competition"):
        rows = list(team.submissions.order_by("number"))
        if [row.number for row in rows] != list(range(1, len(rows) + 1)):
            yield f"{team}'s submissions are not numbered 1, 2, 3 ..."
        days = Counter(row.created_at.date() for row in rows if row.status in COUNTED)
        for day, used in days.items():
            if used > team.competition.daily_limit:
                yield f"{team} had {used} submissions on {day}."


@dataclass
class _Books:
    """The ledger as its entries add up."""

    asked: int = 0
    answered: int = 0
    log_alphabets: float = 0.0
    head: str = ""
    best: dict[int, int] = field(default_factory=dict)
    last: dict[int, int] = field(default_factory=dict)
    spent: Counter[int] = field(default_factory=Counter)


def _of_ledger(holdout: Holdout) -> Iterator[str]:
    competition = holdout.competition
    if competition.mechanism not in ("ladder", "thresholdout"):
        return
    parameters: Any = mechanisms.get(competition.mechanism).parse(competition.mechanism_parameters)
    share = getattr(parameters, "team_share", None)
    books = _Books()
    entries = list(holdout.ledger.order_by("number").select_related("submission"))
    for number, entry in enumerate(entries, start=1):
        yield from _of_entry(entry, number, books, parameters, share)
    yield from _of_head(holdout, len(entries), books, parameters)
    for state in TeamState.objects.filter(holdout=holdout):
        yield from _of_team(state, books, share)
    teams = {entry.team_id for entry in entries}
    if teams != set(TeamState.objects.filter(holdout=holdout).values_list("team_id", flat=True)):
        yield f"{holdout}: the teams with a state are not those with a release."


def _of_entry(
    entry: Release, number: int, books: _Books, parameters: Any, share: int | None
) -> Iterator[str]:
    if entry.number != number:
        yield f"{entry}: it should have number {number}."
    if entry.previous_hash != books.head or entry.hash != entry_hash(entry):
        yield f"{entry}: the chain is broken."
    books.head = entry.hash
    if entry.repeat_of_id is None:
        _count(entry, books, parameters)
        if entry.asked != books.asked:
            yield f"{entry}: it counts {entry.asked} questions and there were {books.asked}."
    if share is not None and entry.share_left != share - books.spent[entry.team_id]:
        yield f"{entry}: it leaves {entry.share_left} of {share} after {books.spent}."


def _count(entry: Release, books: _Books, parameters: Any) -> None:
    books.asked += 1
    if entry.kind in YES:
        best = books.best.get(entry.team_id)
        alphabet = parameters.alphabet
        if entry.kind == "improved" and best is not None:
            alphabet = max(best, 1)
        books.answered += 1
        books.log_alphabets += math.log(alphabet)
        books.spent[entry.team_id] += 1
    if entry.kind in SHOWN and entry.level is not None:
        books.best[entry.team_id] = min(entry.level, books.best.get(entry.team_id, entry.level))
        books.last[entry.team_id] = entry.level


def _of_head(holdout: Holdout, releases: int, books: _Books, parameters: Any) -> Iterator[str]:
    state = HoldoutState.objects.get(holdout=holdout)
    stands = (state.releases, state.asked, state.answered, state.head_hash)
    should = (releases, books.asked, books.answered, books.head)
    if stands != should:
        yield f"{state}: its head says {stands}, its entries {should}."
    if not math.isclose(state.log_alphabets, books.log_alphabets, abs_tol=1e-9):
        yield f"{state}: ln G is {state.log_alphabets}, its entries say {books.log_alphabets}."
    budget = getattr(parameters, "budget", None)
    if budget is not None:
        taken = parameters.team_share * TeamState.objects.filter(holdout=holdout).count()
        if state.budget_left != budget - taken:
            yield f"{state}: {state.budget_left} of {budget} are left, {taken} were taken."


def _of_team(state: TeamState, books: _Books, share: int | None) -> Iterator[str]:
    team = state.team_id
    if (state.best, state.last) != (books.best.get(team), books.last.get(team)):
        yield f"{state}: its levels are not those of its releases."
    if share is not None and state.share_left != share - books.spent[team]:
        yield f"{state}: {state.share_left} of {share} are left, {books.spent[team]} were spent."


def _of_board(competition: Competition) -> Iterator[str]:
    """Each standing is made of the team's releases, and the board is in the order of standings."""
    releases = defaultdict[int, list[Release]](list)
    for entry in Release.objects.filter(
        team__competition=competition, holdout__retired_at__isnull=True
    ).order_by("number"):
        releases[entry.team_id].append(entry)
    standings = {row.team_id: row for row in Standing.objects.filter(competition=competition)}
    if set(standings) != set(releases):
        yield f"{competition}: the teams on the board are not those with releases."
        return
    keys = {}
    for team, entries in releases.items():
        loss, reached_at = _best(entries)
        row = standings[team]
        keys[team] = (VACUOUS * 2 if loss is None else loss, reached_at, row.pk)
        if (row.loss, row.reached_at, row.entries) != (loss, reached_at, len(entries)):
            yield f"{row}: it is not made of the team's releases."
        if row.last_id != entries[-1].pk:
            yield f"{row}: its last release is not the last."
    shown = [row.team_id for row in queries.whole_board(competition, AnonymousUser())]
    if shown != sorted(keys, key=lambda team: keys[team]):
        yield f"{competition}: the board is out of order."


def _best(entries: list[Release]) -> tuple[float | None, Any]:
    """The best released loss, and when the file that reached it was accepted."""
    loss, reached_at = None, entries[0].submission.created_at
    for entry in entries:
        if entry.kind in SHOWN and entry.level is not None:
            new = entry.level / entry.steps
            if loss is None or new < loss:
                loss, reached_at = new, entry.submission.created_at
    return loss, reached_at
