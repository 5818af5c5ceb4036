"""Correcting a solution after releases: what it changes and costs, then the word to do it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.crypto import constant_time_compare, salted_hmac
from django.views.decorators.csrf import csrf_exempt, csrf_protect
from django.views.decorators.http import require_http_methods

from leaderboard import organize
from leaderboard.admin import budget
from leaderboard.admin.solution import InMemoryOnly
from leaderboard.admin.steps import say, show, url_of
from leaderboard.errors import Refused
from leaderboard.models import Competition, Holdout, Rescore
from leaderboard.organize import revisions
from leaderboard.pipeline.release import ledger_head
from leaderboard.queries import holdout_in_force
from scoring import mechanisms
from scoring.errors import HoldfastError, ParameterError, SolutionError
from scoring.guarantees.ledger import answers_of_most_histories
from scoring.mechanisms import base, books

if TYPE_CHECKING:
    from leaderboard.admin.competition import CompetitionAdmin

_SALT = "leaderboard.admin.correction"


class CorrectionForm(forms.Form):
    """The mended file, the public reason, and what is scored again.

    `checked` says which file the preview was of, without telling its hash to the page.
    """

    solution = forms.FileField(label="Mended solution")
    reason = forms.CharField(
        label="Reason",
        max_length=revisions.REASON_LENGTH,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text="Everyone reads it on the board, the rules page and the ledger.",
    )
    rescore = forms.ChoiceField(
        label="Score again", choices=Rescore.choices, initial=Rescore.BEST, widget=forms.RadioSelect
    )
    checked = forms.CharField(required=False, widget=forms.HiddenInput)


@dataclass(frozen=True)
class Cost:
    """What scoring so many files again would do: each is a counted question.

    `now` and `then` are the certificates of the next question, as a loss; None: no certificate.
    `then` is if the answers widen it as much as they can.
    """

    choice: str
    files: int
    now: float | None
    then: float | None


@dataclass(frozen=True)
class Change:
    """How many rows of a usage there were and will be."""

    usage: str
    before: int
    after: int


# As on the page “Solution”: the upload handler has to be set before the token is checked.
@csrf_exempt
@require_http_methods(["GET", "HEAD", "POST"])
def page(request: HttpRequest, competition: Competition, owner: CompetitionAdmin) -> HttpResponse:
    """Forecast, preview, and the correction itself."""
    request.upload_handlers = [InMemoryOnly(request)]
    return _protected(request, competition, owner)


@csrf_protect
def _protected(
    request: HttpRequest, competition: Competition, owner: CompetitionAdmin
) -> HttpResponse:
    form, changes = CorrectionForm(), list[Change]()
    error: SolutionError | None = None
    if request.method == "POST":
        form = CorrectionForm(request.POST, request.FILES)
        if form.is_valid():
            try:
                if _is_confirmed(form):
                    return _correct(request, competition, owner, form)
                changes = _preview(competition, form)
                shown = request.POST.copy()
                shown["checked"] = _mark(form)
                form.data = shown
            except SolutionError as wrong:
                form.add_error("solution", "This file can't be the solution. Nothing was changed.")
                error = wrong
            except ParameterError as wrong_metric:
                form.add_error("solution", wrong_metric.message)
            except Refused as refused:
                _blame(form, refused)
            except HoldfastError as other:
                form.add_error("solution", str(other))
    context = {
        "form": form,
        "changes": changes,
        "problems": error.problems if error else (),
        "problem_count": error.total if error else 0,
        "refused": _refused(competition),
        "holdout": holdout_in_force(competition),
        "costs": costs(competition),
        "exhausted": _exhausted(competition),
    }
    return show(request, owner, competition, "solution_correction", context)


def costs(competition: Competition) -> list[Cost]:
    """What each choice would cost; empty without a ledger."""
    holdout = holdout_in_force(competition)
    if holdout is None or not hasattr(holdout, "state"):
        return []
    head = ledger_head(holdout.state)
    parameters = mechanisms.get(competition.mechanism).parse(competition.mechanism_parameters)
    now = budget.forecast(competition, holdout, head)
    found = list[Cost]()
    for choice in Rescore:
        files = revisions.to_score_again(competition, choice).count()
        then = budget.forecast(competition, holdout, _after(head, files, parameters.alphabet))
        found.append(
            Cost(choice.label, files, now.width if now else None, then.width if then else None)
        )
    return found


def _after(head: base.HoldoutState, files: int, alphabet: int) -> base.HoldoutState:
    """The ledger after so many more answers, of those that widen the next certificate the most."""
    carried = books.carry_on(head)
    asked = carried.asked + files
    widest = answers_of_most_histories(asked + 1, alphabet) - carried.answered
    yeses = min(max(widest, 0), files)
    return replace(
        carried,
        asked=asked,
        answered=carried.answered + yeses,
        log_alphabets=carried.log_alphabets + yeses * math.log(alphabet),
    )


def _is_confirmed(form: CorrectionForm) -> bool:
    """Whether this file was previewed; another one than that is previewed first."""
    return constant_time_compare(form.cleaned_data["checked"], _mark(form))


def _mark(form: CorrectionForm) -> str:
    file = form.cleaned_data["solution"]
    file.seek(0)
    mark = salted_hmac(_SALT, file.read(), algorithm="sha256").hexdigest()
    file.seek(0)
    return mark


def _preview(competition: Competition, form: CorrectionForm) -> list[Change]:
    """Checks the file as the correction would, and keeps nothing of it."""
    revisions.check_may_correct(competition)
    counts = organize.check_solution(competition, form.cleaned_data["solution"]).solution.counts()
    holdout = competition.holdouts.get(retired_at__isnull=True)
    return [
        Change("Public", holdout.public_rows, counts.public),
        Change("Private", holdout.private_rows, counts.private),
        Change("Final", holdout.final_rows, counts.final),
        Change("Ignored", holdout.ignored_rows, counts.ignored),
    ]


def _correct(
    request: HttpRequest, competition: Competition, owner: CompetitionAdmin, form: CorrectionForm
) -> HttpResponse:
    user = request.user
    holdout = revisions.correct_solution(
        competition,
        form.cleaned_data["solution"],
        by=user if user.is_authenticated else None,
        reason=form.cleaned_data["reason"],
        rescore=form.cleaned_data["rescore"],
    )
    owner.log_change(request, competition, f"Solution corrected: version {holdout.version}.")
    say(request, _said(holdout))
    return redirect(url_of(competition, "solution"))


def _said(holdout: Holdout) -> str:
    again = "1 submission is" if holdout.rescored == 1 else f"{holdout.rescored} submissions are"
    return f"Version {holdout.version} of the solution is in force. {again} scored again."


def _blame(form: CorrectionForm, refused: Refused) -> None:
    for name, message in refused.fields.items():
        form.add_error(name if name in form.fields else None, message)
    if not refused.fields:
        form.add_error(None, str(refused))


def _refused(competition: Competition) -> str:
    """Why nothing can be corrected now; empty if it can."""
    try:
        revisions.check_may_correct(competition)
    except Refused as refused:
        return str(refused)
    return ""


def _exhausted(competition: Competition) -> int:
    """How many teams have no share left: the new version tells them nothing."""
    holdout = holdout_in_force(competition)
    return holdout.team_states.filter(share_left=0).count() if holdout else 0
