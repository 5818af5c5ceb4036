"""Joining a competition, making a team, inviting to it."""

import secrets
from datetime import timedelta

from django.db import IntegrityError, transaction
from django.utils import timezone

from leaderboard.errors import Refused
from leaderboard.models import Competition, Invitation, Membership, Phase, Team, User

TEAM_NAME_LENGTH = 60
INVITATION_DAYS = 14


def join(*, competition: Competition, user: User, accept_rules: bool, team_name: str) -> Team:
    """Accepts the rules and makes a team of one. Raises Refused."""
    _check_may_join(competition, user, accept_rules)
    name = clean_team_name(team_name)
    try:
        with transaction.atomic():
            team = Team.objects.create(competition=competition, name=name, captain=user)
            _add(team, user)
    except IntegrityError:
        raise _why_not(competition, user) from None
    return team


def join_team(*, invitation: Invitation, user: User, accept_rules: bool) -> Team:
    """Accepts the rules and becomes a member of the inviting team. Raises Refused."""
    competition = invitation.team.competition
    if invitation.expires_at <= timezone.now():
        raise Refused(
            "invitation_expired",
            "The invitation has expired",
            "This invitation has expired. Ask the team for a new one.",
            410,
        )
    _check_may_join(competition, user, accept_rules)
    try:
        with transaction.atomic():
            team = Team.objects.select_for_update().get(pk=invitation.team_id)
            if team.memberships.count() >= competition.team_size:
                raise _team_full(competition)
            _add(team, user)
    except IntegrityError:
        raise _why_not(competition, user) from None
    return team


def accept_rules_again(*, membership: Membership) -> None:
    """Accepts the current version of the rules."""
    Membership.objects.filter(pk=membership.pk).update(
        rules_version=membership.competition.rules_version, accepted_at=timezone.now()
    )


def rename_team(*, team: Team, user: User, name: str) -> Team:
    """Gives the team another name. Raises Refused."""
    _check_captain(team, user)
    cleaned = clean_team_name(name)
    try:
        with transaction.atomic():
            Team.objects.filter(pk=team.pk).update(name=cleaned)
    except IntegrityError:
        raise _name_taken() from None
    team.name = cleaned
    return team


def invite(*, team: Team, user: User) -> Invitation:
    """A fresh link that lets others join the team. Raises Refused."""
    _check_captain(team, user)
    if team.memberships.count() >= team.competition.team_size:
        raise _team_full(team.competition)
    return Invitation.objects.create(
        team=team,
        token=secrets.token_urlsafe(32),
        created_by=user,
        expires_at=timezone.now() + timedelta(days=INVITATION_DAYS),
    )


def withdraw_invitations(*, team: Team, user: User) -> None:
    """Makes all links of the team invalid. Raises Refused."""
    _check_captain(team, user)
    team.invitations.all().delete()


def _add(team: Team, user: User) -> None:
    Membership.objects.create(
        competition=team.competition,
        team=team,
        user=user,
        rules_version=team.competition.rules_version,
        accepted_at=timezone.now(),
    )


def _check_may_join(competition: Competition, user: User, accept_rules: bool) -> None:
    if competition.phase(timezone.now()) is Phase.CLOSED:
        raise Refused.deadline_passed(competition.closes_at)
    if competition.paused_for():
        raise Refused.paused()
    if Membership.objects.filter(competition=competition, user=user).exists():
        raise _already_joined()
    if not accept_rules:
        raise Refused(
            "rules_not_accepted",
            "The rules are not accepted",
            "To join, read the rules and accept them.",
            422,
            {"accept_rules": "Accept the rules to join."},
        )


def _check_captain(team: Team, user: User) -> None:
    if team.captain_id != user.pk:
        raise Refused(
            "captain_only",
            "Only the captain can do this",
            f"Only the team's captain, {team.captain.username}, can change the team.",
            403,
        )


def clean_team_name(name: str) -> str:
    """The name with single spaces. Raises Refused where it is empty, invisible or too long."""
    cleaned = " ".join(name.split())
    if not cleaned or not cleaned.isprintable():
        raise Refused.invalid("team_name", "Give the team a name of visible characters.")
    if len(cleaned) > TEAM_NAME_LENGTH:
        raise Refused.invalid(
            "team_name", f"A team's name has {TEAM_NAME_LENGTH} characters at most."
        )
    return cleaned


def _why_not(competition: Competition, user: User) -> Refused:
    """Which of the two unique constraints refused."""
    if Membership.objects.filter(competition=competition, user=user).exists():
        return _already_joined()
    return _name_taken()


def _already_joined() -> Refused:
    return Refused(
        "already_joined",
        "You have joined already",
        "You are a member of a team in this competition. One person is in one team.",
    )


def _name_taken() -> Refused:
    return Refused(
        "team_name_taken",
        "The team name is taken",
        "Another team of this competition has this name. Choose another one.",
        409,
        {"team_name": "Another team has this name."},
    )


def _team_full(competition: Competition) -> Refused:
    return Refused(
        "team_full",
        "The team is full",
        f"Teams of this competition have {competition.team_size} members at most.",
    )
