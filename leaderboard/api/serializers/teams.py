"""Joining, teams, and what they may still submit."""

from rest_framework import serializers

from leaderboard.api.serializers.base import Body, Json, Out
from leaderboard.queries import Quota


class JoinBody(Body):
    """Accepting the rules, alone or by invitation."""

    accept_rules = serializers.BooleanField(
        help_text="True: you have read the rules and accept them."
    )
    team_name = serializers.CharField(
        required=False, max_length=200, help_text="Your team's name; your user name if left out."
    )
    invitation = serializers.CharField(
        required=False, max_length=100, help_text="The token of an invitation, to join its team."
    )

    def validate(self, body: Json) -> Json:
        if "team_name" in body and "invitation" in body:
            raise serializers.ValidationError(
                {"team_name": ["The inviting team has a name already."]}, code="not_both"
            )
        return body


class TeamBody(Body):
    """What of a team can be written."""

    name = serializers.CharField(max_length=200, help_text="The team's new name.")


class TeamItem(Out):
    """A team as everyone sees it."""

    name = serializers.CharField()
    members = serializers.IntegerField()
    is_baseline = serializers.BooleanField()
    is_verified = serializers.BooleanField()
    created_at = serializers.DateTimeField()


class Limits(Out):
    """What the team may still submit."""

    daily_limit = serializers.IntegerField()
    daily_left = serializers.IntegerField()
    renews_at = serializers.DateTimeField(help_text="When the day (UTC) ends.")
    total_limit = serializers.IntegerField(allow_null=True)
    total_left = serializers.IntegerField(allow_null=True)
    left = serializers.IntegerField(help_text="What may be submitted now.")
    summary = serializers.SerializerMethodField(help_text="The same in words.")

    def get_summary(self, quota: Quota) -> str:
        if not quota.free_left:
            return "No submissions left today: too many were rejected or repeated others."
        today = f"{quota.daily_left} of {quota.daily_limit} submissions left today"
        if quota.total_left is None:
            return f"{today}."
        return f"{today}, {quota.total_left} of {quota.total_limit} in all."


class Member(Out):
    """A member of your team."""

    username = serializers.CharField()
    is_captain = serializers.BooleanField()


class TeamDetail(TeamItem):
    """Your team."""

    competition = serializers.CharField()
    members = Member(many=True)  # type: ignore[assignment]  # by name, where others see how many
    limits = Limits()
