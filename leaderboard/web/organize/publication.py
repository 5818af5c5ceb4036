"""After the end: the organizer's order to publish solution and secret, which can't be undone."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from leaderboard import queries
from leaderboard.access import signed_in
from leaderboard.models import Competition
from leaderboard.pipeline.publish import check_may_publish, publish
from leaderboard.web.organize.confirmed import ConfirmedForm
from leaderboard.web.organize.frame import reason_against, refusals, show, url_of


def page(request: HttpRequest, competition: Competition) -> HttpResponse:
    """Show what becomes public; publish it at the organizer's word."""
    round = competition.current_round
    form = ConfirmedForm(competition, request.POST or None)
    if form.is_valid():
        with refusals(form):
            publish(round, by=signed_in(request))
            told = "Workers are writing the files. They will appear on the ledger page."
            messages.success(request, told)
            return redirect(url_of(competition, "publication"))
    context = {
        "form": form,
        "missing": reason_against(check_may_publish, round),
        "publications": queries.publications(round),
    }
    return show(request, competition, "publication", context)
