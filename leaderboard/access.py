"""Who may see and do what: load or answer 404, and one function per permission.

What a person may not know of does not exist: the answer is the same 404 as for a wrong address.
"""

from django.contrib.auth.models import AnonymousUser
from django.db.models import Q, QuerySet
from django.http import Http404

from leaderboard.models import (
    Competition,
    CompetitionFile,
    Holdout,
    Invitation,
    Membership,
    Submission,
    User,
    Visibility,
)

Person = User | AnonymousUser


def visible_competitions(user: Person) -> QuerySet[Competition]:
    """The competitions that exist for this person."""
    opened = Q(opened_by_organizer_at__isnull=False)
    public = opened & Q(visibility=Visibility.PUBLIC)
    if not isinstance(user, User):
        return Competition.objects.filter(public)
    if user.is_superuser:
        return Competition.objects.all()
    member = Q(pk__in=user.memberships.values("competition"))
    invited = Q(visibility=Visibility.INVITED, pk__in=user.invited_to_competitions.values("pk"))
    own = Q(pk__in=user.organized_competitions.values("pk"))
    still_shown = ~Q(visibility=Visibility.HIDDEN)
    return Competition.objects.filter(public | (opened & still_shown & (member | invited)) | own)


def competition_or_404(user: Person, slug: str) -> Competition:
    """The competition of this address, if it exists for this person."""
    try:
        return visible_competitions(user).get(slug=slug)
    except Competition.DoesNotExist:
        raise Http404("There is no such competition.") from None


def membership_of(user: Person, competition: Competition) -> Membership | None:
    """The person's place in a team, or None."""
    if not isinstance(user, User):
        return None
    return competition.memberships.filter(user=user).select_related("team", "team__captain").first()


def file_or_404(competition: Competition, name: str) -> CompetitionFile:
    """A public file of the competition."""
    try:
        return competition.files.get(name=name)
    except CompetitionFile.DoesNotExist:
        raise Http404("There is no such file.") from None


def opened_holdout_or_404(competition: Competition, version: int) -> Holdout:
    """A version of the holdout whose solution and secret have been published."""
    try:
        return competition.holdouts.get(version=version, opened_at__isnull=False)
    except Holdout.DoesNotExist:
        raise Http404("There is no such opening.") from None


def submission_or_404(user: Person, competition: Competition, number: int) -> Submission:
    """A submission of the person's own team."""
    membership = membership_of(user, competition)
    if membership is None:
        raise Http404("There is no such submission.")
    try:
        return Submission.objects.select_related(
            "release__holdout", "team__competition", "user"
        ).get(team=membership.team, number=number)
    except Submission.DoesNotExist:
        raise Http404("There is no such submission.") from None


def invitation_or_404(competition: Competition, token: str) -> Invitation:
    """The invitation that this link stands for."""
    try:
        return Invitation.objects.select_related("team__competition").get(
            token=token, team__competition=competition
        )
    except Invitation.DoesNotExist:
        raise Http404("There is no such invitation.") from None


def may_organize(user: Person, competition: Competition) -> bool:
    """Whether the person runs this competition."""
    if not isinstance(user, User):
        return False
    return user.is_superuser or competition.organizers.filter(pk=user.pk).exists()


def organized_competitions(user: Person) -> QuerySet[Competition]:
    """The competitions that this person runs; an operator runs all."""
    if not isinstance(user, User):
        return Competition.objects.none()
    if user.is_superuser:
        return Competition.objects.all()
    return Competition.objects.filter(organizers=user)


def may_download(user: Person, competition: Competition) -> bool:
    """Public files are for those who accepted the rules, and for organizers."""
    return membership_of(user, competition) is not None or may_organize(user, competition)
