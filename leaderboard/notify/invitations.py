"""Mails with the links by which invited people join."""

import logging
from datetime import timedelta
from smtplib import SMTPConnectError, SMTPException, SMTPServerDisconnected
from typing import Final

from django.conf import settings
from django.core.mail import EmailMultiAlternatives, get_connection
from django.core.mail.backends.base import BaseEmailBackend
from django.db.models import QuerySet
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone

from leaderboard.models import Invitee, MailState, Visibility

logger = logging.getLogger(__name__)

BATCH: Final = 100
_AWAY: Final = (SMTPServerDisconnected, SMTPConnectError, ConnectionError, TimeoutError)


def send(competition_id: int) -> tuple[int, bool]:
    """Mail links that wait, one batch; return how many left, and whether more can leave now.

    Each row is claimed before its mail is handed over, so that none leaves twice, whoever else is
    at it. While the mail server is away they wait; a mail that it refuses has failed.
    """
    sent, connection = 0, get_connection()
    waiting = due().filter(competition=competition_id)
    try:
        for row in waiting.select_related("competition").order_by("mail_at", "pk")[:BATCH]:
            if _move(row, MailState.QUEUED, MailState.SENDING):
                sent += _hand_over(row, connection)
    except _AWAY as error:
        logger.warning("Invitations wait for the mail server: %s.", type(error).__name__)
        return sent, False
    finally:
        connection.close()
    return sent, waiting.exists()


def due() -> QuerySet[Invitee]:
    """Return whose mail may leave: those of competitions that are open to be looked at."""
    shown = Invitee.objects.exclude(competition__visibility=Visibility.HIDDEN)
    opened = shown.filter(competition__opened_by_organizer_at__isnull=False)
    return opened.filter(mail=MailState.QUEUED, user=None)


def waiting() -> list[int]:
    """Return the competitions whose mails wait too long, because a message was lost.

    What a worker held when it died may have left, so it counts as failed: organizers send it again.
    """
    now = timezone.now()
    held = Invitee.objects.filter(
        mail=MailState.SENDING, mail_at__lt=now - timedelta(seconds=settings.LEASE_SECONDS)
    )
    held.update(mail=MailState.FAILED, mail_at=now)
    too_long_ago = now - timedelta(seconds=settings.REQUEUE_SECONDS)
    at_work = Invitee.objects.filter(
        mail__in=(MailState.SENDING, MailState.SENT), mail_at__gte=too_long_ago
    )
    asked = due().filter(mail_at__lt=too_long_ago)
    lost = asked.exclude(competition__in=at_work.values("competition"))
    return list(lost.order_by().values_list("competition", flat=True).distinct())


def message(invitee: Invitee) -> EmailMultiAlternatives:
    """Return the mail with a person's link."""
    competition = invitee.competition
    path = reverse("invited", args=[competition.slug, invitee.token])
    context = {
        "competition": competition,
        "name": invitee.name,
        "alias": invitee.alias,
        "url": f"{settings.SITE_URL}{path}",
        "site_url": settings.SITE_URL,
    }
    title = " ".join(competition.title.split())
    message = EmailMultiAlternatives(
        f"{settings.ACCOUNT_EMAIL_SUBJECT_PREFIX}You are invited: {title}",
        render_to_string("mail/invitation.txt", context),
        to=[invitee.email],
    )
    message.attach_alternative(render_to_string("mail/invitation.html", context), "text/html")
    return message


def _hand_over(row: Invitee, connection: BaseEmailBackend) -> int:
    try:
        connection.send_messages([message(row)])
    except _AWAY:
        _move(row, MailState.SENDING, MailState.QUEUED)
        raise
    except (SMTPException, OSError, ValueError) as error:
        _move(row, MailState.SENDING, MailState.FAILED)
        logger.warning("Invitation %s is not mailed: %s.", row.uid, type(error).__name__)
        return 0
    return _move(row, MailState.SENDING, MailState.SENT)


def _move(row: Invitee, before: MailState, after: MailState) -> int:
    """Take a mail from one state to another; return 0 where somebody else did."""
    rows = Invitee.objects.filter(pk=row.pk, mail=before)
    return rows.update(mail=after, mail_at=timezone.now())
