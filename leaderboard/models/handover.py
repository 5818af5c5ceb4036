"""Competitions that move from one installation to another."""

from django.conf import settings
from django.db import models

from leaderboard.models.competition import Competition


class Handover(models.Model):
    """The secrets of a competition on their way out of this installation, or into it.

    `destination` is the public key of the vault that they are sealed to, in hex. Of one that goes
    out, workers write `file` and nobody here can open it; one that comes in is opened by a worker,
    who compares it with the ledgers of the archive. `failure` is why that led to nothing.
    """

    competition = models.ForeignKey(Competition, models.CASCADE, related_name="handovers")
    is_incoming = models.BooleanField()
    destination = models.CharField(max_length=64)
    file = models.FileField(upload_to="handovers/", blank=True)
    ordered_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    failure = models.CharField(max_length=300, blank=True)

    class Meta:
        ordering = ["-created_at", "-pk"]

    def __str__(self) -> str:
        return f"secrets of {self.competition}"
