"""What the OpenAPI schema says beside the views' own words."""

from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import (
    OpenApiExample,
    OpenApiParameter,
    OpenApiResponse,
    inline_serializer,
)
from rest_framework import serializers

from leaderboard.errors import PROBLEM_TYPE, Refused
from leaderboard.models import Scope
from leaderboard.refusals import PROBLEMS

Json = dict[str, Any]
CLI = "x-holdfast-cli"
SCOPE = "x-holdfast-scope"
ANYWHERE = (
    *("scope_missing", "token_bound", "second_factor_missing"),
    *("throttled", "internal_error", "unavailable"),
)
PROBLEM = inline_serializer(
    name="ProblemDocument",
    fields={
        "type": serializers.CharField(help_text="Where this kind of problem is explained."),
        "title": serializers.CharField(),
        "status": serializers.IntegerField(),
        "detail": serializers.CharField(help_text="What happened and what can be done."),
        "code": serializers.CharField(help_text="Stable; made for programs."),
        "errors": serializers.ListField(
            child=serializers.DictField(), required=False, help_text="Single problems."
        ),
        "total": serializers.IntegerField(required=False, help_text="How many there are."),
    },
)
# Problems that operations share: those on what was opened, of members, and those that write.
OPENED = ("competition_not_open", "not_found")
MEMBERS = ("not_authenticated", "not_a_member", *OPENED)
WRITES = ("invalid", "malformed", "not_authenticated", "csrf_failed")
DOWNLOAD = {
    (status, "application/octet-stream"): OpenApiTypes.BINARY
    for status in (HTTPStatus.OK, HTTPStatus.PARTIAL_CONTENT)
}
RANGE = OpenApiParameter("Range", str, OpenApiParameter.HEADER, description="bytes=FIRST-")
Extension: Any = OpenApiAuthenticationExtension  # it has no types


class TokenScheme(Extension):  # type: ignore[misc]  # its base is untyped
    """How the schema names our tokens."""

    target_class = "leaderboard.api.authentication.TokenAuthentication"
    name = "token"

    def get_security_definition(self, auto_schema: Any) -> Json:
        return {
            "type": "apiKey",
            "in": "header",
            "name": "Authorization",
            "description": (
                "`Token ` (or `Bearer `) and a token from your account page or from `auth/login/`."
            ),
        }


class Schema(AutoSchema):
    """An operation's description, with the scope that a token needs for it."""

    def get_operation(self, *args: Any) -> Any:
        operation = super().get_operation(*args)
        view: Any = self.view
        needed: Scope | None = view.needed_scope(self.method)
        if operation and needed is not None:
            operation[SCOPE] = needed.value
        return operation


PATH_PARAMETERS = {
    "gate": "The name of a gate that is not retired.",
    "slug": "The competition's short name.",
    "name": "The file's name.",
    "campaign": "The name of your team's campaign.",
    "number": "Its number; a submission's counts within your team.",
    "uid": "Its permanent id.",
    "trial_id": "Its id.",
    "username": "The person's user name.",
}


def describe_paths(result: Json, **_: Any) -> Json:
    """Describe each part of an address (a hook of drf-spectacular)."""
    for methods in result["paths"].values():
        for operation in methods.values():
            for parameter in operation.get("parameters", ()):
                if parameter["in"] == "path":
                    parameter["description"] = PATH_PARAMETERS[parameter["name"]]
    return result


def responses(success: dict[Any, Any], *codes: str, any_scope: bool = False) -> dict[Any, Any]:
    """Return the responses of an operation: its success, and the problems with these codes.

    any_scope: any token will do.
    """
    answers: dict[Any, Any] = dict(success)
    by_status: dict[int, list[str]] = {}
    anywhere = ANYWHERE[2:] if any_scope else ANYWHERE
    for code in dict.fromkeys((*codes, *anywhere)):
        by_status.setdefault(PROBLEMS[code].status, []).append(code)
    for status, group in sorted(by_status.items()):
        answers[status, PROBLEM_TYPE] = OpenApiResponse(
            PROBLEM,
            description=" · ".join(f"`{code}`" for code in group),
            examples=[
                OpenApiExample(
                    PROBLEMS[code].title,
                    value=Refused(code, message=PROBLEMS[code].meaning).problem(),
                    response_only=True,
                    media_type=PROBLEM_TYPE,
                )
                for code in group
            ],
        )
    return answers


def format_of(name: str) -> OpenApiParameter:
    """Return the parameter that asks for the whole in another format."""
    return OpenApiParameter("format", enum=["json", name], description="json if left out.")


def cli(command: str) -> dict[str, str]:
    """Return what does the same on the command line, for the docs."""
    return {CLI: command}


def pages_of(item: Callable[..., Any], name: str, **extra: Any) -> Any:
    """Return the serializer of a page of these items."""
    page = inline_serializer(
        name=f"{name}Page",
        fields={
            "count": serializers.IntegerField(help_text="Rows on all pages."),
            "page": serializers.IntegerField(),
            "pages": serializers.IntegerField(),
            "page_size": serializers.IntegerField(),
            "next": serializers.URLField(allow_null=True),
            "previous": serializers.URLField(allow_null=True),
            **extra,
            "results": item(many=True),
        },
    )
    # An instance would keep its fields, with what they said of the mechanisms that were registered.
    return type(page)
