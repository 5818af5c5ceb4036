"""The API's own description: index, OpenAPI schema, readable docs, the list of problems."""

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe
from drf_spectacular.renderers import (
    OpenApiJsonRenderer,
    OpenApiJsonRenderer2,
    OpenApiYamlRenderer,
    OpenApiYamlRenderer2,
)
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from leaderboard.api import docs
from leaderboard.api.base import PublicView
from leaderboard.refusals import PROBLEMS


@require_safe
def index(request: HttpRequest) -> HttpResponse:
    """Return where to go from here: a person to the docs, a program to the addresses."""
    kinds = ["application/json", "text/html"]
    if request.get_preferred_type(kinds) == "text/html":
        return HttpResponseRedirect(reverse("api-docs"))
    names = ("docs", "schema", "problems", "me", "competitions")
    links = {name: request.build_absolute_uri(reverse(f"api-{name}")) for name in names}
    return JsonResponse(links)


@require_safe
def docs_page(request: HttpRequest) -> HttpResponse:
    """Return the schema for people."""
    context = {"reference": docs.reference(), "operations": docs.operations()}
    return render(request, "api/docs.html", context)


@require_safe
def problems_page(request: HttpRequest) -> HttpResponse:
    """Return every code that a problem document may have; its `type` points here."""
    return render(request, "api/problems.html", {"problems": PROBLEMS})


class SchemaView(PublicView):
    """OpenAPI 3, as JSON or YAML."""

    renderer_classes = (
        OpenApiJsonRenderer2,
        OpenApiJsonRenderer,
        OpenApiYamlRenderer,
        OpenApiYamlRenderer2,
    )

    @extend_schema(exclude=True)
    def get(self, request: Request) -> Response:
        return Response(docs.schema())


@extend_schema(exclude=True)
class NoSuchPage(PublicView):
    """Whatever has no operation: a problem document like any other."""

    throttle_classes = ()

    def initial(self, request: Request, *args: object, **kwargs: object) -> None:
        hint = "" if request.path.endswith("/") else " The API's addresses end with a slash."
        raise Http404(f"The API has nothing at {request.path}.{hint}")
