"""Mails with the links by which invited people join."""

import logging
from datetime import timedelta
from smtplib import SMTPConnectError, SMTPException, SMTPServerDisconnected
from typing import Any, Final

from django.conf import settings
from django.core.mail import EmailMultiAlternatives, get_connection
from django.core.mail.backends.base import BaseEmailBackend
from django.db.models import QuerySet
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone

from leaderboard.models import Invitation, Invitee, MailState, Visibility

logger = logging.getLogger(__name__)

Row = Invitee | Invitation
BATCH: Final = 100
_AWAY: Final = (SMTPServerDisconnected, SMTPConnectError, ConnectionError, TimeoutError)


def send(competition_id: int) -> tuple[int, bool]:
    """Mail links that wait, one batch; return how many left, and whether more can leave now.

    Each row is claimed before its mail is handed over, so that none leaves twice, whoever else is
    at it. While the mail server is away they wait; a mail that it refuses has failed.
    """
    sent, connection = 0, get_connection()
    of_organizers = due().filter(competition=competition_id).select_related("competition")
    of_teams = due_of_teams().filter(team__competition=competition_id)
    waiting = (of_organizers, of_teams.select_related("team__competition", "created_by"))
    try:
        for rows in waiting:
            row: Row
            for row in rows.order_by("mail_at", "pk")[:BATCH]:
                if _move(row, MailState.QUEUED, MailState.SENDING):
                    sent += _hand_over(row, connection)
    except _AWAY as error:
        logger.warning("Invitations wait for the mail server: %s.", type(error).__name__)
        return sent, False
    finally:
        connection.close()
    return sent, any(rows.exists() for rows in waiting)


def due() -> QuerySet[Invitee]:
    """Return whose mail may leave: those of competitions that are open to be looked at."""
    shown = Invitee.objects.exclude(competition__visibility=Visibility.HIDDEN)
    opened = shown.filter(competition__opened_by_organizer_at__isnull=False)
    return opened.filter(mail=MailState.QUEUED, user=None)


def due_of_teams() -> QuerySet[Invitation]:
    """Return the invitations to teams whose mail may leave."""
    shown = Invitation.objects.exclude(team__competition__visibility=Visibility.HIDDEN)
    opened = shown.filter(team__competition__opened_by_organizer_at__isnull=False)
    return opened.filter(mail=MailState.QUEUED, user=None, expires_at__gt=timezone.now())


def waiting() -> list[int]:
    """Return the competitions whose mails wait for somebody to send them.

    Those of organizers wait too long if a message was lost; those of teams wait for this. What a
    worker held when it died may have left, so it counts as failed: it can be sent again.
    """
    now = timezone.now()
    for kind in (Invitee, Invitation):
        held = kind.objects.filter(
            mail=MailState.SENDING, mail_at__lt=now - timedelta(seconds=settings.LEASE_SECONDS)
        )
        held.update(mail=MailState.FAILED, mail_at=now)
    too_long_ago = now - timedelta(seconds=settings.REQUEUE_SECONDS)
    at_work = Invitee.objects.filter(
        mail__in=(MailState.SENDING, MailState.SENT), mail_at__gte=too_long_ago
    )
    asked = due().filter(mail_at__lt=too_long_ago)
    lost = asked.exclude(competition__in=at_work.values("competition"))
    found = {*lost.order_by().values_list("competition", flat=True)}
    found |= {*due_of_teams().values_list("team__competition", flat=True)}
    return sorted(found)


def message(row: Row) -> EmailMultiAlternatives:
    """Return the mail with a person's link."""
    if isinstance(row, Invitation):
        competition = row.team.competition
        path = reverse("invitation", args=[competition.slug, row.token])
        about: dict[str, Any] = {"team": row.team, "inviter": row.created_by.username}
        about["expires_at"] = row.expires_at
    else:
        competition = row.competition
        path = reverse("invited", args=[competition.slug, row.token])
        about = {"name": row.name, "alias": row.alias}
    context = about | {
        "competition": competition,
        "url": f"{settings.SITE_URL}{path}",
        "site_url": settings.SITE_URL,
    }
    title = " ".join(competition.title.split())
    message = EmailMultiAlternatives(
        f"{settings.ACCOUNT_EMAIL_SUBJECT_PREFIX}You are invited: {title}",
        render_to_string("mail/invitation.txt", context),
        to=[row.email],
    )
    message.attach_alternative(render_to_string("mail/invitation.html", context), "text/html")
    return message


def _hand_over(row: Row, connection: BaseEmailBackend) -> int:
    try:
        connection.send_messages([message(row)])
    except _AWAY:
        _move(row, MailState.SENDING, MailState.QUEUED)
        raise
    except (SMTPException, OSError, ValueError) as error:
        _move(row, MailState.SENDING, MailState.FAILED)
        logger.warning("Invitation %s is not mailed: %s.", row.pk, type(error).__name__)
        return 0
    return _move(row, MailState.SENDING, MailState.SENT)


def _move(row: Row, before: MailState, after: MailState) -> int:
    """Take a mail from one state to another; return 0 where somebody else did."""
    rows = type(row).objects.filter(pk=row.pk, mail=before)
    changed: int = rows.update(mail=after, mail_at=timezone.now())
    return changed
