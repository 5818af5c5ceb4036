"""The step "Solution": the hidden labels go through memory into the vault, and never back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms
from django.core.files.uploadhandler import MemoryFileUploadHandler
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.csrf import csrf_exempt, csrf_protect
from django.views.decorators.http import require_http_methods

from leaderboard import organize
from leaderboard.admin.scope import signed_in
from leaderboard.admin.steps import is_draft, say, sent_from, show, url_of, warn, why_fixed
from leaderboard.errors import Refused
from leaderboard.models import Competition, FileRole, Holdout, Round
from leaderboard.queries import expected_file, public_files
from scoring.errors import HoldfastError, ParameterError, SolutionError
from scoring.predictions import Preview

if TYPE_CHECKING:
    from leaderboard.admin.competition import CompetitionAdmin


class InMemoryOnly(MemoryFileUploadHandler):
    """Keep an upload in memory whatever its size: plain labels never touch a disk.

    The size is bounded by the limit of all uploads, which is checked before the body is read.
    """

    def handle_raw_input(
        self,
        input_data: Any,
        META: Any,  # noqa: N803  (Django's name)
        content_length: int,
        boundary: Any,
        encoding: str | None = None,
    ) -> None:
        self.activated = True


class SolutionForm(forms.Form):
    """The file with the hidden labels."""

    solution = forms.FileField(label="Solution")


# The form's token is in the body, so checking it reads the body: the upload handler has to be set
# before that. Hence exempt outside and protected inside, as Django's documentation shows.
@csrf_exempt
@require_http_methods(["GET", "HEAD", "POST"])
def page(request: HttpRequest, competition: Competition, owner: CompetitionAdmin) -> HttpResponse:
    """Show what is sealed, as counts; take a solution."""
    request.upload_handlers = [InMemoryOnly(request)]
    return _protected(request, competition, owner)


@csrf_protect
def _protected(
    request: HttpRequest, competition: Competition, owner: CompetitionAdmin
) -> HttpResponse:
    round = competition.current_round
    form, error = SolutionForm(), None
    if request.method == "POST" and is_draft(competition):
        form = SolutionForm(request.POST, request.FILES)
        if form.is_valid():
            try:
                file = form.cleaned_data["solution"]
                holdout = organize.install_solution(round, file, by=signed_in(request))
            except SolutionError as wrong:
                form.add_error("solution", "This file can't be the solution. Nothing was stored.")
                error = wrong
            except ParameterError as wrong_metric:
                form.add_error("solution", wrong_metric.message)
            except (Refused, HoldfastError) as refused:
                form.add_error("solution", str(refused))
            else:
                owner.log_change(request, competition, _describe(holdout))
                say(request, _describe(holdout))
                return redirect(url_of(competition, "opening"))
    context = {
        "form": form,
        "problems": error.problems if error else (),
        "problem_count": error.total if error else 0,
        "holdout": round.active_holdout,
        "has_sample": public_files(round).filter(role=FileRole.SAMPLE).exists(),
        "expected": _preview(round),
        "fixed": why_fixed(round),
    }
    return show(request, owner, competition, "solution", context)


@sent_from("solution")
def withdraw(
    request: HttpRequest, competition: Competition, owner: CompetitionAdmin
) -> HttpResponse:
    """Retire the sealed solution, in a draft."""
    try:
        organize.withdraw_solution(competition.current_round)
    except Refused as refused:
        warn(request, str(refused))
    else:
        owner.log_change(request, competition, "Solution withdrawn.")
        say(request, "The solution is withdrawn. You can change the sample and upload it again.")
    return redirect(url_of(competition, "solution"))


def _describe(holdout: Holdout) -> str:
    """Describe what was sealed by its counts, which are public."""
    effective = holdout.effective_private_rows
    weighted = (
        f" By their weights the Private rows count as {effective}."
        if effective != holdout.private_rows
        else ""
    )
    return (
        f"Solution sealed as version {holdout.version}: {holdout.public_rows} Public, "
        f"{holdout.private_rows} Private, {holdout.final_rows} Final, "
        f"{holdout.ignored_rows} Ignored rows.{weighted}"
    )


def _preview(round: Round) -> Preview | None:
    """Return the sample's header and ids, to show what a solution looks like."""
    try:
        return expected_file(round, rows=3)
    except HoldfastError:
        return None
