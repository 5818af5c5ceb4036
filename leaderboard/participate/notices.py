"""What a person wants to be told of, and the keys by which feed readers read."""

from typing import Final

from django.core import signing
from django.utils.crypto import constant_time_compare, salted_hmac

from leaderboard.models import Channel, Competition, NoticeKind, Preference, User
from leaderboard.notify.preferences import SALT

_FEED_SALT: Final = "leaderboard.participate.notices.feed"


def set_preference(
    user: User, competition: Competition, kind: NoticeKind, channel: Channel, *, is_wanted: bool
) -> None:
    """Write down whether the person wants this."""
    Preference.objects.update_or_create(
        user=user,
        competition=competition,
        kind=kind,
        channel=channel,
        defaults={"is_wanted": is_wanted},
    )


def read_link(signed: str) -> tuple[User, Competition, NoticeKind, Channel] | None:
    """Return what an unsubscribing link is about; None for one that we didn't make."""
    try:
        uid, key, kind, channel = signing.Signer(salt=SALT).unsign_object(signed)
        user, competition = User.objects.get(uid=uid), Competition.objects.get(pk=key)
    except (signing.BadSignature, User.DoesNotExist, Competition.DoesNotExist):
        return None
    return user, competition, NoticeKind(kind), Channel(channel)


def feed_key(user: User, competition: Competition) -> str:
    """Return what stands for the person in the address of a feed, which shows announcements only.

    It ends when the password changes.
    """
    value = f"{user.uid}:{competition.pk}:{user.password}"
    return f"{user.uid}-{salted_hmac(_FEED_SALT, value, algorithm='sha256').hexdigest()[:32]}"


def reader_of(key: str, competition: Competition) -> User | None:
    """Return whose key of a competition's feed this is."""
    user = User.objects.filter(uid=key.partition("-")[0], is_active=True).first()
    if user is None or not constant_time_compare(key, feed_key(user, competition)):
        return None
    return user
