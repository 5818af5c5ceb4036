"""Who may see and do what: load or answer 404, and one function per permission.

What a person may not know of does not exist: the answer is the same 404 as for a wrong address.
"""

from collections.abc import Iterable
from enum import Enum
from hashlib import sha256
from typing import TypeVar

from allauth.account.models import EmailAddress
from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import PermissionDenied
from django.db.models import Exists, Model, OuterRef, Q, QuerySet, Value, prefetch_related_objects
from django.db.models.functions import Concat
from django.http import Http404, HttpRequest

from leaderboard.errors import Refused
from leaderboard.models import (
    Announcement,
    Board,
    Campaign,
    Competition,
    CompetitionFile,
    Event,
    EventKind,
    Gate,
    Holdout,
    Invitation,
    Invitee,
    MailDomain,
    Membership,
    Organizer,
    Role,
    Round,
    Sanction,
    Submission,
    Team,
    Trial,
    User,
    Visibility,
    Webhook,
)
from leaderboard.platform.statements import prepared

Person = User | AnonymousUser
Row = TypeVar("Row", bound=Model)


def _one(rows: QuerySet[Row], noun: str) -> Row:
    found = rows.first()
    if found is None:
        raise Http404(f"There is no such {noun}.")
    return found


_OPENED = Q(opened_by_organizer_at__isnull=False)
_PUBLIC = _OPENED & Q(visibility=Visibility.PUBLIC)
_GATE = "gate__board", "gate_answer__holdout__ledger"  # what a submission to a gate is shown with


def visible_competitions(user: Person) -> QuerySet[Competition]:
    """Return the competitions that exist for this person."""
    if not isinstance(user, User):
        return Competition.objects.filter(_PUBLIC)
    if user.is_superuser:
        return Competition.objects.all()
    member = Q(pk__in=user.memberships.active().values("competition"))
    invited = Q(visibility=Visibility.INVITED, pk__in=user.invited_to_competitions.values("pk"))
    by_domain = Q(
        visibility=Visibility.INVITED, join_code="", pk__in=_allowed(user).values("competition")
    )
    own = Q(pk__in=user.organized_competitions.values("pk"))
    shown = _OPENED & ~Q(visibility=Visibility.HIDDEN)
    return Competition.objects.filter(_PUBLIC | (shown & (member | invited | by_domain)) | own)


def has_allowed_address(user: User, competition: Competition) -> bool:
    """Return whether a confirmed address of the person is of a domain that may join."""
    domains = competition.mail_domains
    return not domains.exists() or _allowed(user).filter(competition=competition).exists()


def _allowed(user: User) -> QuerySet[MailDomain]:
    """Return the domains, of all competitions, that the person has a confirmed address of."""
    confirmed = EmailAddress.objects.filter(user=user, verified=True)
    ending = Concat(Value("@"), OuterRef("domain"))
    return MailDomain.objects.filter(Exists(confirmed.filter(email__iendswith=ending)))


def competition_or_404(user: Person, slug: str) -> Competition:
    """Return the competition of this address, if it exists for this person.

    Most are public: what others need to be shown would take longer to ask for than the page.
    """
    for public in _public(slug):
        return public
    return _one(visible_competitions(user).filter(slug=slug), "competition")


@prepared
def _public(slug: str) -> QuerySet[Competition]:
    return Competition.objects.filter(_PUBLIC, slug=slug).order_by()


def entrance(slug: str) -> Competition | None:
    """Return the competition of this address if a join code opens it, to whoever knows it."""
    opened = Competition.objects.filter(opened_by_organizer_at__isnull=False)
    shown = opened.exclude(join_code="").exclude(visibility=Visibility.HIDDEN)
    return shown.filter(slug=slug).first()


def invitee_or_404(slug: str, token: str) -> Invitee:
    """Return whom the link from a mail invites, whoever follows it."""
    opened = Invitee.objects.filter(competition__opened_by_organizer_at__isnull=False)
    shown = opened.exclude(competition__visibility=Visibility.HIDDEN)
    rows = shown.select_related("competition", "user")
    return _one(rows.filter(token=token, competition__slug=slug), "invitation")


def listed_or_404(competition: Competition, uid: str) -> Invitee:
    """Return somebody of the organizers' list."""
    return _one(competition.invitees.filter(uid=uid), "invitation")


def invited_or_404(competition: Competition, uid: str) -> User:
    """Return the account of somebody who was let in."""
    return _one(competition.invited.filter(uid=uid), "invitation")


def organizer_or_404(competition: Competition, uid: str) -> User:
    """Return the account of an organizer of the competition."""
    return _one(competition.organizers.filter(uid=uid), "organizer")


def entry_or_404(team: Team, number: int) -> Submission:
    """Return a submission of a team, for the competition's organizers."""
    return _one(team.submissions.filter(number=number), "submission")


def console_or_404(user: Person, slug: str) -> Competition:
    """Return the competition of this address, if the person runs it in whatever role."""
    return _one(organized_competitions(user).filter(slug=slug), "competition")


