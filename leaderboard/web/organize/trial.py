"""The page "Trial": files that organizers try in a draft, for owner and editor alone."""

from typing import Any, Final

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect

from leaderboard.access import signed_in, trial_or_404
from leaderboard.models import Competition, Status
from leaderboard.organize import trials
from leaderboard.pipeline import claims
from leaderboard.queries.trials import list_trials
from leaderboard.web.organize.frame import button, refusals, show, url_of
from leaderboard.web.posting import shows_refusals

WAIT_SECONDS: Final = 3


class TrialForm(forms.Form):
    """A prediction file, as participants would send it."""

    file = forms.FileField(label="Prediction file", allow_empty_file=True)
    title = forms.CharField(
        label="Name", required=False, max_length=60, help_text="Empty: the file’s name."
    )
    claimed_score = forms.FloatField(label="Expected score")

    def __init__(self, *args: Any, claims: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not claims:
            del self.fields["claimed_score"]


@shows_refusals
def page(request: HttpRequest, competition: Competition) -> HttpResponse:
    """Show what trials were told, and take a file."""
    round = competition.current_round
    trials.check_sees_trials(round, signed_in(request))
    asks = claims.are_asked_for(round) if round.board.mechanism else False
    form = TrialForm(request.POST or None, request.FILES or None, claims=asks)
    context: dict[str, Any] = {"form": form, "holdout": round.active_holdout}
    status = 422 if request.method == "POST" else 200
    if form.is_valid():
        with refusals(form):
            data = form.cleaned_data
            trials.try_file(
                round,
                data["file"],
                by=signed_in(request),
                title=data["title"],
                claimed=data.get("claimed_score"),
            )
            messages.success(request, "A worker tries the file: that takes a moment.")
            return redirect(url_of(competition, "trial"))
    context["trials"] = list_trials(round, trials.basis_of(round))
    response = show(request, competition, "trial", context)
    response.status_code = status
    if any(each.status == Status.QUEUED for each in context["trials"]) and not request.POST:
        response.headers["Refresh"] = str(WAIT_SECONDS)
    return response


def mark(request: HttpRequest, competition: Competition, *, trial_id: int) -> HttpResponseBase:
    """Make a trial a baseline, or not any more."""
    trial = trial_or_404(competition, trial_id)
    view = button(
        "trial",
        lambda request, _: trials.mark_baseline(
            trial, by=signed_in(request), is_baseline="baseline" in request.POST
        ),
        told="Saved.",
    )
    return view(request, competition)


def remove(request: HttpRequest, competition: Competition, *, trial_id: int) -> HttpResponseBase:
    """Forget a trial."""
    trial = trial_or_404(competition, trial_id)
    view = button(
        "trial",
        lambda request, _: trials.remove_trial(trial, by=signed_in(request)),
        told="The trial is removed.",
    )
    return view(request, competition)
