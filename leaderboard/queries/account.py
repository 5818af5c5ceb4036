"""A person's account: how one signs in to it, and all that is stored about the person."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from allauth.usersessions.models import UserSession
from django.conf import settings
from django.db.models import QuerySet

from leaderboard.models import AccountEvent, Event, Invitation, Mailbox, Membership, Team, User
from leaderboard.participate.second_factors import is_missing
from leaderboard.queries.submissions import submission_rows
from leaderboard.queries.tokens import api_tokens

_SHOWN_EVENTS: Final = 10
_PROVIDERS: Final = {"github": "GitHub", "google": "Google", "orcid": "ORCID"}


@dataclass(frozen=True)
class Security:
    """How the person signs in. `events` are the latest changes of that."""

    has_password: bool
    has_app: bool
    passkeys: int
    providers: tuple[str, ...]
    events: tuple[AccountEvent, ...]


def security(user: User) -> Security:
    """Return how the person signs in."""
    types = list(Authenticator.objects.filter(user=user).values_list("type", flat=True))
    connected = SocialAccount.objects.filter(user=user).values_list("provider", flat=True)
    return Security(
        has_password=user.has_usable_password(),
        has_app=Authenticator.Type.TOTP in types,
        passkeys=types.count(Authenticator.Type.WEBAUTHN),
        providers=tuple(_PROVIDERS.get(each, settings.OIDC_NAME) for each in connected),
        events=tuple(user.events.all()[:_SHOWN_EVENTS]),
    )


def sessions(user: User) -> list[UserSession]:
    """Return where the person is signed in, newest first."""
    found = UserSession.objects.purge_and_list(user)
    return sorted(found, key=lambda each: each.created_at, reverse=True)


def account_data(user: User) -> dict[str, Any]:
    """Return all that is stored about the person, as plain data; secrets and hashes are left out.

    Of others it holds nothing, and of answers what the person's teams were shown.
    """
    return {
        "account": {
            "username": user.username,
            "email": user.email,
            "id": user.uid,
            "joined_at": user.date_joined,
            "last_login_at": user.last_login,
            "is_organizer": user.is_organizer,
            "has_page": user.has_page,
            "needs_second_factor": is_missing(user),
        },
        "addresses": _rows(
            EmailAddress.objects.filter(user=user), email="email", confirmed="verified"
        ),
        "second_factors": _rows(
            Authenticator.objects.filter(user=user),
            type="type",
            added_at="created_at",
            last_used_at="last_used_at",
        ),
        "providers": _rows(
            SocialAccount.objects.filter(user=user),
            provider="provider",
            identity="uid",
            told="extra_data",
            connected_at="date_joined",
            last_login_at="last_login",
        ),
        "sessions": _rows(
            UserSession.objects.filter(user=user),
            began_at="created_at",
            address="ip",
            browser="user_agent",
        ),
        "tokens": [vars(each) for each in api_tokens(user)],
        "security": _rows(user.events.all(), kind="kind", detail="detail", at="created_at"),
        "teams": [_team(each) for each in _memberships(user)],
        "submissions": list(_submissions(user)),
        "invitations_made": _rows(
            Invitation.objects.filter(created_by=user),
            team="team__name",
            made_at="created_at",
            expires_at="expires_at",
        ),
        "invitations_taken": _rows(
            user.taken_invitations.all(), team="team__name", email="email", made_at="created_at"
        ),
        "invited_to": _rows(
            user.invitees.all(),
            competition="competition__slug",
            email="email",
            alias="alias",
            at="created_at",
        ),
        "let_in_to": _rows(user.invited_to_competitions.all(), competition="slug"),
        "campaigns": _rows(
            user.campaigns.all(),
            competition="team__competition__slug",
            name="name",
            limit="limit",
            at="created_at",
            ended_at="ended_at",
        ),
        "roles": _rows(
            user.roles.all(), competition="competition__slug", role="role", since="created_at"
        ),
        "mails": _rows(
            user.preferences.all(),
            competition="competition__slug",
            kind="kind",
            by="channel",
            wanted="is_wanted",
        ),
        "mailbox": _rows(
            Mailbox.objects.filter(user=user),
            rhythm="rhythm",
            refused="refused",
            refused_at="refused_at",
            because="refused_because",
        ),
        "inbox": _rows(
            user.notices.order_by("pk"),
            competition="competition__slug",
            kind="kind",
            at="created_at",
            read_at="read_at",
        ),
        "staged_files": _rows(
            user.staged_files.all(), name="name", size="size", sha256="sha256", at="created_at"
        ),
        "actions": _rows(
            Event.objects.filter(actor=user).order_by("pk"),
            competition="competition__slug",
            kind="kind",
            at="created_at",
        ),
    }


def _rows(rows: QuerySet[Any], **names: str) -> list[dict[str, Any]]:
    """Return columns of rows under names of ours."""
    return [dict(zip(names, each, strict=True)) for each in rows.values_list(*names.values())]


def _memberships(user: User) -> Iterable[Membership]:
    return user.memberships.select_related("team", "competition")


def _team(membership: Membership) -> dict[str, Any]:
    return {
        "competition": membership.competition.slug,
        "team": membership.team.name,
        "is_captain": membership.team.captain_id == membership.user_id,
        "rules_version": membership.rules_version,
        "accepted_rules_at": membership.accepted_at,
        "left_at": membership.left_at,
    }


def _submissions(user: User) -> Iterator[dict[str, Any]]:
    """Yield what the person sent, with the answers where the person is still in the team."""
    mine = set(user.memberships.active().values_list("team", flat=True))
    teams = Team.objects.filter(submissions__user=user).select_related("competition").distinct()
    for team in teams:
        for row in submission_rows(team):
            released = row.released if team.pk in mine else None
            if row.user == user.username:
                yield {
                    "competition": team.competition.slug,
                    "team": team.name,
                    "number": row.number,
                    "file_name": row.file_name,
                    "size": row.size,
                    "sha256": row.sha256,
                    "note": row.message,
                    "sent_at": row.created_at,
                    "status": row.status,
                    "answer": released and released.kind.code,
                    "score": released and released.score,
                }
