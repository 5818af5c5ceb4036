"""What a person has read and wants to be told of, and the keys by which feed readers read."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from django.core import signing
from django.utils import timezone
from django.utils.crypto import constant_time_compare, salted_hmac

from leaderboard.models import (
    Channel,
    Competition,
    Mailbox,
    Notice,
    NoticeKind,
    Preference,
    Rhythm,
    User,
)
from leaderboard.notify.preferences import SALT

_FEED_SALT: Final = "leaderboard.participate.notices.feed"


def mark_read(user: User, uids: Collection[str] | None = None) -> None:
    """Mark notices of the person's inbox as read: these, or all. Done twice, it changes nothing."""
    rows = Notice.objects.filter(recipient=user, read_at__isnull=True)
    if uids is not None:
        rows = rows.filter(uid__in=uids)
    rows.update(read_at=timezone.now(), waits_for_digest=False)


def set_preference(
    user: User,
    competition: Competition | None,
    kind: NoticeKind,
    channel: Channel,
    *,
    is_wanted: bool,
) -> None:
    """Write down whether the person wants this, of one competition or of all."""
    Preference.objects.update_or_create(
        user=user,
        competition=competition,
        kind=kind,
        channel=channel,
        defaults={"is_wanted": is_wanted},
    )


def set_rhythm(user: User, rhythm: Rhythm) -> None:
    """Write down when the person wants the mails that can wait."""
    Mailbox.objects.update_or_create(user=user, defaults={"rhythm": rhythm})


def forget_refusal(user: User) -> None:
    """Let mails be sent again to an address that was refused."""
    Mailbox.objects.filter(user=user).update(refused="", refused_at=None, refused_because="")


@dataclass(frozen=True)
class Subscription:
    """What an unsubscribing link is about; without a competition, all of them."""

    user: User
    competition: Competition | None
    kind: NoticeKind
    channel: Channel


def read_link(signed: str) -> Subscription | None:
    """Return what an unsubscribing link is about; None for one that we didn't make."""
    try:
        uid, key, kind, channel = signing.Signer(salt=SALT).unsign_object(signed)
        competition = None if key is None else Competition.objects.get(pk=key)
        user = User.objects.get(uid=uid, deleted_at=None)
    except (signing.BadSignature, User.DoesNotExist, Competition.DoesNotExist):
        return None
    return Subscription(user, competition, NoticeKind(kind), Channel(channel))


def unsubscribe(found: Subscription) -> None:
    """End the mails that a link is about."""
    if found.kind is NoticeKind.DIGEST:
        set_rhythm(found.user, Rhythm.NEVER)
    else:
        about = (found.user, found.competition, found.kind, found.channel)
        set_preference(*about, is_wanted=False)


def feed_key(user: User, competition: Competition) -> str:
    """Return what stands for the person in the address of a feed, and opens nothing else.

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
