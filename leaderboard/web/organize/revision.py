"""Revising a solution after releases: what it changes and costs, then the order to do it."""

from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.crypto import constant_time_compare, salted_hmac

from leaderboard.access import signed_in
from leaderboard.models import Competition, Rescore
from leaderboard.organize import revisions
from leaderboard.organize.files import content_of
from leaderboard.queries.guarantees import guarantee
from leaderboard.web.organize.frame import reason_against, refusals, show, url_of
from leaderboard.web.organize.solution import in_memory


class RevisionForm(forms.Form):
    """The corrected file, the public reason, and what is scored again.

    `checked` names the file that the preview was of, without its hash being on the page.
    """

    solution = forms.FileField(label="Corrected solution")
    reason = forms.CharField(
        label="Reason",
        max_length=revisions.REASON_LENGTH,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text="Public: it is shown on the board, the rules page and the ledger.",
    )
    rescore = forms.ChoiceField(
        label="Score again", choices=Rescore.choices, initial=Rescore.BEST, widget=forms.RadioSelect
    )
    checked = forms.CharField(required=False, widget=forms.HiddenInput)


@in_memory
def page(request: HttpRequest, competition: Competition) -> HttpResponse:
    """Show the forecast and a preview; then make the revision."""
    round = competition.current_round
    form = RevisionForm(request.POST or None, request.FILES or None)
    context: dict[str, Any] = {"form": form}
    if form.is_valid():
        given = form.cleaned_data
        file, checked = given.pop("solution"), given.pop("checked")
        # What stands for the file on the page.
        content = content_of(file)
        mark = salted_hmac(
            "leaderboard.web.organize.revision", content, algorithm="sha256"
        ).hexdigest()
        wrong = "This file can't be the solution. Nothing was changed."
        with refusals(form, context, "solution", wrong):
            if constant_time_compare(checked, mark):
                made = revisions.revise_solution(round, file, by=signed_in(request), **given)
                count = made.rescored
                again = "1 submission is" if count == 1 else f"{count} submissions are"
                told = f"Version {made.version} of the solution is active. {again} scored again."
                messages.success(request, told)
                return redirect(url_of(competition, "solution"))
            # Another file than the one that was previewed is previewed first.
            context["changes"] = revisions.preview_revision(round, file, by=signed_in(request))
            shown = request.POST.copy()
            shown["checked"] = mark
            form.data = shown
    holdout, now = round.active_holdout, guarantee(round.board)
    context |= {
        "costs": revisions.forecast(round),
        "now": now.text if now else "",
        "refused": reason_against(revisions.check_may_revise, round),
        "holdout": holdout,
        # Teams that have no share left: the revision tells them nothing.
        "exhausted": holdout.team_states.filter(share_left=0).count() if holdout else 0,
    }
    return show(request, competition, "revision", context)
