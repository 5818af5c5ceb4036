"""Sessions of a person: where they are signed in, and signing out everywhere."""

from allauth.usersessions.models import UserSession
from django.contrib.auth import update_session_auth_hash
from django.db.models import F
from django.http import HttpRequest

from leaderboard.models import AccountEventKind, User


def end_all(user: User) -> None:
    """End every session of the person, also those that began before they were listed."""
    User.objects.filter(pk=user.pk).update(session_epoch=F("session_epoch") + 1)
    user.refresh_from_db(fields=["session_epoch"])
    for each in UserSession.objects.filter(user=user):
        each.end()


def end_others(request: HttpRequest, user: User) -> None:
    """End every session of the person but the one of this request."""
    end_all(user)
    update_session_auth_hash(request, user)
    UserSession.objects.create_from_request(request)
    user.events.create(kind=AccountEventKind.SIGNED_OUT)
