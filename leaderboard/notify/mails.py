"""Mails: who gets one of which event, and what it says. They are plain text."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from allauth.account.models import EmailAddress
from django.conf import settings
from django.core.mail import EmailMessage
from django.db.models import QuerySet
from django.template.loader import render_to_string
from django.urls import reverse

from leaderboard.access import visible_competitions
from leaderboard.models import (
    Announcement,
    Channel,
    Delivery,
    Event,
    EventKind,
    NoticeKind,
    Role,
    User,
)
from leaderboard.notify.preferences import unsubscribe_url, unwanting


@dataclass(frozen=True)
class Text:
    """What a mail says before the lines on how to end it."""

    subject: str
    body: str


@dataclass(frozen=True)
class Notice:
    """Who is told of an event, and in which words; None where there is nothing to say any more."""

    kind: NoticeKind
    recipients: Callable[[Event], QuerySet[User]]
    write: Callable[[Event], Text | None]


def _members(event: Event) -> QuerySet[User]:
    """Return the members who had joined when it happened."""
    if event.data.get("change") != "announced":
        return User.objects.none()
    joined = event.competition.memberships.active().filter(accepted_at__lte=event.created_at)
    return User.objects.filter(pk__in=joined.values("user"))


def _announcement(event: Event) -> Text | None:
    shown = Announcement.objects.shown().filter(competition=event.competition)
    found = shown.filter(number=event.subjects["announcement"]).first()
    if found is None:
        return None
    path = reverse("announcements", args=[event.competition.slug])
    context = {"announcement": found, "url": f"{settings.SITE_URL}{path}#{found.number}"}
    return Text(found.title, render_to_string("mail/announcement.txt", context))


def _owners(event: Event) -> QuerySet[User]:
    """Return the owners, where a webhook was turned off because it failed."""
    if event.data.get("change") != "disabled":
        return User.objects.none()
    return User.objects.filter(roles__competition=event.competition, roles__role=Role.OWNER)


def _webhook_disabled(event: Event) -> Text:
    path = reverse("organize-webhooks", args=[event.competition.slug])
    context = {"event": event, "url": settings.SITE_URL + path}
    return Text("A webhook was turned off", render_to_string("mail/webhook_disabled.txt", context))


NOTICES: Final[Mapping[str, Notice]] = {
    EventKind.ANNOUNCED: Notice(NoticeKind.ANNOUNCEMENT, _members, _announcement),
    EventKind.WEBHOOK_CHANGED: Notice(NoticeKind.WEBHOOK_DISABLED, _owners, _webhook_disabled),
}


def recipients(event: Event) -> QuerySet[User]:
    """Return who is sent a mail of this event: who wants one and has a confirmed address."""
    notice = NOTICES[event.kind]
    confirmed = EmailAddress.objects.filter(verified=True).values("user")
    unwilling = unwanting(event.competition, notice.kind, Channel.MAIL)
    people = notice.recipients(event).filter(is_active=True, pk__in=confirmed)
    return people.exclude(pk__in=unwilling).order_by("pk")


def write(delivery: Delivery) -> EmailMessage | None:
    """Return the mail of a delivery; None where nobody is to get it any more."""
    event, user = delivery.event, delivery.recipient
    assert event is not None and user is not None  # noqa: S101, PT018  (a mail has both)
    address = _address_of(user)
    wanted = recipients(event).filter(pk=user.pk).exists()
    may_see = visible_competitions(user).filter(pk=event.competition_id).exists()
    text = NOTICES[event.kind].write(event) if wanted and may_see else None
    if text is None or address is None:
        return None
    title = event.competition.title
    kind = NOTICES[event.kind].kind
    link = unsubscribe_url(user, event.competition, kind, Channel.MAIL)
    context = {"text": text.body, "user": user, "competition": event.competition, "link": link}
    host = urlsplit(settings.SITE_URL).hostname or "localhost"
    return EmailMessage(
        subject=" ".join(f"[{title}] {text.subject}".split()),
        body=render_to_string("mail/frame.txt", context),
        to=[address],
        headers={
            # The same in every attempt: who gets one twice after a crash is shown it once.
            "Message-ID": f"<{delivery.uid}@{host}>",
            "List-Id": f"<{kind}.{event.competition.slug}.{host}>",
            "List-Unsubscribe": f"<{link}>",
            "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
            "Auto-Submitted": "auto-generated",
        },
    )


def _address_of(user: User) -> str | None:
    """Return the confirmed address of a person, the primary one first."""
    rows = EmailAddress.objects.filter(user=user, verified=True).order_by("-primary", "pk")
    found: str | None = rows.values_list("email", flat=True).first()
    return found
