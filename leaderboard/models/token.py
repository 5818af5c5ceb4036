"""What an API token may do. The token itself, a hash, is knox's."""

from django.db import models


class Scope(models.TextChoices):
    """What a token lets a program do, as far as its person may."""

    READ = "read", "Read: what the pages show you"
    SUBMIT = "submit", "Submit: join, send predictions, choose final entries"
    ORGANIZE = "organize", "Organize: run your competitions"


class TokenGrant(models.Model):
    """Name and scopes of a token. One without a row, from before there were any, has the usual.

    `last_used_at` is right to some minutes: it is not written with every request.
    """

    token = models.OneToOneField(
        "knox.AuthToken", models.CASCADE, primary_key=True, related_name="grant"
    )
    name = models.CharField(max_length=80, blank=True)
    scopes = models.JSONField(default=list)
    last_used_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return self.name or ", ".join(self.scopes)
