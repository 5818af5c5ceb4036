"""Who doesn't want what, and the signed links that end it."""

from typing import Any, Final

from django.conf import settings
from django.core import signing
from django.db.models import QuerySet
from django.urls import reverse

from leaderboard.models import Channel, Competition, NoticeKind, Preference, User

SALT: Final = "leaderboard.notify.preferences"


def unwanting(competition: Competition, kind: NoticeKind, channel: Channel) -> QuerySet[Any]:
    """Return the keys of the people who don't want this."""
    rows = Preference.objects.filter(competition=competition, kind=kind, channel=channel)
    return rows.filter(is_wanted=False).values("user")


def unsubscribe_url(
    user: User, competition: Competition, kind: NoticeKind, channel: Channel
) -> str:
    """Return the absolute address that ends this for the person, without signing in."""
    about = [user.uid, competition.pk, kind.value, channel.value]
    named = signing.Signer(salt=SALT).sign_object(about)
    return settings.SITE_URL + reverse("unsubscribe", args=[named])