def signed_in(request: HttpRequest) -> User:
    """Return the person. Raises PermissionDenied for an anonymous one."""
    if not isinstance(request.user, User):
        raise PermissionDenied
    return request.user


def membership_of(user: Person, competition: Competition) -> Membership | None:
    """Return the person's place in a team, or None."""
    if not isinstance(user, User):
        return None
    for found in _memberships(competition=competition.pk, user=user.pk):
        found.team.competition = competition  # with its rounds, once they have been read
        return found
    return None


@prepared
def _memberships(competition: int, user: int) -> QuerySet[Membership]:
    own = Membership.objects.active().filter(competition=competition, user=user)
    return own.select_related("team__captain").order_by()


def file_or_404(competition: Competition, name: str, round: Round | None = None) -> CompetitionFile:
    """Return a public file of the current round, or of another one."""
    return _one((round or competition.current_round).origin.files.filter(name=name), "file")


def round_or_404(competition: Competition, number: int) -> Round:
    """Return a round by its number."""
    rounds = competition.rounds.select_related("competition", "ledger", "continues")
    return _one(rounds.filter(number=number), "round")


def board_or_404(competition: Competition, uid: str) -> Board:
    """Return a board of any round by its permanent id."""
    boards = Board.objects.select_related("round__competition", "round__ledger")
    return _one(boards.filter(round__competition=competition, uid=uid), "board")


def gate_or_404(round: Round, name: str) -> Gate:
    """Return a gate of a round that was not retired."""
    rows = Gate.objects.open().select_related("board", "in_use", "round__ledger")
    return _one(rows.filter(round=round, name=name), "gate")


def announcement_or_404(competition: Competition, number: int) -> Announcement:
    """Return an announcement that was not withdrawn."""
    return _one(competition.announcements.shown().filter(number=number), "announcement")


def webhook_or_404(competition: Competition, uid: str) -> Webhook:
    """Return a webhook by its permanent id."""
    return _one(competition.webhooks.filter(uid=uid), "webhook")


def published_holdout_or_404(round: Round, version: int) -> Holdout:
    """Return a revision of a round's solution that has been published with its secret."""
    found = Holdout.objects.filter(ledger=round.ledger_id, version=version)
    return _one(found.filter(published_at__isnull=False), "publication")


def submission_or_404(team: Team | None, number: int) -> Submission:
    """Return a submission of the person's own team; who has none has no submissions."""
    if team is not None:
        for found in _submissions(team=team.pk, number=number):
            found.team = team  # with its competition
            if found.release is not None:
                rounds, board = team.competition.all_rounds, found.release.board_id
                boards = (each for round in rounds for each in round.boards.all())
                found.release.board = next(each for each in boards if each.pk == board)
            if found.gate_id is not None:
                prefetch_related_objects([found], *_GATE)
            return found
    raise Http404("There is no such submission.")


@prepared
def _submissions(team: int, number: int) -> QuerySet[Submission]:
    rows = Submission.objects.select_related("release__holdout", "user", "campaign")
    return rows.filter(team=team, number=number).order_by()


def campaign_or_404(team: Team, name: str) -> Campaign:
    """Return a campaign of the person's own team."""
    found = _one(team.campaigns.select_related("created_by").filter(name=name), "campaign")
    found.team = team
    return found


def submission_of_or_404(competition: Competition, key: int) -> Submission:
    """Return a submission of whatever team of the competition, for its organizers."""
    rows = Submission.objects.select_related(
        *("release__holdout", "release__board__round", "user", "team", "campaign", *_GATE)
    )
    found = _one(rows.filter(team__competition=competition, pk=key), "submission")
    found.team.competition = competition
    return found


def team_or_404(competition: Competition, uid: str) -> Team:
    """Return a team of the competition, for its organizers."""
    found = _one(competition.teams.select_related("captain").filter(uid=uid), "team")
    found.competition = competition
    return found


def shown_team_or_404(user: Person, uid: str, competition: Competition | None = None) -> Team:
    """Return a team that the person may know of, of this competition or of whatever one.

    Baselines are no teams, and of one that organizers hide others know nothing.
    """
    seen = Team.objects.filter(competition__in=visible_competitions(user))
    if competition is not None:
        seen = seen.filter(competition=competition)
    team = _one(
        seen.select_related("competition", "captain", "merged_into").filter(uid=uid), "team"
    )
    competition = competition or team.competition
    team.competition = competition
    own = membership_of(user, competition)
    is_own = own is not None and own.team_id in (team.pk, team.merged_into_id)
    if is_own or may_view_console(user, competition):
        return team
    is_hidden = Sanction.objects.hidden_teams().filter(team=team).exists()
    if team.is_baseline or is_hidden or not may_see_others(user, competition):
        raise Http404("There is no such team.")
    return team


def person_or_404(name: str) -> User:
    """Return a person by name, if that person's page is shown to anybody."""
    shown = User.objects.filter(is_active=True, deleted_at=None, has_page=True)
    return _one(shown.filter(username__iexact=name), "person")


def trial_or_404(competition: Competition, key: int) -> Trial:
    """Return a trial of a draft, for its owners and editors: `trials.check_sees_trials`."""
    rows = Trial.objects.select_related("round__competition")
    return _one(rows.filter(round__competition=competition, pk=key), "trial")


