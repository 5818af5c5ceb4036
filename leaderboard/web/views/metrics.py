"""/metrics: for the operators' Prometheus, and for nobody else there is no such page."""

from ipaddress import ip_address

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.utils.crypto import constant_time_compare
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt

FORWARDED = ("Forwarded", "X-Forwarded-For", "X-Real-IP", "Via")


@csrf_exempt  # who may not ask finds nothing here, whatever they send
@never_cache
def metrics(request: HttpRequest) -> HttpResponse:
    """Show the figures for Prometheus."""
    if not _may_scrape(request):
        raise Http404
    if request.method not in ("GET", "HEAD"):
        return HttpResponseNotAllowed(["GET", "HEAD"])
    # Only the process that is asked loads what writes the format.
    from leaderboard.operate.monitoring import exposition

    content, content_type = exposition(request.headers.get("Accept", ""))
    return HttpResponse(content, content_type=content_type)


def _may_scrape(request: HttpRequest) -> bool:
    """Return whether the token came along; without one set, whether this machine itself asks."""
    if settings.METRICS_TOKEN:
        given = request.headers.get("Authorization", "")
        return constant_time_compare(given, f"Bearer {settings.METRICS_TOKEN}")
    if settings.BEHIND_PROXY or any(name in request.headers for name in FORWARDED):
        return False
    try:
        return ip_address(request.META.get("REMOTE_ADDR", "")).is_loopback
    except ValueError:
        return False
