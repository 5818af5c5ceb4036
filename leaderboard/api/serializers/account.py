"""Signing in, and who is signed in."""

from rest_framework import serializers

from leaderboard.api.serializers.base import Body, Out
from leaderboard.models import Scope
from leaderboard.participate.tokens import NAME_LENGTH


class LoginBody(Body):
    """A user name and its password."""

    username = serializers.CharField(max_length=254, help_text="Username or email address.")
    password = serializers.CharField(
        max_length=1000, trim_whitespace=False, style={"input_type": "password"}
    )
    code = serializers.CharField(
        max_length=40,
        required=False,
        help_text="Of your authenticator app, or a recovery code, where the account has a second "
        "factor.",
    )
    scopes = serializers.MultipleChoiceField(
        choices=Scope.choices,
        allow_empty=False,
        required=False,
        help_text="What the token may do; `read` and `submit` if left out.",
    )
    name = serializers.CharField(
        max_length=NAME_LENGTH,
        required=False,
        allow_blank=True,
        help_text="What you know the token by, on your account page.",
    )
    days = serializers.IntegerField(
        min_value=1, max_value=36_500, required=False, help_text="How long it is valid."
    )
    competition = serializers.CharField(
        max_length=100, required=False, help_text="The one that it reads and submits to."
    )
    campaign = serializers.CharField(
        max_length=100, required=False, help_text="Your team's there, of all that it submits."
    )
    quota = serializers.IntegerField(
        required=False, help_text="How many submissions may be made with it."
    )


class Login(Out):
    """A new token."""

    token = serializers.CharField(help_text="Shown this once. Send it as `Authorization: Token …`.")
    expiry = serializers.DateTimeField(allow_null=True)
    username = serializers.CharField()
    scopes = serializers.ListField(child=serializers.CharField())


class MyTeam(Out):
    """A team of yours."""

    competition = serializers.CharField(source="competition.slug")
    name = serializers.CharField()


class Me(Out):
    """Who is signed in."""

    username = serializers.CharField()
    email = serializers.EmailField()
    is_organizer = serializers.BooleanField()
    token_expires_at = serializers.DateTimeField(
        allow_null=True, help_text="When the token of this request expires."
    )
    token_name = serializers.CharField(allow_null=True, help_text="Null: there is no token.")
    token_scopes = serializers.ListField(
        child=serializers.CharField(),
        allow_null=True,
        help_text="What it may do: read, submit, campaigns, organize.",
    )
    token_competition = serializers.CharField(
        allow_null=True, help_text="The one competition that it is for; null: all of yours."
    )
    token_campaign = serializers.CharField(
        allow_null=True, help_text="The campaign of all that it submits; null: any, or none."
    )
    token_quota = serializers.IntegerField(
        allow_null=True, help_text="How many submissions may be made with it; null: no quota."
    )
    token_quota_left = serializers.IntegerField(
        allow_null=True, help_text="How many of these are left."
    )
    teams = MyTeam(many=True)