def invitation_or_404(competition: Competition, token: str) -> Invitation:
    """Return the invitation that this link stands for, also one that has ended."""
    rows = Invitation.objects.select_related("team__competition", "created_by")
    return _one(rows.filter(token=token, team__competition=competition), "invitation")


def role_of(user: Person, competition: Competition) -> Role | None:
    """Return the role in which the person runs this competition; operators own them all."""
    if not isinstance(user, User):
        return None
    if user.is_superuser:
        return Role.OWNER
    return next(map(Role, _roles(competition=competition.pk, user=user.pk)), None)


@prepared
def _roles(competition: int, user: int) -> QuerySet[Organizer, str]:
    found = Organizer.objects.filter(competition=competition, user=user)
    return found.values_list("role", flat=True).order_by()


def ever_organized(user: User, competition: Competition) -> bool:
    """Return whether the person runs this competition in any role, or ever did.

    Whoever did could see its data, trial scores, or final scores before others: no such person
    joins a team there. Operators run them all.
    """
    if user.is_superuser:
        return True
    events = Event.objects.filter(competition=competition, kind=EventKind.ORGANIZER_ADDED)
    there = Q(subjects__mark__in=marks_of(user, competition))  # before it moved here
    if events.filter(Q(subjects__person=user.uid) | there).exists():
        return True
    return Organizer.objects.filter(competition=competition, user=user).exists()


def marks_of(user: User, competition: Competition) -> list[str]:
    """Return what the person is known by wherever the competition moves: hashes of addresses.

    They show nobody's address to who doesn't guess it. Where there is no ledger, nothing moves.
    """
    uid = competition.ledgers.order_by("uid").values_list("uid", flat=True).first()
    typed = EmailAddress.objects.filter(user=user).values_list("email", flat=True)
    addresses = {each.lower() for each in (user.email, *typed) if each} if uid else set()
    return [sha256(f"{uid} {each}".encode()).hexdigest() for each in sorted(addresses)]


def ever_took_part(user: User, competition: Competition) -> bool:
    """Return whether the person is in a team of this competition, or ever was.

    Whoever did gets no role that sees hidden things of it.
    """
    joined = (EventKind.TEAM_CREATED, EventKind.MEMBER_JOINED)
    events = Event.objects.filter(competition=competition, kind__in=joined)
    if events.filter(subjects__user=user.uid).exists():
        return True
    return Membership.objects.filter(competition=competition, user=user).exists()


def may_view_console(user: Person, competition: Competition) -> bool:
    """Return whether the person may look at all that organizers see, in whatever role."""
    return role_of(user, competition) is not None


class Right(Enum):
    """What an action of organizers asks for: the roles that may do it."""

    OWN = (Role.OWNER,)  # organizers, deletion
    EDIT = (Role.OWNER, Role.EDITOR)  # texts, data, scoring, opening, revisions, publication
    JUDGE = (Role.OWNER, Role.EDITOR, Role.JUDGE)  # people, teams, failed submissions, finals


def may(user: Person, competition: Competition, right: Right) -> bool:
    """Return whether the person has this right in the competition; viewers have none."""
    return role_of(user, competition) in right.value


def check_right(by: User | None, competition: Competition, right: Right) -> None:
    """Raise Refused unless the person has the right; None stands for this installation itself."""
    if by is None or may(by, competition, right):
        return
    named = " or ".join(role.value for role in right.value)
    raise Refused("not_allowed", variant="role", roles=named)


def organized_competitions(user: Person) -> QuerySet[Competition]:
    """Return the competitions whose console this person may view; an operator's are all."""
    if not isinstance(user, User):
        return Competition.objects.none()
    if user.is_superuser:
        return Competition.objects.all()
    return Competition.objects.filter(organizers=user)


def unseen(user: Person, competitions: Iterable[Competition]) -> set[int]:
    """Return the keys of the competitions in which the person may know of no team but its own.

    Those are the ones with a board that is hidden until the end, for all but its organizers: what a
    team is promised there holds only if its files can't depend on others' answers (theory.md 10.5).
    Every read of what other teams are, do or get asks this.
    """
    hidden = {each.pk for each in competitions if each.hides_others}
    if not hidden:
        return hidden
    organized = organized_competitions(user).filter(pk__in=hidden)
    return hidden.difference(organized.values_list("pk", flat=True))


def may_see_others(user: Person, competition: Competition) -> bool:
    """Return whether the person may know of teams that are not its own: `unseen`."""
    return not unseen(user, (competition,))


def check_sees_others(user: Person, competition: Competition) -> None:
    """Raise Refused where the person may know of no team but its own."""
    hiding = competition.hiding_round
    if hiding is not None and not may_see_others(user, competition):
        raise Refused("hidden_until_end", closes_at=hiding.closes_at)


def may_download(user: Person, competition: Competition) -> bool:
    """Return whether the person accepted the rules, or looks after the competition."""
    return membership_of(user, competition) is not None or may_view_console(user, competition)
