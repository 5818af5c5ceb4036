"""Whom organizers invite by mail address, and whose addresses may join."""

import secrets

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Lower

from leaderboard.models.competition import Competition
from leaderboard.models.round import new_uid


class MailState(models.TextChoices):
    """How far the mail with a person's link is."""

    NONE = "", "not asked for"
    QUEUED = "queued", "waiting"
    SENDING = "sending", "being sent"
    SENT = "sent", "sent"
    FAILED = "failed", "failed"


def new_token() -> str:
    """Draw what the link of an invitation is recognized by."""
    return secrets.token_urlsafe(32)


class Invitee(models.Model):
    """A person whom organizers know by mail address, with or without an account.

    Name and address are for organizers only; others see the `alias`, which is the name of the
    person's team. `user` is the account that took the invitation. `mail` is the state of the mail
    with the link, since `mail_at`: a worker claims it by `queued` -> `sending`.
    """

    competition = models.ForeignKey(Competition, models.CASCADE, related_name="invitees")
    uid = models.CharField(max_length=32, unique=True, default=new_uid, editable=False)
    email = models.EmailField()
    name = models.CharField(max_length=150, blank=True)
    alias = models.CharField(max_length=60, blank=True)
    token = models.CharField(max_length=43, unique=True, default=new_token)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, null=True, related_name="invitees"
    )
    mail = models.CharField(max_length=10, choices=MailState.choices, blank=True)
    mail_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name", "email", "pk"]
        constraints = [
            models.UniqueConstraint("competition", Lower("email"), name="invited_once"),
            models.UniqueConstraint(
                "competition", Lower("alias"), condition=~Q(alias=""), name="alias_unique_ci"
            ),
            models.UniqueConstraint(
                fields=["competition", "user"],
                condition=Q(user__isnull=False),
                name="one_invitation_per_person",
            ),
            models.CheckConstraint(condition=Q(mail__in=MailState.values), name="mail_state_known"),
        ]
        indexes = [
            models.Index(
                fields=["mail", "mail_at"], condition=Q(mail="queued"), name="mails_to_send"
            ),
        ]

    def __str__(self) -> str:
        return f"invitation {self.uid}"


class MailDomain(models.Model):
    """A domain whose confirmed addresses may join a competition; with none of them, all may."""

    competition = models.ForeignKey(Competition, models.CASCADE, related_name="mail_domains")
    domain = models.CharField(max_length=253)

    class Meta:
        ordering = ["domain"]
        constraints = [
            models.UniqueConstraint(fields=["competition", "domain"], name="domain_listed_once"),
        ]

    def __str__(self) -> str:
        return self.domain
