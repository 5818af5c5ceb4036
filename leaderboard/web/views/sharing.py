"""What other sites, search engines and readers of links ask for."""

from datetime import UTC, datetime, time, timedelta

from csp.decorators import csp_replace
from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.templatetags.static import static
from django.urls import reverse
from django.utils import timezone
from django.utils.cache import patch_cache_control
from django.views.decorators.clickjacking import xframe_options_exempt
from django.views.decorators.http import conditional_page, require_safe

from leaderboard.access import visible_competitions
from leaderboard.web import picture
from leaderboard.web.summary import summarize

EMBEDDED_ROWS = 10
FRESH_SECONDS = 60
_BADGE_LETTER = 6.6  # pixels that a letter of it takes


@require_safe
@conditional_page
def board_picture(request: HttpRequest, slug: str) -> HttpResponse:
    """Send the picture that links to the board show elsewhere."""
    drawn = picture.draw(summarize(slug, picture.ROWS))
    return _public(HttpResponse(drawn, content_type="image/png"))


@require_safe
@conditional_page
def badge(request: HttpRequest, slug: str) -> HttpResponse:
    """Send the leading score, and how sure it is, as a badge for a README."""
    said = summarize(slug, 1).badge
    left, right = (10 + _BADGE_LETTER * len(text) for text in ("Holdfast", said))
    context = {
        "said": said,
        "widths": {"left": left, "right": right, "whole": left + right},
        "middles": {"left": left / 2, "right": left + right / 2},
    }
    shown = render(request, "sharing/badge.svg", context, content_type="image/svg+xml")
    return _public(shown)


@require_safe
@xframe_options_exempt
@csp_replace({"frame-ancestors": ["*"]})  # type: ignore[arg-type]  # it passes all arguments on
@conditional_page
def embed(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the first rows of the board, to stand in a frame of another site."""
    return _public(
        render(request, "sharing/embed.html", {"summary": summarize(slug, EMBEDDED_ROWS)})
    )


def _public(response: HttpResponse) -> HttpResponse:
    patch_cache_control(response, public=True, max_age=FRESH_SECONDS)
    return response


@require_safe
def favicon(request: HttpRequest) -> HttpResponse:
    """Lead to the icon, for what asks for it by its old name."""
    return redirect(static("img/favicon.ico"))


@require_safe
def robots(request: HttpRequest) -> HttpResponse:
    """Tell search engines what to leave alone, and where the list of pages is."""
    context = {"sitemap": settings.SITE_URL + reverse("sitemap")}
    return render(request, "sharing/robots.txt", context, content_type="text/plain; charset=utf-8")


@require_safe
def security(request: HttpRequest) -> HttpResponse:
    """Say whom to tell of a weakness (RFC 9116), where the operator has said so."""
    if not settings.SECURITY_CONTACT:
        raise Http404("This site names no contact.")
    day = datetime.combine(timezone.now() + timedelta(days=180), time(), UTC)
    context = {
        "contacts": settings.SECURITY_CONTACT,
        "expires": f"{day:%Y-%m-%dT%H:%M:%SZ}",
        "canonical": settings.SITE_URL + request.path,
    }
    return render(
        request, "sharing/security.txt", context, content_type="text/plain; charset=utf-8"
    )


@require_safe
def site_map(request: HttpRequest) -> HttpResponse:
    """List the pages that everybody may read."""
    competitions = visible_competitions(AnonymousUser()).order_by("slug")
    context = {
        "slugs": competitions.values_list("slug", flat=True),
        "names": ("competition", "data", "rules", "leaderboard"),
    }
    return render(request, "sharing/sitemap.xml", context, content_type="application/xml")
