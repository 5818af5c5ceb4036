"""Participants' pages of a draft, as a participant will see them; nothing can be sent from them."""

import copy
from typing import Final

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.loader import render_to_string
from django.urls import resolve, reverse

from leaderboard.access import signed_in
from leaderboard.errors import Refused
from leaderboard.models import Competition
from leaderboard.organize.preview import as_participant
from leaderboard.web.organize.frame import is_draft, url_of

_PAGES: Final = ("competition", "data", "rules", "leaderboard", "submit")


def page(request: HttpRequest, competition: Competition, *, tab: str) -> HttpResponse:
    """Show one of the participants' pages, under a banner."""
    if tab not in _PAGES:
        raise Http404("There is no such page.")
    if request.method == "POST":
        messages.warning(request, "This is a preview: nothing can be sent from it.")
        return redirect("organize-participant", competition.slug, tab)
    if not is_draft(competition):
        return redirect(tab, competition.slug)
    try:
        with as_participant(competition, by=signed_in(request)) as visitor:
            shown = copy.copy(request)
            shown.user, shown.path = visitor, reverse(tab, args=[competition.slug])
            shown.path_info = shown.path
            found = resolve(shown.path)
            response: HttpResponse = found.func(shown, *found.args, **found.kwargs)
    except Refused as refused:
        messages.warning(request, f"The pages can be shown once the draft could open. {refused}")
        return redirect(url_of(competition, "run"))
    return HttpResponse(_under_a_banner(response.content.decode(), competition))


def _under_a_banner(html: str, competition: Competition) -> str:
    """Lead links between these pages to their previews, forms nowhere, and put a banner on top."""
    for name in sorted(_PAGES, key=lambda each: -len(reverse(each, args=[competition.slug]))):
        real = reverse(name, args=[competition.slug])
        preview = reverse("organize-participant", args=[competition.slug, name])
        html = html.replace(f'href="{real}"', f'href="{preview}"')
        html = html.replace(f'href="{real}#', f'href="{preview}#')
    html = html.replace(f'action="{reverse("competition", args=[competition.slug])}', 'action="#')
    banner = render_to_string("organize/parts/banner.html", {"competition": competition})
    start, body, rest = html.partition("<body")
    tag, _, inside = rest.partition(">")
    return f"{start}{body}{tag}>{banner}{inside}"
