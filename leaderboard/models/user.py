"""People with an account."""

from django.conf import settings
from django.contrib.auth.models import AbstractUser
from django.db import models
from django.db.models.functions import Lower

from leaderboard.models.round import new_uid


class User(AbstractUser):
    """An account. Operators are superusers; organizers run competitions of their own.

    Without `has_page`, the person's page is not there for anybody.
    A session holds while `session_epoch` is what it was when the session began. Of a deleted
    account the row stays, without anything that names the person.
    """

    uid = models.CharField(max_length=32, unique=True, default=new_uid, editable=False)
    is_organizer = models.BooleanField(
        "organizer",
        default=False,
        help_text="May create competitions and run them, in the console and by the API.",
    )
    has_page = models.BooleanField(default=True, editable=False)
    session_epoch = models.PositiveIntegerField(default=0, editable=False)
    deleted_at = models.DateTimeField(null=True, editable=False)

    class Meta(AbstractUser.Meta):
        constraints = [
            models.UniqueConstraint(
                Lower("username"),
                name="user_username_unique_ci",
                violation_error_message="This name is taken.",
            ),
            models.UniqueConstraint(
                Lower("email"),
                condition=~models.Q(email=""),
                name="user_email_unique_ci",
                violation_error_message="Another account has this address.",
            ),
        ]

    def get_session_auth_hash(self) -> str:
        """Return what a session must know: it ends with the password, and with the epoch."""
        return f"{super().get_session_auth_hash()}{self.session_epoch or ''}"


class AccountEventKind(models.TextChoices):
    """What can happen to the security of an account."""

    FACTOR_ADDED = "factor_added", "A second factor was added"
    FACTOR_REMOVED = "factor_removed", "A second factor was removed"
    FACTORS_RESET = "factors_reset", "An operator removed all second factors"
    CODES_RENEWED = "codes_renewed", "New recovery codes were made"
    PASSWORD_CHANGED = "password_changed", "The password was changed"
    PROVIDER_ADDED = "provider_added", "A provider was connected"
    PROVIDER_REMOVED = "provider_removed", "A provider was disconnected"
    TOKEN_MADE = "token_made", "An API token was made"
    SIGNED_OUT = "signed_out", "All other sessions were signed out"
    DELETED = "deleted", "The account was deleted"


class AccountEvent(models.Model):
    """A change of how a person signs in. `detail` names the factor, provider, token or reason."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="events")
    kind = models.CharField(max_length=24, choices=AccountEventKind.choices)
    detail = models.CharField(max_length=200, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-pk"]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(kind__in=AccountEventKind.values), name="account_event_known"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.detail}".strip()
