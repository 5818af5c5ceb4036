"""Check what must be true of a site's database at any moment, from the releases alone."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from django.contrib.auth.models import AnonymousUser

from leaderboard import queries
from leaderboard.ledger.entries import entry_hash
from leaderboard.models import (
    COUNTED,
    FINAL,
    Board,
    BoardState,
    Ledger,
    Release,
    Status,
    Submission,
    Team,
    TeamState,
)
from scoring import mechanisms
from scoring.mechanisms.books import VACUOUS

YES = {"improved", "corrected"}
SHOWN = {"improved", "corrected", "confirmed"}


def violations(*, settled: bool) -> list[str]:
    """Return a sentence for each invariant that doesn't hold; `settled`: no work is under way."""
    found = [*_of_submissions(settled=settled), *_of_quotas()]
    for board in Board.objects.filter(round__ledger__isnull=False).select_related("round__ledger"):
        found += _of_ledger(board)
    for board in Board.objects.all():
        found += _of_board(board)
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
    """Check that numbers have no gaps, and that no team has more than its quota."""
    for team in Team.objects.select_related("competition"):
        daily_limit = team.competition.current_round.daily_limit
        rows = list(team.submissions.order_by("number"))
        if [row.number for row in rows] != list(range(1, len(rows) + 1)):
            yield f"{team}'s submissions are not numbered 1, 2, 3 ..."
        counted = [row for row in rows if row.status in COUNTED and row.takes_quota]
        days = Counter(row.created_at.date() for row in counted)
        for day, used in days.items():
            if used > daily_limit:
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


def _of_ledger(board: Board) -> Iterator[str]:
    """Check the ledger of a round with one board, which was never revised."""
    ledger = board.round.ledger
    if ledger is None or board.mechanism not in ("ladder", "thresholdout"):
        return
    parameters: Any = mechanisms.get(board.mechanism).parse(board.mechanism_parameters)
    share = getattr(parameters, "team_share", None)
    books = _Books()
    entries = list(
        Release.objects.filter(holdout__ledger=ledger)
        .order_by("number")
        .select_related("board", "team", "submission")
    )
    for number, entry in enumerate(entries, start=1):
        yield from _of_entry(entry, number, books, parameters, share)
    states = list(TeamState.objects.filter(board=board))
    yield from _of_head(ledger, board, len(entries), books, parameters, len(states))
    for state in states:
        yield from _of_team(state, books, share)
    if {entry.team_id for entry in entries} != {state.team_id for state in states}:
        yield f"{ledger}: the teams with a state are not those with a release."


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


def _of_head(
    ledger: Ledger, board: Board, entries: int, books: _Books, parameters: Any, teams: int
) -> Iterator[str]:
    stands = (ledger.entries, ledger.asked, ledger.answered, ledger.head_hash)
    should = (entries, books.asked, books.answered, books.head)
    if stands != should:
        yield f"{ledger}: its head says {stands}, its entries {should}."
    if not math.isclose(ledger.log_alphabets, books.log_alphabets, abs_tol=1e-9):
        yield f"{ledger}: ln G is {ledger.log_alphabets}, its entries say {books.log_alphabets}."
    budget = getattr(parameters, "budget", None)
    if budget is not None:
        left, taken = BoardState.objects.get(board=board).budget_left, parameters.team_share * teams
        if left != budget - taken:
            yield f"{ledger}: {left} of {budget} are left, {taken} were taken."


def _of_team(state: TeamState, books: _Books, share: int | None) -> Iterator[str]:
    team = state.team_id
    if (state.best, state.last) != (books.best.get(team), books.last.get(team)):
        yield f"{state}: its levels are not those of its releases."
    if share is not None and state.share_left != share - books.spent[team]:
        yield f"{state}: {state.share_left} of {share} are left, {books.spent[team]} were spent."


def _of_board(board: Board) -> Iterator[str]:
    """Check that standings are made of their teams' releases, and the board is in their order."""
    releases = defaultdict[int, list[Release]](list)
    active = Release.objects.filter(board=board, holdout__retired_at__isnull=True)
    for entry in active.select_related("submission").order_by("number"):
        releases[entry.team_id].append(entry)
    standings = {row.team_id: row for row in board.standings.all()}
    if set(standings) != set(releases):
        yield f"{board}: the teams on the board are not those with releases."
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
    shown = [row.team_id for row in queries.whole_board(board, AnonymousUser())]
    if shown != sorted(keys, key=lambda team: keys[team]):
        yield f"{board}: the board is out of order."


def _best(entries: list[Release]) -> tuple[float | None, Any]:
    """Return the best released loss, and when the file that reached it was accepted."""
    loss, reached_at = None, entries[0].submission.created_at
    for entry in entries:
        if entry.kind in SHOWN and entry.level is not None:
            new = entry.level / entry.steps
            if loss is None or new < loss:
                loss, reached_at = new, entry.submission.created_at
    return loss, reached_at
