"""People with an account."""

from django.contrib.auth.models import AbstractUser
from django.db import models
from django.db.models.functions import Lower

from leaderboard.models.round import new_uid


class User(AbstractUser):
    """An account. Operators are superusers; organizers run competitions of their own."""

    uid = models.CharField(max_length=32, unique=True, default=new_uid, editable=False)
    is_organizer = models.BooleanField(
        "organizer",
        default=False,
        help_text="May create competitions and run them, in the console and by the API.",
    )

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
