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
    Organizer,
    Role,
    Submission,
    User,
    Visibility,
)

Person = User | AnonymousUser


def visible_competitions(user: Person) -> QuerySet[Competition]:
    """Return the competitions that exist for this person."""
    opened = Q(opened_by_organizer_at__isnull=False)
    public = opened & Q(visibility=Visibility.PUBLIC)
    if not isinstance(user, User):
        return Competition.objects.filter(public)
    if user.is_superuser:
        return Competition.objects.all()
    member = Q(pk__in=user.memberships.active().values("competition"))
    invited = Q(visibility=Visibility.INVITED, pk__in=user.invited_to_competitions.values("pk"))
    own = Q(pk__in=user.organized_competitions.values("pk"))
    still_shown = ~Q(visibility=Visibility.HIDDEN)
    return Competition.objects.filter(public | (opened & still_shown & (member | invited)) | own)


def competition_or_404(user: Person, slug: str) -> Competition:
    """Return the competition of this address, if it exists for this person."""
    try:
        return visible_competitions(user).get(slug=slug)
    except Competition.DoesNotExist:
        raise Http404("There is no such competition.") from None


def membership_of(user: Person, competition: Competition) -> Membership | None:
    """Return the person's place in a team, or None."""
    if not isinstance(user, User):
        return None
    own = competition.memberships.active().filter(user=user)
    found = own.select_related("team", "team__captain").first()
    if found is not None:
        found.team.competition = competition  # with its rounds, once they have been read
    return found


def file_or_404(competition: Competition, name: str) -> CompetitionFile:
    """Return a public file of the competition."""
    try:
        return competition.current_round.origin.files.get(name=name)
    except CompetitionFile.DoesNotExist:
        raise Http404("There is no such file.") from None


def published_holdout_or_404(competition: Competition, version: int) -> Holdout:
    """Return a revision of the solution that has been published with its secret."""
    published = Holdout.objects.filter(published_at__isnull=False)
    try:
        return published.get(ledger=competition.current_round.ledger_id, version=version)
    except Holdout.DoesNotExist:
        raise Http404("There is no such publication.") from None


def submission_or_404(user: Person, competition: Competition, number: int) -> Submission:
    """Return a submission of the person's own team."""
    membership = membership_of(user, competition)
    if membership is None:
        raise Http404("There is no such submission.")
    try:
        own = membership.team.submissions.select_related(
            "release__holdout", "release__board", "user"
        )
        return own.get(number=number)
    except Submission.DoesNotExist:
        raise Http404("There is no such submission.") from None


def invitation_or_404(competition: Competition, token: str) -> Invitation:
    """Return the invitation that this link stands for."""
    try:
        return Invitation.objects.select_related("team__competition").get(
            token=token, team__competition=competition
        )
    except Invitation.DoesNotExist:
        raise Http404("There is no such invitation.") from None


def role_of(user: Person, competition: Competition) -> Role | None:
    """Return the role in which the person runs this competition; operators own them all."""
    if not isinstance(user, User):
        return None
    if user.is_superuser:
        return Role.OWNER
    found = Organizer.objects.filter(competition=competition, user=user)
    role = found.values_list("role", flat=True).first()
    return None if role is None else Role(role)


def may_view_console(user: Person, competition: Competition) -> bool:
    """Return whether the person may look at all that organizers see, in whatever role."""
    return role_of(user, competition) is not None


def may_organize(user: Person, competition: Competition) -> bool:
    """Return whether the person may change anything of this competition: viewers only look."""
    return role_of(user, competition) in (Role.OWNER, Role.EDITOR, Role.JUDGE)


def may_edit(user: Person, competition: Competition) -> bool:
    """Return whether the person may change texts, data and scoring, and run the competition."""
    return role_of(user, competition) in (Role.OWNER, Role.EDITOR)


def may_judge(user: Person, competition: Competition) -> bool:
    """Return whether the person may decide on people, disqualification and finals."""
    return role_of(user, competition) in (Role.OWNER, Role.JUDGE)


def organized_competitions(user: Person) -> QuerySet[Competition]:
    """Return the competitions whose console this person may view; an operator's are all."""
    if not isinstance(user, User):
        return Competition.objects.none()
    if user.is_superuser:
        return Competition.objects.all()
    return Competition.objects.filter(organizers=user)


def may_download(user: Person, competition: Competition) -> bool:
    """Return whether the person accepted the rules, or looks after the competition."""
    return membership_of(user, competition) is not None or may_view_console(user, competition)
