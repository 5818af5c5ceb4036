"""Signing in by password, out again, and who is signed in."""

from allauth.account.models import EmailAddress
from django.conf import settings
from django.contrib.auth import authenticate
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from knox.models import AuthToken
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response

from leaderboard import queries
from leaderboard.api.base import PublicView, View, bound_to, person
from leaderboard.api.schema import cli, responses
from leaderboard.api.serializers.account import Login, LoginBody, Me
from leaderboard.api.throttles import LoginAddressThrottle, LoginThrottle
from leaderboard.errors import Refused
from leaderboard.models import Scope, User
from leaderboard.participate import codes, second_factors, tokens
from leaderboard.participate.quotas import token_left


class TokenView(View):
    """An operation that is about the token itself, whatever that was made for."""

    @staticmethod
    def needed_scope(method: str | None) -> Scope | None:
        return None


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
            "revokes it. It may do what its `scopes` say: `read` and `submit` unless you choose. "
            "Bound to a `competition`, it reads that and submits to it, and nothing else. "
            "An account with a second factor also needs a `code`. "
            "Guesses are limited per account and per address."
        ),
        request=LoginBody,
        responses=responses(
            {200: Login},
            *("invalid", "malformed", "wrong_credentials", "email_not_verified"),
            *("second_factor_required", "wrong_code"),
            any_scope=True,
        ),
        auth=[],
    )
    def post(self, request: Request) -> Response:
        body = LoginBody.read(request)
        code = body.pop("code", "")
        wished = {name: body.pop(name) for name in ("scopes", "name") if name in body}
        days = body.pop("days", settings.TOKEN_DAYS)
        names = ("competition", "campaign", "quota")
        binding = tokens.Binding(**{name: body.pop(name) for name in names if name in body})
        user = authenticate(request, **body)
        if not isinstance(user, User):
            raise Refused("wrong_credentials")
        # As on the pages.
        if settings.ACCOUNT_EMAIL_VERIFICATION == "mandatory" and not (
            EmailAddress.objects.filter(user=user, verified=True).exists()
        ):
            raise Refused("email_not_verified")
        if second_factors.count(user):
            if not code:
                has_code = codes.has_app_or_codes(user)
                raise Refused("second_factor_required", variant=None if has_code else "passkey")
            codes.check_code(user, code)
        issued = tokens.issue(user, days=days, binding=binding, **wished)
        row = {
            "token": issued.text,
            "expiry": issued.expires_at,
            "username": user.username,
            "scopes": issued.scopes,
        }
        return Response(Login(row).data)


class LogoutView(TokenView):
    @extend_schema(
        operation_id="logout",
        extensions=cli("holdfast logout"),
        tags=["account"],
        summary="Revoke the token of this request",
        description="The token stops working at once. Other tokens of the account go on.",
        request=None,
        responses=responses(
            {204: None}, "not_authenticated", "csrf_failed", "no_token", any_scope=True
        ),
    )
    def post(self, request: Request) -> Response:
        if not isinstance(request.auth, AuthToken):
            raise Refused("no_token")
        request.auth.delete()
        return Response(status=status.HTTP_204_NO_CONTENT)


class MeView(TokenView):
    @extend_schema(
        operation_id="me",
        extensions=cli("holdfast whoami"),
        tags=["account"],
        summary="See who is signed in",
        description=(
            "The account and its teams, and what this request's token may do and until when. A "
            "token that is bound to a competition sees your team in that one alone."
        ),
        responses=responses({200: Me}, "not_authenticated", any_scope=True),
    )
    def get(self, request: Request) -> Response:
        user = person(request)
        token = request.auth if isinstance(request.auth, AuthToken) else None
        grant = tokens.grant_of(token) if token else None
        bound = bound_to(request)
        row = {
            "username": user.username,
            "email": user.email,
            "is_organizer": user.is_organizer,
            "token_expires_at": token.expiry if token else None,
            "token_name": grant.name if grant else None,
            "token_scopes": grant.scopes if grant else None,
            "token_competition": bound.slug if bound else None,
            "token_campaign": grant.campaign.name if grant and grant.campaign else None,
            "token_quota": grant.quota if grant else None,
            "token_quota_left": token_left(grant),
            "teams": [team for team in queries.my_teams(user) if bound in (None, team.competition)],
        }
        return Response(Me(row).data)


class ExportView(View):
    @extend_schema(
        operation_id="export_me",
        tags=["account"],
        summary="Get all that is stored about you",
        description=(
            "One JSON document: account, addresses, sessions, tokens, teams, submissions with "
            "their answers, roles, and what you did. Files are named, not included. Deleting the "
            "account is done on its page, where one proves to be its owner."
        ),
        responses=responses({200: OpenApiTypes.OBJECT}, "not_authenticated"),
    )
    def get(self, request: Request) -> Response:
        return Response(queries.account_data(person(request)))
