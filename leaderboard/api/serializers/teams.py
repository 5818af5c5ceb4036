"""Joining, teams, and what they may still submit."""

from django.conf import settings
from django.urls import reverse
from rest_framework import serializers

from leaderboard.api.serializers.base import Body, Json, Out
from leaderboard.models import Invitation
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


class MemberBody(Body):
    """A member of your team."""

    username = serializers.CharField(max_length=150)


class TeamInviteBody(Body):
    """Whom to invite."""

    email = serializers.CharField(
        required=False, max_length=254, help_text="Where to mail it; a link alone if left out."
    )


class TeamItem(Out):
    """A team as everyone sees it."""

    uid = serializers.CharField(help_text="Its permanent id: names change and repeat.")
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


class TeamResult(Out):
    """What a team has reached in a round."""

    round = serializers.IntegerField()
    team = serializers.CharField(help_text="Its name, or that of one that became a part of it.")
    is_final = serializers.BooleanField(help_text="On the final board, or on the running one.")
    rank = serializers.IntegerField(allow_null=True)
    tied = serializers.BooleanField()
    teams = serializers.IntegerField(source="total")
    score_text = serializers.CharField(source="score", help_text="Empty: none yet.")
    entries = serializers.IntegerField(allow_null=True)


class TeamProfileDetail(Out):
    """A team as its page shows it."""

    uid = serializers.CharField(source="team.uid")
    name = serializers.CharField(source="team.name")
    competition = serializers.CharField(source="team.competition.slug")
    members = Member(many=True)
    unnamed = serializers.IntegerField(help_text="Further members, under the team's name alone.")
    merged = serializers.ListField(
        child=serializers.CharField(), help_text="Teams that became parts of it."
    )
    results = TeamResult(many=True)
    disqualified_because = serializers.CharField(source="reason", help_text="Empty: it is not.")
    is_verified = serializers.BooleanField(source="team.is_verified")
    is_mine = serializers.BooleanField()
    created_at = serializers.DateTimeField(source="team.created_at")


class Place(Out):
    """A place on a final board."""

    round = serializers.IntegerField()
    rank = serializers.IntegerField()
    tied = serializers.BooleanField()
    teams = serializers.IntegerField(source="total")


class PersonTeam(Out):
    """A competition that a person takes part in."""

    competition = serializers.CharField(source="slug")
    title = serializers.CharField()
    phase = serializers.CharField()
    team = serializers.CharField()
    team_uid = serializers.CharField()
    places = Place(many=True)


class PersonDetail(Out):
    """A person as others see them."""

    username = serializers.CharField()
    joined_at = serializers.DateTimeField()
    competitions = PersonTeam(many=True)


class InvitationItem(Out):
    """An invitation to your team."""

    token = serializers.CharField(help_text="What joining by it takes.")
    url = serializers.SerializerMethodField(help_text="The link to pass on.")
    email = serializers.CharField(help_text="Where it was mailed; empty: nowhere.")
    mail = serializers.CharField(help_text="queued, sending, sent or failed.")
    expires_at = serializers.DateTimeField()

    def get_url(self, invitation: Invitation) -> str:
        path = reverse("invitation", args=[invitation.team.competition.slug, invitation.token])
        return f"{settings.SITE_URL}{path}"


class NamedTeam(Out):
    """A team by its permanent id."""

    uid = serializers.CharField()
    name = serializers.CharField()


class Mergers(Out):
    """Who asks whom to merge: the one that asks becomes a part of the other."""

    asked = NamedTeam(allow_null=True, help_text="Which team yours asks.")
    asking = NamedTeam(many=True, help_text="Which teams ask yours.")


class MergerDetail(Out):
    """What merging would do."""

    team = NamedTeam(help_text="The team that ends.")
    into = NamedTeam(help_text="What it becomes a part of.")
    members = serializers.IntegerField()
    team_size = serializers.IntegerField(help_text="So many may they be.")
    submissions = serializers.IntegerField(help_text="That move.")
    daily_left = serializers.IntegerField(help_text="Left today, then.")
    total_left = serializers.IntegerField(allow_null=True, help_text="Left in all, then.")
    problem = serializers.CharField(help_text="Why they can't be merged now; empty: they can.")
