"""What a team enters for the final scores: its selection, or else its best submission."""

from collections.abc import Callable, Collection, Iterator, Mapping
from functools import lru_cache
from typing import Any

from django.db import transaction
from django.db.models import (
    Case,
    Count,
    Exists,
    F,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Value,
    When,
)
from django.db.models.functions import Coalesce

from leaderboard.errors import Refused
from leaderboard.models import (
    Audience,
    Board,
    Competition,
    EventKind,
    Membership,
    Pause,
    Release,
    Round,
    Sanction,
    Selection,
    Standing,
    Submission,
    Team,
    User,
)
from leaderboard.notify import events
from leaderboard.platform.statements import prepared
from scoring import mechanisms


def select(*, team: Team, user: User, numbers: Collection[int]) -> None:
    """Enter these submissions of the team, by their numbers, and no others.

    Raises Refused, having changed nothing, if the user isn't a member, the finals have started,
    the ledger is being restored, there are too many, or one of them has no released score.
    """
    _change(team, user, lambda before: set(numbers))


def enter(*, team: Team, user: User, number: int) -> None:
    """Enter one more submission. Raises Refused as `select` does."""
    _change(team, user, lambda before: before | {number})


def withdraw(*, team: Team, user: User, number: int) -> None:
    """Take one out. Raises Refused as `select` does."""
    _change(team, user, lambda before: before - {number})


def over_limit(round: Round) -> QuerySet[Team]:
    """Return the teams that selected more than a team may enter, which was more when they did."""
    selected = Count("selections", filter=Q(selections__submission__round__ledger=round.ledger))
    teams = Team.objects.filter(competition=round.competition).annotate(selected=selected)
    return teams.filter(selected__gt=round.finals_limit).order_by("name")


def entered(round: Round) -> QuerySet[Submission]:
    """Return the submissions that the final scoring counts, with `is_chosen`.

    One that waits to be scored again, on a revised solution, counts by the answer that it has. A
    team that selected nothing enters its `stand_in`. Files that were lost with a database can't be
    measured, so they don't count; nor do those under a sanction at the reveal.
    """
    teams, submissions = sanctioned(round)
    released = (
        Submission.objects.filter(
            ~Q(file=""), round__ledger=round.ledger, release__isnull=False, is_practice=False
        )
        .exclude(team__in=teams)
        .exclude(pk__in=submissions)
        .annotate(is_chosen=Exists(Selection.objects.filter(submission=OuterRef("pk"))))
    )
    choices = Selection.objects.filter(
        team=OuterRef("team"), submission__round__ledger=round.ledger
    ).exclude(submission__in=submissions)
    defaults = Coalesce(*(Subquery(each) for each in stand_ins(round, OuterRef("team"))))
    by_default = ~Exists(choices.order_by()) & Q(pk=defaults)
    return released.filter(Q(is_chosen=True) | by_default)


def sanctioned(round: Round) -> tuple[QuerySet[Any], QuerySet[Any]]:
    """Return the keys of the teams and submissions that don't count, now or at the reveal."""
    held = Sanction.objects.at(round.revealed_at)
    return held.of_teams().values("team"), held.of_submissions().values("submission")


def stand_in(round: Round, team: int) -> tuple[int, str] | None:
    """Return number and file of what a team enters by default; None where it has nothing.

    That is a best score for nearly all who ask.
    """
    places = {each.pk: place for each, place in _compared_boards(round).items()}
    for found in _best_of(tuple(places.items()))(team=team):
        return found
    keys = (key for found in stand_ins(round, team) for key in found)
    return next((found for key in keys for found in _named(key=key)), None)


def stand_ins(round: Round, team: OuterRef | int) -> Iterator[QuerySet[Any, int]]:
    """Yield queries for the key of what a team enters by default: the first that has one tells it.

    That is its best released score, the earliest where several reached it; without one its best
    score on the Public rows; without one the last submission that got an answer. A file that was
    lost with a database stands in only for a team that has no other. Of the rounds on
    these rows those are compared that have a board with the metric of the round whose finals these
    are; scores of other metrics count behind them, a later round's before an earlier one's.
    """
    boards = _compared_boards(round)
    places = {each.pk: place for each, place in boards.items()}
    claimed = [each for each in boards if each.takes_claims]
    yield _best(places, team).values_list("best__submission", flat=True)[:1]
    first = _in_order(places)
    answers = Release.objects.filter(
        submission__team=team, board__in=boards, submission__is_practice=False
    ).exclude(submission__in=sanctioned(round)[1])
    kept = answers.exclude(submission__file="")
    standings = Standing.objects.filter(team=team, board__in=boards)
    lost = standings.filter(best__submission__file="")
    released = kept.filter(Exists(lost), kind__in=_own(boards), holdout__retired_at__isnull=True)
    on_public = kept.filter(reference_level__isnull=False).exclude(board__in=claimed)
    loss, shown = F("level") * 1.0 / F("steps"), F("reference_level") * 1.0 / F("steps")
    earliest = ("submission__created_at", "submission__number")
    for found in (
        released.order_by(first, loss, *earliest),
        on_public.order_by(first, shown, "submission__number"),
        kept.order_by("-submission__number"),
        answers.order_by("-submission__number"),
    ):
        yield found.values_list("submission", flat=True)[:1]


