"""Choosing what the team enters for the final scores."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from leaderboard import queries
from leaderboard.access import signed_in, submission_or_404
from leaderboard.errors import Refused
from leaderboard.participate import selection
from leaderboard.web.page import load
from leaderboard.web.posting import sent_from
from leaderboard.web.views.submissions import submissions_page
from leaderboard.words import entered


@sent_from("submissions", "slug", anchor="#finals")
def choose(request: HttpRequest, slug: str) -> HttpResponse:
    """Enter the ticked submissions and no others."""
    page = load(request, slug, "submissions")
    if page.team is None:
        raise Refused("not_a_member")
    numbers = set[int]()
    try:
        numbers |= {_number(text) for text in request.POST.getlist("numbers")}
        selection.select(team=page.team, user=signed_in(request), numbers=numbers)
    except Refused as refused:
        return submissions_page(request, page, page.team, refused, numbers)
    messages.success(request, entered(queries.choice(page.team)))
    return redirect("submissions", slug)


@sent_from("submission", "slug", "number")
def enter_one(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """Enter one submission, or take it out."""
    page = load(request, slug, "submissions")
    team = submission_or_404(page.team, number).team
    change = selection.withdraw if "out" in request.POST else selection.enter
    try:
        change(team=team, user=signed_in(request), number=number)
    except Refused as refused:
        messages.warning(request, refused.detail)
    else:
        messages.success(request, entered(queries.choice(team)))
    return redirect("submission", slug, number)


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 9):
        raise Refused("invalid", field="numbers", variant="not_a_number")
    return int(text)
