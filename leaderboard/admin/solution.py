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
from leaderboard.admin.steps import is_draft, say, sent_from, show, url_of, warn, why_fixed
from leaderboard.errors import Refused
from leaderboard.models import Competition, FileRole, Holdout
from leaderboard.queries import expected_file, holdout_in_force
from scoring.errors import HoldfastError, ParameterError, SolutionError
from scoring.predictions import Preview

if TYPE_CHECKING:
    from leaderboard.admin.competition import CompetitionAdmin


class InMemoryOnly(MemoryFileUploadHandler):
    """Keeps an upload in memory whatever its size: plain labels never touch a disk.

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
    """Shows what is sealed, as counts; takes a solution."""
    request.upload_handlers = [InMemoryOnly(request)]
    return _protected(request, competition, owner)


@csrf_protect
def _protected(
    request: HttpRequest, competition: Competition, owner: CompetitionAdmin
) -> HttpResponse:
    form, error = SolutionForm(), None
    if request.method == "POST" and is_draft(competition):
        form = SolutionForm(request.POST, request.FILES)
        if form.is_valid():
            try:
                holdout = _install(request, competition, form)
            except SolutionError as wrong:
                form.add_error("solution", "This file can't be the solution. Nothing was stored.")
                error = wrong
            except ParameterError as wrong_metric:
                form.add_error("solution", wrong_metric.message)
            except (Refused, HoldfastError) as refused:
                form.add_error("solution", str(refused))
            else:
                owner.log_change(request, competition, _said(holdout))
                say(request, _said(holdout))
                return redirect(url_of(competition, "opening"))
    context = {
        "form": form,
        "problems": error.problems if error else (),
        "problem_count": error.total if error else 0,
        "holdout": holdout_in_force(competition),
        "has_sample": competition.files.filter(role=FileRole.SAMPLE).exists(),
        "expected": _expected(competition),
        "fixed": why_fixed(competition),
    }
    return show(request, owner, competition, "solution", context)


@sent_from("solution")
def withdraw(
    request: HttpRequest, competition: Competition, owner: CompetitionAdmin
) -> HttpResponse:
    """Takes the sealed solution out of force, in a draft."""
    try:
        organize.withdraw_solution(competition)
    except Refused as refused:
        warn(request, str(refused))
    else:
        owner.log_change(request, competition, "Solution withdrawn.")
        say(request, "The solution is withdrawn. You can change the sample and upload it again.")
    return redirect(url_of(competition, "solution"))


def _install(request: HttpRequest, competition: Competition, form: SolutionForm) -> Holdout:
    user = request.user
    file = form.cleaned_data["solution"]
    return organize.install_solution(competition, file, by=user if user.is_authenticated else None)


def _said(holdout: Holdout) -> str:
    """Counts only: they are public."""
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


def _expected(competition: Competition) -> Preview | None:
    """The sample's header and ids, to show what a solution looks like."""
    if not competition.schema:
        return None
    try:
        return expected_file(competition, rows=3)
    except HoldfastError:
        return None
