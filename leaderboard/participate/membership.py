"""Teams: making, joining, leaving and merging them, and inviting to them."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, Final

from django.core.exceptions import ValidationError
from django.core.validators import EmailValidator
from django.db import IntegrityError, transaction
from django.db.models import Exists, F, Max, OuterRef, Q, QuerySet
from django.utils import timezone

from leaderboard.access import ever_organized
from leaderboard.errors import Refused
from leaderboard.ledger import lock, watermark
from leaderboard.ledger.merging import merge_teams, unended
from leaderboard.models import (
    Competition,
    EventKind,
    Invitation,
    MailState,
    Membership,
    MergeRequest,
    Phase,
    Round,
    Sanction,
    Selection,
    Status,
    Submission,
    Team,
    User,
)
from leaderboard.notify import events
from leaderboard.participate.admission import alias_of, check_admitted, is_reserved

TEAM_NAME_LENGTH = 60
INVITATION_DAYS = 14
MAILS_A_DAY: Final = 20  # that one person lets us send to strangers


def join(*, competition: Competition, user: User, accept_rules: bool, team_name: str) -> Team:
    """Accept the rules and make a team of one. Raises Refused.

    Whoever has an alias takes part under that, whatever name is given.
    """
    _check_may_join(competition, user, accept_rules)
    alias = alias_of(competition, user)
    name = alias or clean_team_name(team_name)
    if not alias and is_reserved(competition, name, user):
        raise Refused("team_name_taken")
    try:
        with transaction.atomic():
            # Starting the finals takes this lock, too, before it waits for all teams: a team that
            # is made here is among them, or comes too late.
            locked = Competition.objects.select_for_update(no_key=True).get(pk=competition.pk)
            _check_may_join(locked, user, accept_rules)
            limit = locked.current_round.team_limit
            if limit is not None and count_teams(locked.pk) >= limit:
                raise Refused("competition_full", limit=limit)
            team = Team.objects.create(competition=competition, name=name, captain=user)
            _add(team, user)
            _record(team, EventKind.TEAM_CREATED, user, name=name)
    except IntegrityError:
        raise _why_not(competition, user) from None
    return team


def join_team(*, invitation: Invitation, user: User, accept_rules: bool) -> Team:
    """Accept the rules and become a member of the inviting team. Raises Refused."""
    check_invitation(invitation)
    try:
        with transaction.atomic():
            # Starting the finals takes these locks, too, as does who makes somebody an organizer.
            competitions = Competition.objects.select_for_update(no_key=True)
            competition = competitions.get(pk=invitation.team.competition_id)
            team = Team.objects.select_for_update(no_key=True).get(pk=invitation.team_id)
            _check_may_join(competition, user, accept_rules, team)
            if team.merged_into_id is not None:
                raise Refused("team_merged")
            if team.memberships.active().count() >= competition.team_size:
                raise Refused("team_full", limit=competition.team_size)
            _take(invitation, user)
            _add(team, user)
            _record(team, EventKind.MEMBER_JOINED, user)
    except IntegrityError:
        raise _why_not(invitation.team.competition, user) from None
    return team


def check_invitation(invitation: Invitation) -> None:
    """Raise Refused where nobody can join by this invitation any more."""
    team = invitation.team
    if invitation.user_id is not None:
        raise Refused("invitation_used")
    if invitation.expires_at <= timezone.now():
        raise Refused("invitation_expired")
    if team.merged_into_id is not None:
        raise Refused("team_merged")
    if team.memberships.active().count() >= team.competition.team_size:
        raise Refused("team_full", limit=team.competition.team_size)


def _take(invitation: Invitation, user: User) -> None:
    """Note who has taken a mailed invitation: of several who follow it at once, one joins."""
    if invitation.email:
        waiting = Invitation.objects.filter(pk=invitation.pk, user=None)
        if not waiting.update(user=user, mail=MailState.NONE):
            raise Refused("invitation_used")


def count_teams(competition: int | None) -> int:
    """Return how many teams there are to a ledger: all that have or had people or files.

    Baselines are among them, and merged ones, whose answers stay their own.
    """
    people = Membership.objects.filter(team=OuterRef("pk"))
    files = Submission.objects.filter(team=OuterRef("pk"))
    counted = Exists(people) | Exists(files) | Q(merged_into__isnull=False)
    return Team.objects.filter(counted, competition=competition).count()


def accept_rules_again(*, membership: Membership) -> None:
    """Accept the current version of the rules."""
    Membership.objects.filter(pk=membership.pk).update(
        rules_version=membership.competition.rules_version, accepted_at=timezone.now()
    )


def rename_team(*, team: Team, user: User, name: str) -> Team:
    """Give the team another name. Raises Refused."""
    check_captain(team, user)
    cleaned = clean_team_name(name)
    if alias_of(team.competition, user):
        raise Refused("invalid", field="team_name", variant="alias_fixed")
    if is_reserved(team.competition, cleaned, user):
        raise Refused("team_name_taken")
    try:
        with transaction.atomic():
            Team.objects.filter(pk=team.pk).update(name=cleaned)
            _record(team, EventKind.TEAM_RENAMED, user, name=cleaned)
    except IntegrityError:
        raise Refused("team_name_taken") from None
    team.name = cleaned
    return team


def invite(*, team: Team, user: User, email: str = "") -> Invitation:
    """Make a fresh link that lets others join the team, or mail one to an address.

    A mailed one is for one person, and leaves with the next sweep. Raises Refused.
    """
    check_captain(team, user)
    if team.memberships.active().count() >= team.competition.team_size:
        raise Refused("team_full", limit=team.competition.team_size)
    now = timezone.now()
    if email:
        _check_mail(email, user, now)
    return Invitation.objects.create(
        team=team,
        email=email,
        mail=MailState.QUEUED if email else MailState.NONE,
        mail_at=now if email else None,
        created_by=user,
        expires_at=now + timedelta(days=INVITATION_DAYS),
    )


def _check_mail(email: str, user: User, now: datetime) -> None:
    try:
        EmailValidator()(email)
    except ValidationError:
        raise Refused("invalid", field="email", variant="bad_addresses", names=email[:60]) from None
    mailed = Invitation.objects.filter(created_by=user).exclude(email="")
    today = mailed.filter(created_at__gt=now - timedelta(days=1)).order_by("-created_at")
    if today.count() >= MAILS_A_DAY:
        oldest = today[MAILS_A_DAY - 1].created_at
        raise Refused("throttled", seconds=int((oldest + timedelta(days=1) - now).total_seconds()))


def withdraw_invitations(*, team: Team, user: User) -> None:
    """End all links of the team, those in mails as well. Raises Refused."""
    check_captain(team, user)
    team.invitations.filter(email="").delete()
    # What was mailed stays counted, and says to whoever follows it that it has ended.
    mailed = team.invitations.filter(user=None, expires_at__gt=timezone.now())
    mailed.update(expires_at=timezone.now(), mail=MailState.NONE)


def leave(*, team: Team, user: User) -> None:
    """Leave a team. Raises Refused, as `check_may_leave` does."""
    with transaction.atomic():
        team = Team.objects.select_for_update(no_key=True).get(pk=team.pk)
        check_may_leave(team, user)
        end_membership(team, user)


def check_may_leave(team: Team, user: User) -> None:
    """Raise Refused for a captain as long as there are other members, and for the last member once
    the team has submitted: nobody could select its final entries.
    """
    members = team.memberships.active()
    if not members.filter(user=user).exists():
        raise Refused("not_a_member")
    if not members.exclude(user=user).exists():
        if binds(team):
            raise Refused("last_member_stays")
    elif team.captain_id == user.pk:
        raise Refused("captain_stays")


def binds(team: Team) -> bool:
    """Return whether who leaves the team can join no other one in this round."""
    return _binding(team).exists()


def end_membership(team: Team, user: User, removed_by: User | None = None) -> None:
    """Take a person out of a team, which is locked.

    Whoever leaves a team that has submitted in this round stays bound to it: its used quota and
    corrections can't be won back in another team, and where the board is hidden until the end,
    nobody may know answers of two teams. The way back into the same team stays open.
    """
    mine = team.memberships.active().filter(user=user)
    last: datetime | None = _binding(team).aggregate(last=Max("created_at"))["last"]
    if last is not None:
        mine.update(left_at=max(last, timezone.now()))  # clocks of servers differ
    else:
        mine.delete()
        if not team.memberships.active().exists():
            team.invitations.all().delete()  # it leaves its place to another team
            MergeRequest.objects.filter(Q(team=team) | Q(into=team)).delete()
    kind = EventKind.MEMBER_LEFT if removed_by is None else EventKind.MEMBER_REMOVED
    subjects = {"team": team.uid, "user": user.uid}
    events.record(team.competition, kind, actor=removed_by or user, subjects=subjects)


def _binding(team: Team) -> QuerySet[Submission]:
    """Return the submissions that bind people to their team."""
    return team.submissions.filter(round__in=_binding_rounds(team.competition))


def merge(
    *, team: Team, into: Team, by: User, check: Callable[[Team, Team], None] | None = None
) -> None:
    """Merge a team into another one of its competition, for good. Raises Refused.

    Entries of the ledger stay as they were written, under the merged team's own uid. What it used
    counts for the other team from now on: quotas and corrections add up, and nothing is freed. Its
    members and submissions become the other team's, and its place on the boards ends. Rounds whose
    finals have started keep both teams as they were. What `check` raises, under the same locks,
    refuses it too.
    """
    with transaction.atomic(durable=True):
        # Ledgers and both teams stay locked to the end: no answer, upload or selection may come
        # between adding up the states and writing the notes that report it.
        competition = lock.lock(team.competition)
        locked = {
            each.pk: each
            for each in Team.objects.select_for_update(no_key=True)
            .filter(pk__in=(team.pk, into.pk), competition=competition)
            .order_by("pk")
        }
        check_may_merge(competition, locked.get(team.pk), locked.get(into.pk))
        if check is not None:
            check(locked[team.pk], locked[into.pk])
        heads = merge_teams(team, into)
        _record(into, EventKind.TEAM_MERGED, by, merged=team.uid)
    for ledger, head in heads:
        watermark.append_where_writable(ledger, head)
    team.refresh_from_db()


def check_may_merge(competition: Competition, team: Team | None, into: Team | None) -> None:
    """Raise Refused where the one team can't become a part of the other."""
    if team is None or into is None or team == into or team.merged_into_id or into.merged_into_id:
        raise Refused("not_mergeable")
    if competition.hides_others:
        raise Refused("merge_hidden")
    ledgers = unended(competition)
    if not competition.rounds.filter(Q(ledger=None) | Q(ledger__in=ledgers)).exists():
        raise Refused("finals_started")
    if ledgers.filter(paused_at__isnull=False).exists():
        raise Refused("paused")
    if Selection.objects.filter(team=team, submission__round__ledger__in=ledgers).exists():
        raise Refused("selections_left")
    _check_teams_may_merge(competition, team, into)


