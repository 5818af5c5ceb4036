"""Teams: quotas and budgets are theirs, so that members don't multiply them."""

from typing import Self

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Lower

from leaderboard.models.competition import Competition
from leaderboard.models.holdout import Holdout
from leaderboard.models.invitee import MailState, new_token
from leaderboard.models.round import Board, new_uid


class Team(models.Model):
    """A team of one competition, named by `uid` wherever a database's keys mean nothing.

    One that was merged into another keeps its entries of the ledger under its own uid. The extra
    submissions come on top of the round's limits.
    """

    competition = models.ForeignKey(Competition, models.CASCADE, related_name="teams")
    uid = models.CharField(max_length=32, unique=True, default=new_uid, editable=False)
    name = models.CharField(max_length=60)
    captain = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")
    is_baseline = models.BooleanField("baseline", default=False)
    is_verified = models.BooleanField("verified by the organizer", default=False)
    merged_into = models.ForeignKey(
        "self", models.PROTECT, null=True, blank=True, related_name="merged"
    )
    extra_daily = models.PositiveIntegerField(default=0)
    extra_total = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(
                "competition",
                Lower("name"),
                name="team_name_unique_ci",
                violation_error_message="Another team has this name.",
            ),
            models.CheckConstraint(condition=~Q(name=""), name="team_has_a_name"),
        ]
        indexes = [
            models.Index(
                fields=["competition", "merged_into", "is_baseline"], name="teams_that_count"
            )
        ]

    def __str__(self) -> str:
        return self.name


class MembershipQuerySet(models.QuerySet["Membership"]):
    """People in teams."""

    def active(self) -> Self:
        """Return those who have not left."""
        return self.filter(left_at__isnull=True)


class Membership(models.Model):
    """A person in a team, with the version of the rules that the person accepted.

    Of somebody who left a team that had submitted the row stays, with `left_at`, and keeps that
    person from winning quota back in another team.
    """

    competition = models.ForeignKey(Competition, models.CASCADE, related_name="memberships")
    team = models.ForeignKey(Team, models.CASCADE, related_name="memberships")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="memberships")
    rules_version = models.PositiveIntegerField()
    accepted_at = models.DateTimeField()
    left_at = models.DateTimeField(null=True, blank=True)

    objects = MembershipQuerySet.as_manager()

    class Meta:
        ordering = ["accepted_at"]
        constraints = [
            models.UniqueConstraint(fields=["competition", "user"], name="one_team_per_person"),
        ]

    def __str__(self) -> str:
        return f"{self.user} in {self.team}"


class Invitation(models.Model):
    """A link that lets its bearer join a team, until it expires or the team is full.

    One that was mailed to an `email` is taken by one person, `user`; `mail` is the state of that
    mail since `mail_at`, as of an `Invitee`.
    """

    team = models.ForeignKey(Team, models.CASCADE, related_name="invitations")
    token = models.CharField(max_length=43, unique=True, default=new_token)
    email = models.EmailField(blank=True)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, null=True, related_name="taken_invitations"
    )
    mail = models.CharField(max_length=10, choices=MailState.choices, blank=True)
    mail_at = models.DateTimeField(null=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(mail__in=MailState.values), name="team_mail_state_known"
            ),
        ]
        indexes = [
            models.Index(
                fields=["mail", "mail_at"], condition=Q(mail="queued"), name="team_mails_to_send"
            ),
        ]

    def __str__(self) -> str:
        return f"invitation to {self.team}"


class MergeRequest(models.Model):
    """A team's wish to become a part of another one, whose captain may accept it."""

    team = models.OneToOneField(
        Team, models.CASCADE, related_name="merge_request", primary_key=True
    )
    into = models.ForeignKey(Team, models.CASCADE, related_name="merge_requests")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["created_at"]

    def __str__(self) -> str:
        return f"{self.team} asks {self.into}"


class TeamState(models.Model):
    """What a board's mechanism knows of a team on one holdout; only `leaderboard.ledger` writes it.

    Levels are grid steps of the loss. `share_left` is the team's part of the budget, `law_memory`
    what the laws of its ledger remember of it.
    """

    holdout = models.ForeignKey(Holdout, models.PROTECT, related_name="team_states")
    board = models.ForeignKey(Board, models.PROTECT, related_name="team_states")
    team = models.ForeignKey(Team, models.CASCADE, related_name="states")
    best = models.PositiveIntegerField(null=True)
    last = models.PositiveIntegerField(null=True)
    share_left = models.PositiveIntegerField(null=True)
    law_memory = models.JSONField(default=dict)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["holdout", "board", "team"], name="one_state_per_team"),
        ]

    def __str__(self) -> str:
        return f"state of {self.team_id}"


class TeamAccount(models.Model):
    """What a team's answers told, on a ledger that counts each team by itself.

    Only `leaderboard.ledger` writes it.
    """

    ledger = models.ForeignKey("Ledger", models.PROTECT, related_name="team_accounts")
    team = models.ForeignKey(Team, models.PROTECT, related_name="accounts")
    account = models.JSONField(default=dict)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["ledger", "team"], name="one_account_per_team"),
        ]

    def __str__(self) -> str:
        return f"account of {self.team_id}"
