"""What an API token may do. The token itself, a hash, is knox's."""

from django.db import models
from django.db.models import Q

from leaderboard.models.campaign import Campaign
from leaderboard.models.competition import Competition


class Scope(models.TextChoices):
    """What a token lets a program do, as far as its person may."""

    READ = "read", "Read: what the pages show you"
    SUBMIT = "submit", "Submit: join, send predictions, choose final entries"
    CAMPAIGNS = "campaigns", "Campaigns: begin them and set their limits"
    ORGANIZE = "organize", "Organize: run your competitions"


class TokenGrant(models.Model):
    """Name and scopes of a token. One without a row, from before there were any, has the usual.

    `last_used_at` is right to some minutes: it is not written with every request.

    One with a `competition` is bound: it reads that competition and submits to it, and nothing
    else. All that it submits is then of its `campaign`, if it has one, and takes at most `quota`
    units. The foreign keys protect: a token whose row went would have the usual rights.
    """

    token = models.OneToOneField(
        "knox.AuthToken", models.CASCADE, primary_key=True, related_name="grant"
    )
    name = models.CharField(max_length=80, blank=True)
    scopes = models.JSONField(default=list)
    last_used_at = models.DateTimeField(null=True)
    competition = models.ForeignKey(Competition, models.PROTECT, null=True, related_name="+")
    campaign = models.ForeignKey(Campaign, models.PROTECT, null=True, related_name="+")
    quota = models.PositiveIntegerField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(competition__isnull=False)
                | Q(campaign__isnull=True, quota__isnull=True),
                name="grant_is_bound_to_a_competition",
            )
        ]

    def __str__(self) -> str:
        return self.name or ", ".join(self.scopes)
