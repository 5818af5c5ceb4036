"""/healthz: this process answers. /readyz: it can serve, with the state of each part."""

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from leaderboard.platform.health import is_ready, readiness


@require_safe
@never_cache
def healthz(request: HttpRequest) -> HttpResponse:
    """Answer that this process lives."""
    return HttpResponse("ok\n", content_type="text/plain")


@require_safe
@never_cache
def readyz(request: HttpRequest) -> HttpResponse:
    """Answer whether this process can serve, and what is away."""
    states = readiness()
    return JsonResponse(states, status=200 if is_ready(states) else 503)
