"""What a team enters for the final scores: its choice, or its best released score."""

from collections.abc import Callable, Collection

from django.db import transaction
from django.db.models import Count, Exists, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce

from leaderboard.errors import Refused
from leaderboard.models import (
    Competition,
    Halt,
    Membership,
    Selection,
    Standing,
    Submission,
    Team,
    User,
)


def select(*, team: Team, user: User, numbers: Collection[int]) -> None:
    """Enters these submissions of the team, by their numbers, and no others.

    Raises Refused, having changed nothing, if the user isn't a member, the finals have started,
    the ledger is being restored, there are too many, or one of them has no released score.
    """
    _change(team, user, lambda before: set(numbers))


def enter(*, team: Team, user: User, number: int) -> None:
    """Enters one more submission. Raises Refused as `select` does."""
    _change(team, user, lambda before: before | {number})


def withdraw(*, team: Team, user: User, number: int) -> None:
    """Enters one less. Raises Refused as `select` does."""
    _change(team, user, lambda before: before - {number})


def over_limit(competition: Competition) -> QuerySet[Team]:
    """The teams that chose more than a team may enter, which was more when they did."""
    chosen = Team.objects.filter(competition=competition).annotate(chosen=Count("selections"))
    return chosen.filter(chosen__gt=competition.finals_limit).order_by("name")


def entered(competition: Competition) -> QuerySet[Submission]:
    """The submissions that the final scoring counts, with `is_chosen`.

    One that waits to be scored again, on a corrected solution, counts by the answer that it has. A
    team that chose nothing enters its best released score, the earliest where several reached
    it; without one, the last submission that it got an answer to. Files that were lost with a
    database can't be measured, so they don't count.
    """
    released = Submission.objects.filter(
        ~Q(file=""), team__competition=competition, release__isnull=False
    ).annotate(is_chosen=Exists(Selection.objects.filter(submission=OuterRef("pk"))))
    choices = Selection.objects.filter(team=OuterRef("team")).order_by()
    stand_in = Standing.objects.filter(team=OuterRef("team")).values(
        which=Coalesce("best__submission", "last__submission")
    )
    by_default = ~Exists(choices) & Q(pk=Subquery(stand_in))
    return released.filter(Q(is_chosen=True) | by_default)


def _change(team: Team, user: User, change: Callable[[set[int]], set[int]]) -> None:
    with transaction.atomic():
        # The team's lock, which starting the finals takes as well; the competition after it.
        team = Team.objects.select_for_update().get(pk=team.pk)
        competition = Competition.objects.get(pk=team.competition_id)
        if not Membership.objects.filter(team=team, user=user).exists():
            raise Refused.not_a_member()
        if competition.finals_started_at is not None:
            raise Refused.finals_started()
        if competition.paused_for() == Halt.REWOUND:
            # What the database has forgotten may be the end, and everybody knows the exact scores.
            raise Refused.paused()
        before = set(team.selections.values_list("submission__number", flat=True))
        after = change(before)
        if not after <= before:  # a limit that was lowered keeps nobody from taking one out
            _check_number(after, competition)
        chosen = _released(team, after)
        team.selections.exclude(submission__in=chosen).delete()
        Selection.objects.bulk_create(
            Selection(team=team, submission=each) for each in chosen if each.number not in before
        )


def _check_number(numbers: set[int], competition: Competition) -> None:
    limit = competition.finals_limit
    if len(numbers) > limit:
        most = "one submission" if limit == 1 else f"{limit} submissions"
        raise Refused(
            "too_many_finals",
            "Too many final entries",
            f"A team of this competition enters {most} at most. Take another one out first.",
            422,
            {"numbers": f"{limit} at most."},
        )


def _released(team: Team, numbers: set[int]) -> list[Submission]:
    answered = team.submissions.filter(number__in=numbers, release__isnull=False)
    chosen = list(answered.exclude(file="").order_by("number"))
    missing = sorted(numbers - {each.number for each in chosen})
    if missing:
        listed = ", ".join(map(str, missing))
        noun = "Submission" if len(missing) == 1 else "Submissions"
        raise Refused(
            "not_released",
            "Only released submissions can be entered",
            f"{noun} {listed}: your team has no such number with a released answer.",
            422,
            {"numbers": f"Without a released answer: {listed}."},
        )
    return chosen