def _check_teams_may_merge(competition: Competition, team: Team, into: Team) -> None:
    if Sanction.objects.at().filter(team__in=(team, into)).exists():
        raise Refused("not_mergeable", variant="sanctioned")
    waiting = Submission.objects.filter(
        team__in=(team, into), status__in=(Status.QUEUED, Status.SCORING)
    )
    if waiting.exists():
        raise Refused("submissions_waiting", variant="merge")
    if Membership.objects.active().filter(team__in=(team, into)).count() > competition.team_size:
        raise Refused("team_full", limit=competition.team_size)


def _record(team: Team, kind: EventKind, actor: User, **data: Any) -> None:
    events.record(
        team.competition, kind, actor=actor, subjects={"team": team.uid, "user": actor.uid}, **data
    )


def _add(team: Team, user: User) -> None:
    # Who left a team in an earlier round is free, and so is the way back; whoever became bound
    # since that was checked has a row, and with it no room for another.
    left = Membership.objects.filter(competition=team.competition, user=user, left_at__isnull=False)
    left.exclude(pk__in=_bound_elsewhere(team.competition, user, team)).delete()
    Membership.objects.create(
        competition=team.competition,
        team=team,
        user=user,
        rules_version=team.competition.rules_version,
        accepted_at=timezone.now(),
    )