@lru_cache(1000)
def _best_of(places: tuple[tuple[int, int], ...]) -> Callable[..., list[tuple[int, str]]]:
    named = "best__submission__number", "best__submission__file"
    return prepared(lambda team: _best(dict(places), team).values_list(*named)[:1])


@prepared
def _named(key: int) -> QuerySet[Submission, tuple[int, str]]:
    return Submission.objects.filter(pk=key).order_by().values_list("number", "file")


def _best(places: Mapping[int, int], team: Any) -> QuerySet[Standing]:
    """Return a team's rows of boards in these places, the best one first."""
    standings = Standing.objects.filter(team=team, board__in=places, best__isnull=False)
    kept = standings.exclude(best__submission__file="")
    return kept.order_by(_in_order(places), "loss", "reached_at", "pk")


def _in_order(places: Mapping[int, int]) -> Case:
    return Case(*(When(board=board, then=Value(place)) for board, place in places.items()))


def _compared_boards(round: Round) -> dict[Board, int]:
    """Return a board of each round on these rows, and where it counts: alike metrics first."""
    first, places = round.board, dict[Board, int]()
    rounds = [each for each in round.competition.all_rounds if each.ledger_id == round.ledger_id]
    for place, each in enumerate(reversed(rounds), start=1):
        boards = list(each.boards.all())
        alike = (board for board in boards if _metric(board) == _metric(first))
        board = next(alike, None)
        places[board or boards[0]] = place if board is None else 0
    return places


def _metric(board: Board) -> tuple[str, Any]:
    return board.metric, board.metric_parameters


def _own(boards: Collection[Board]) -> set[str]:
    """Return the kinds of answers that show the score of the very file, not the best so far."""
    kinds = (kind for each in boards for kind in mechanisms.get(each.mechanism).kinds)
    return {kind.code for kind in kinds if kind.shows == "own"}


def _change(team: Team, user: User, change: Callable[[set[int]], set[int]]) -> None:
    with transaction.atomic():
        # Starting the finals locks all teams: a selection commits before it, or sees it. The
        # competition is read behind that lock.
        team = Team.objects.select_for_update(no_key=True).get(pk=team.pk)
        round = Competition.objects.get(pk=team.competition_id).current_round
        if not Membership.objects.active().filter(team=team, user=user).exists():
            raise Refused("not_a_member")
        if round.finals_started_at is not None:
            raise Refused("finals_started")
        if round.paused_for not in ("", Pause.MOVED_ROWS):
            # The lost entries may include the finals, whose exact scores everybody knows.
            raise Refused("paused", variant=round.paused_for)
        selections = team.selections.filter(submission__round__ledger=round.ledger)
        before = set(selections.values_list("submission__number", flat=True))
        after = change(before)
        limit = round.finals_limit
        # Taking one out is always allowed, also where the limit was lowered.
        if not after <= before and len(after) > limit:
            raise Refused("too_many_finals", limit=limit)
        chosen = _released(team, round, after)
        selections.exclude(submission__in=chosen).delete()
        Selection.objects.bulk_create(
            Selection(team=team, submission=each) for each in chosen if each.number not in before
        )
        if after != before:
            events.record(
                round.competition,
                EventKind.SELECTED,
                actor=user,
                audience=Audience.TEAM,
                subjects={"team": team.uid, "round": round.number},
                submissions=sorted(after),
            )


def _released(team: Team, round: Round, numbers: set[int]) -> list[Submission]:
    answered = team.submissions.filter(
        round__ledger=round.ledger, number__in=numbers, release__isnull=False
    ).exclude(pk__in=sanctioned(round)[1])
    chosen = list(answered.order_by("number"))
    if lost := [each.number for each in chosen if not each.file]:
        raise Refused("not_released", variant="lost", count=len(lost), missing=lost)
    if missing := sorted(numbers - {each.number for each in chosen}):
        raise Refused("not_released", count=len(missing), missing=missing)
    return chosen
