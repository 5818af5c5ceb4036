"""Signing in, and who is signed in."""

from rest_framework import serializers

from leaderboard.api.serializers.base import Body, Out


class LoginBody(Body):
    """A user name and its password."""

    username = serializers.CharField(max_length=254, help_text="Username or email address.")
    password = serializers.CharField(
        max_length=1000, trim_whitespace=False, style={"input_type": "password"}
    )


class Login(Out):
    """A new token."""

    token = serializers.CharField(help_text="Shown this once. Send it as `Authorization: Token …`.")
    expiry = serializers.DateTimeField(allow_null=True)
    username = serializers.CharField()


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
    teams = MyTeam(many=True)