def _binding_rounds(competition: Competition) -> QuerySet[Round]:
    """Return the rounds whose submissions bind people to the team that sent them.

    On a board that is hidden until the end, those are all rounds on its rows.
    """
    round = competition.current_round
    same = Q(ledger=round.ledger) if round.is_hidden and round.ledger else Q(pk=round.pk)
    return Round.objects.filter(same)


def _bound_elsewhere(
    competition: Competition, user: User, team: Team | None
) -> QuerySet[Membership]:
    """Return what keeps a person from this team: having left another after it had submitted."""
    return Membership.objects.filter(
        competition=competition,
        user=user,
        team__submissions__round__in=_binding_rounds(competition),
        team__submissions__created_at__lte=F("left_at"),
    ).exclude(team=team)


def _check_may_join(
    competition: Competition, user: User, accept_rules: bool, team: Team | None = None
) -> None:
    round = competition.current_round
    if round.phase(timezone.now()) is Phase.CLOSED and not round.takes_practice:
        raise Refused("deadline_passed", closes_at=round.closes_at)
    if round.paused_for:
        raise Refused("paused", variant=round.paused_for)
    if Membership.objects.active().filter(competition=competition, user=user).exists():
        raise Refused("already_joined")
    if ever_organized(user, competition):
        raise Refused("organizes_here")
    if _bound_elsewhere(competition, user, team).exists():
        raise Refused("left_a_team", variant="hidden" if round.is_hidden else None)
    check_admitted(competition, user)
    if not accept_rules:
        raise Refused("invalid", field="accept_rules", variant="rules_not_accepted")


def check_captain(team: Team, user: User) -> None:
    """Raise Refused unless the person is the team's captain."""
    if team.captain_id != user.pk:
        raise Refused("captain_only", captain=team.captain.username)
    if not team.memberships.active().filter(user=user).exists():
        raise Refused("not_a_member")


def clean_team_name(name: str) -> str:
    """Return the name with single spaces. Raises Refused for an empty, invisible or long one."""
    cleaned = " ".join(name.split())
    if not cleaned or not cleaned.isprintable():
        raise Refused("invalid", field="team_name", variant="name_invisible")
    if len(cleaned) > TEAM_NAME_LENGTH:
        raise Refused("invalid", field="team_name", variant="name_long", limit=TEAM_NAME_LENGTH)
    return cleaned


def _why_not(competition: Competition, user: User) -> Refused:
    """Return the refusal for the violated unique constraint."""
    if Membership.objects.filter(competition=competition, user=user).exists():
        return Refused("already_joined")
    return Refused("team_name_taken")
