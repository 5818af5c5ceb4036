"""Mails: who is sent one of which event, and how it is set. Each is plain text and HTML."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from allauth.account.models import EmailAddress
from django.conf import settings
from django.core.mail import EmailMultiAlternatives
from django.db.models import Exists, OuterRef, QuerySet, Subquery
from django.template.loader import render_to_string
from django.utils import timezone

from leaderboard.access import visible_competitions
from leaderboard.models import (
    Announcement,
    Channel,
    Competition,
    Delivery,
    Event,
    Mailbox,
    NoticeKind,
    Rhythm,
    User,
)
from leaderboard.notify import account_texts
from leaderboard.notify.notices import (
    CAN_WAIT,
    Text,
    announcement_of,
    kind_of,
    people,
    text_of,
)
from leaderboard.notify.preferences import unsubscribe_url, unwanting

DIGEST: Final = "digest"
ACCOUNT: Final = "account"  # nobody can end these


@dataclass(frozen=True)
class Item:
    """A notice in a mail; one about the person's account is of no competition."""

    competition: Competition | None
    text: Text

    @property
    def url(self) -> str:
        """Return where it leads."""
        return settings.SITE_URL + self.text.path

    @property
    def base(self) -> str:
        """Return what relative addresses in its body are relative to."""
        return self.url.partition("#")[0]


def readers() -> QuerySet[User]:
    """Return the people whom mails reach: an address is confirmed, and was not refused."""
    confirmed = EmailAddress.objects.filter(user=OuterRef("pk"), verified=True)
    first = confirmed.order_by("-primary", "pk").values("email")[:1]
    refused = Mailbox.objects.filter(user=OuterRef("pk"), refused=OuterRef("address"))
    found = User.objects.annotate(address=Subquery(first))
    return found.filter(~Exists(refused), address__isnull=False)


def choosing(rhythm: Rhythm) -> QuerySet[Mailbox]:
    """Return the keys of the people who chose when to get what can wait."""
    return Mailbox.objects.filter(rhythm=rhythm).values("user")  # type: ignore[return-value]


def wanting(event: Event, found: Iterable[int]) -> tuple[set[int], set[int]]:
    """Return who of these people is sent a mail of the event at once, and who with the digest."""
    kind = kind_of(event)
    wanting = readers().filter(pk__in=list(found))
    wanting = wanting.exclude(pk__in=unwanting(event.competition, kind, Channel.MAIL))
    keys = set(wanting.values_list("pk", flat=True))
    if kind not in CAN_WAIT:
        return keys, set()
    rhythms = Mailbox.objects.filter(user__in=keys).exclude(rhythm=Rhythm.AT_ONCE)
    others = dict(rhythms.values_list("user", "rhythm"))
    return keys - others.keys(), {key for key in others if others[key] == Rhythm.DAILY}


def write(delivery: Delivery) -> EmailMultiAlternatives | None:
    """Return the mail of a delivery; None where nobody is to get it any more."""
    user = delivery.recipient
    assert user is not None  # noqa: S101  (a mail has one)
    address = readers().filter(pk=user.pk, is_active=True).values_list("address").first()  # type: ignore[misc]  # annotated
    if address is None:
        return None
    if delivery.account_event is not None:
        items = [Item(None, account_texts.text_of(delivery.account_event))]
    elif delivery.event is not None:
        items = _single(delivery.event, user)
    else:
        items = _digest(delivery, user)
    if not items:
        return None
    subject, competition, link, prefix, list_id = (
        items[0].text.subject,
        None,
        "",
        "Holdfast",
        ACCOUNT,
    )
    if delivery.event is not None:
        kind, competition = kind_of(delivery.event), delivery.event.competition
        prefix, list_id = competition.title, f"{kind}.{competition.slug}"
        link = unsubscribe_url(user, competition, kind, Channel.MAIL)
    elif delivery.account_event is None:
        subject, list_id = f"{len(items)} notice{'s' if len(items) > 1 else ''}", DIGEST
        link = unsubscribe_url(user, None, NoticeKind.DIGEST, Channel.MAIL)
    context = {
        "items": items,
        "competition": competition,
        "subject": subject,
        "user": user,
        "link": link,
        "site_url": settings.SITE_URL,
    }
    host = urlsplit(settings.SITE_URL).hostname or "localhost"
    message = EmailMultiAlternatives(
        subject=" ".join(f"[{prefix}] {subject}".split()),
        body=render_to_string("mail/notices.txt", context),
        to=list(address),
        headers={
            # The same in every attempt: who gets one twice after a crash is shown it once.
            "Message-ID": f"<{delivery.uid}@{host}>",
            "List-Id": f"<{list_id}.{host}>",
            "Auto-Submitted": "auto-generated",
        }
        | (_ending(link) if link else {}),
    )
    message.attach_alternative(render_to_string("mail/notices.html", context), "text/html")
    return message


def _ending(link: str) -> dict[str, str]:
    return {
        "List-Unsubscribe": f"<{link}>",
        "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
    }


def note_refusal(message: EmailMultiAlternatives, user: User, answer: str) -> None:
    """Write down that the person's address was refused for good: the account page says so."""
    fields = {"refused": message.to[0], "refused_at": timezone.now(), "refused_because": answer}
    Mailbox.objects.update_or_create(user=user, defaults=fields)


def _single(event: Event, user: User) -> list[Item]:
    """Return what a mail of one event says, while it concerns and interests the person."""
    kind = kind_of(event)
    unwilling = unwanting(event.competition, kind, Channel.MAIL)
    concerned = people(event).filter(pk=user.pk).exclude(pk__in=unwilling)
    if kind in CAN_WAIT:
        concerned = concerned.exclude(pk__in=choosing(Rhythm.NEVER))
    may_see = visible_competitions(user).filter(pk=event.competition_id)
    if not (concerned.exists() and may_see.exists()):
        return []
    return [_item(event, announcement_of(event))]


def _digest(delivery: Delivery, user: User) -> list[Item]:
    """Return what a digest says: its notices, in order, without what ended meanwhile."""
    if Mailbox.objects.filter(user=user, rhythm=Rhythm.NEVER).exists():
        return []
    rows = delivery.notices.filter(competition__in=visible_competitions(user))
    rows = rows.filter(announcement__withdrawn_at__isnull=True).order_by("created_at", "pk")
    related = ("event__competition", "announcement")
    return [
        _item(row.event, row.announcement)
        for row in rows.select_related(*related)
        if not unwanting(row.competition, NoticeKind(row.kind), Channel.MAIL)
        .filter(user=user)
        .exists()
    ]


def _item(event: Event, announcement: Announcement | None) -> Item:
    return Item(event.competition, text_of(event, announcement))
