"""Who doesn't want what, and the signed links that end it."""

from typing import Any, Final

from django.conf import settings
from django.core import signing
from django.db.models import Q, QuerySet
from django.urls import reverse

from leaderboard.models import Channel, Competition, NoticeKind, Preference, User

SALT: Final = "leaderboard.notify.preferences"


def unwanting(competition: Competition, kind: NoticeKind, channel: Channel) -> QuerySet[Any]:
    """Return the keys of the people who don't want this, of this competition or of all."""
    here = Q(competition=competition) | Q(competition__isnull=True)
    rows = Preference.objects.filter(here, kind=kind, channel=channel)
    return rows.filter(is_wanted=False).values("user")


def unsubscribe_url(
    user: User, competition: Competition | None, kind: NoticeKind, channel: Channel
) -> str:
    """Return the absolute address that ends this for the person, without signing in."""
    about = [user.uid, competition.pk if competition else None, kind.value, channel.value]
    named = signing.Signer(salt=SALT).sign_object(about)
    return settings.SITE_URL + reverse("unsubscribe", args=[named])
