"""What a team enters for the final scores: its selection, or its best released score."""

from collections.abc import Callable, Collection

from django.db import transaction
from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce

from leaderboard.errors import Refused
from leaderboard.models import (
    Audience,
    Competition,
    EventKind,
    Membership,
    Pause,
    Round,
    Selection,
    Standing,
    Submission,
    Team,
    User,
)
from leaderboard.notify import events


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
    team that selected nothing enters its best released score, the earliest where several reached
    it; without one, the last submission that it got an answer to. Files that were lost with a
    database can't be measured, so they don't count.
    """
    on_these_rows = {"submission__round__ledger": round.ledger}
    released = Submission.objects.filter(
        ~Q(file=""), round__ledger=round.ledger, release__isnull=False
    ).annotate(is_chosen=Exists(Selection.objects.filter(submission=OuterRef("pk"))))
    choices = Selection.objects.filter(team=OuterRef("team"), **on_these_rows).order_by()
    standings = Standing.objects.filter(
        team=OuterRef("team"), board__position=0, board__round__ledger=round.ledger
    ).order_by(F("loss").asc(nulls_last=True), "reached_at")
    stand_in = standings.values(which=Coalesce("best__submission", "last__submission"))[:1]
    by_default = ~Exists(choices) & Q(pk=Subquery(stand_in))
    return released.filter(Q(is_chosen=True) | by_default)


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
        if round.paused_for == Pause.REWOUND:
            # The lost entries may include the finals, whose exact scores everybody knows.
            raise Refused("paused")
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
    )
    chosen = list(answered.exclude(file="").order_by("number"))
    missing = sorted(numbers - {each.number for each in chosen})
    if missing:
        raise Refused("not_released", count=len(missing), missing=missing)
    return chosen
