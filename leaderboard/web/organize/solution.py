"""The page "Solution": the hidden labels go through memory into the vault, and never back."""

from contextlib import suppress
from functools import wraps
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.views.decorators.csrf import csrf_exempt, csrf_protect

from leaderboard import organize
from leaderboard.access import signed_in
from leaderboard.models import Competition, FileRole
from leaderboard.platform.uploads import InMemoryOnly
from leaderboard.queries import expected_file, public_files
from leaderboard.web.organize.frame import View, button, refusals, show, url_of, why_fixed
from scoring.errors import HoldfastError


def in_memory(view: View) -> View:
    """Let a view take uploads into memory only, and check the form's token after that is so.

    The token is in the body, so checking it reads the body: the upload handler has to be set
    before. Hence exempt outside and protected inside, as Django's documentation shows.
    """

    @csrf_exempt
    @wraps(view)
    def wrapper(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        request.upload_handlers = [InMemoryOnly(request)]
        return csrf_protect(view)(request, *args, **kwargs)

    return wrapper


class SolutionForm(forms.Form):
    """The file with the hidden labels."""

    solution = forms.FileField(label="Solution")


@in_memory
def page(request: HttpRequest, competition: Competition) -> HttpResponse:
    """Show what is sealed, as counts; take a solution."""
    round = competition.current_round
    form = SolutionForm(request.POST or None, request.FILES or None)
    fixed = why_fixed(round)
    context: dict[str, Any] = {"form": form, "fixed": fixed, "expected": None}
    if not fixed and form.is_valid():
        wrong = "This file can't be the solution. Nothing was stored."
        with refusals(form, context, "solution", wrong):
            file = form.cleaned_data["solution"]
            holdout = organize.install_solution(round, file, by=signed_in(request))
            # By its counts, which are public.
            described = (
                f"Solution sealed as version {holdout.version}: {holdout.public_rows} Public, "
                f"{holdout.private_rows} Private, {holdout.final_rows} Final, "
                f"{holdout.ignored_rows} Ignored rows."
            )
            effective = holdout.effective_private_rows
            if effective != holdout.private_rows:
                by = "groups" if holdout.designs else "weights"
                described += f" By their {by} the Private rows count as {effective}."
            messages.success(request, described)
            return redirect(url_of(competition, "run"))
    with suppress(HoldfastError):  # what a solution looks like: the sample's header and ids
        context["expected"] = expected_file(round, rows=3)
    context |= {
        "holdout": round.active_holdout,
        "has_sample": public_files(round).filter(role=FileRole.SAMPLE).exists(),
    }
    return show(request, competition, "solution", context)


withdraw = button(
    "solution",
    lambda request, competition: organize.withdraw_solution(
        competition.current_round, by=signed_in(request)
    ),
    told="The solution is withdrawn. You can change the sample, and upload a solution again.",
)
