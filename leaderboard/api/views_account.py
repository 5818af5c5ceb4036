"""Signing in by password, out again, and who is signed in."""

from allauth.account.models import EmailAddress
from django.conf import settings
from django.contrib.auth import authenticate
from drf_spectacular.utils import extend_schema
from knox.models import AuthToken
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response

from leaderboard import queries
from leaderboard.api.base import PublicView, View, person
from leaderboard.api.schema import cli, responses
from leaderboard.api.serializers.account import Login, LoginBody, Me
from leaderboard.api.throttles import LoginAddressThrottle, LoginThrottle
from leaderboard.errors import Refused
from leaderboard.models import User
from leaderboard.participate import tokens


class LoginView(PublicView):
    authentication_classes = ()
    throttle_classes = (LoginAddressThrottle, LoginThrottle)

    @extend_schema(
        operation_id="login",
        extensions=cli("holdfast login"),
        tags=["account"],
        summary="Get a token for a user name and password",
        description=(
            "The token is shown this once. It expires, and `auth/logout/` or the account page "
            "revokes it. Guesses are limited per account and per address."
        ),
        request=LoginBody,
        responses=responses(
            {200: Login}, "invalid", "malformed", "wrong_credentials", "email_not_verified"
        ),
        auth=[],
    )
    def post(self, request: Request) -> Response:
        user = authenticate(request, **LoginBody.read(request))
        if not isinstance(user, User):
            raise Refused("wrong_credentials")
        # As on the pages.
        if settings.ACCOUNT_EMAIL_VERIFICATION == "mandatory" and not (
            EmailAddress.objects.filter(user=user, verified=True).exists()
        ):
            raise Refused("email_not_verified")
        issued = tokens.issue(user, days=settings.TOKEN_DAYS)
        row = {"token": issued.text, "expiry": issued.expires_at, "username": user.username}
        return Response(Login(row).data)


class LogoutView(View):
    @extend_schema(
        operation_id="logout",
        extensions=cli("holdfast logout"),
        tags=["account"],
        summary="Revoke the token of this request",
        description="The token stops working at once. Other tokens of the account go on.",
        request=None,
        responses=responses({204: None}, "not_authenticated", "csrf_failed", "no_token"),
    )
    def post(self, request: Request) -> Response:
        if not isinstance(request.auth, AuthToken):
            raise Refused("no_token")
        request.auth.delete()
        return Response(status=status.HTTP_204_NO_CONTENT)


class MeView(View):
    @extend_schema(
        operation_id="me",
        extensions=cli("holdfast whoami"),
        tags=["account"],
        summary="See who is signed in",
        description="The account, when this request's token expires, and the account's teams.",
        responses=responses({200: Me}, "not_authenticated"),
    )
    def get(self, request: Request) -> Response:
        user = person(request)
        row = {
            "username": user.username,
            "email": user.email,
            "is_organizer": user.is_organizer,
            "token_expires_at": getattr(request.auth, "expiry", None),
            "teams": queries.my_teams(user),
        }
        return Response(Me(row).data)
