"""Revising a solution after releases: what it changes and costs, then the word to do it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.crypto import constant_time_compare, salted_hmac
from django.views.decorators.csrf import csrf_exempt, csrf_protect
from django.views.decorators.http import require_http_methods

from leaderboard import organize
from leaderboard.admin.scope import signed_in
from leaderboard.admin.solution import InMemoryOnly
from leaderboard.admin.steps import say, show, url_of
from leaderboard.errors import Refused
from leaderboard.models import Competition, Holdout, Rescore, Round
from leaderboard.organize import revisions
from leaderboard.queries.previews import board_head, forecast, forecast_after
from scoring.errors import HoldfastError, ParameterError, SolutionError

if TYPE_CHECKING:
    from leaderboard.admin.competition import CompetitionAdmin

_SALT = "leaderboard.admin.revision"


class RevisionForm(forms.Form):
    """The fixed file, the public reason, and what is scored again.

    `checked` names the file that the preview was of, without its hash being on the page.
    """

    solution = forms.FileField(label="Fixed solution")
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

    @property
    def mark(self) -> str:
        """What stands for the uploaded file."""
        file = self.cleaned_data["solution"]
        file.seek(0)
        mark = salted_hmac(_SALT, file.read(), algorithm="sha256").hexdigest()
        file.seek(0)
        return mark

    def blame(self, refused: Refused) -> None:
        """Show a refusal beside the fields that it names."""
        for name, message in refused.fields.items():
            self.add_error(name if name in self.fields else None, message)
        if not refused.fields:
            self.add_error(None, str(refused))


@dataclass(frozen=True)
class Cost:
    """What scoring so many files again would do: each is a counted question.

    `now` and `then` are the guarantees of the next question, as a loss; None: no guarantee.
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
    """Show the forecast and a preview; then make the revision."""
    request.upload_handlers = [InMemoryOnly(request)]
    return _protected(request, competition, owner)


@csrf_protect
def _protected(
    request: HttpRequest, competition: Competition, owner: CompetitionAdmin
) -> HttpResponse:
    round = competition.current_round
    form, changes = RevisionForm(), list[Change]()
    error: SolutionError | None = None
    if request.method == "POST":
        form = RevisionForm(request.POST, request.FILES)
        if form.is_valid():
            try:
                # Another file than the one that was previewed is previewed first.
                if constant_time_compare(form.cleaned_data["checked"], form.mark):
                    return _revise(request, round, owner, form)
                changes = _preview(round, form)
                shown = request.POST.copy()
                shown["checked"] = form.mark
                form.data = shown
            except SolutionError as wrong:
                form.add_error("solution", "This file can't be the solution. Nothing was changed.")
                error = wrong
            except ParameterError as wrong_metric:
                form.add_error("solution", wrong_metric.message)
            except Refused as refused:
                form.blame(refused)
            except HoldfastError as other:
                form.add_error("solution", str(other))
    holdout = round.active_holdout
    context = {
        "form": form,
        "changes": changes,
        "problems": error.problems if error else (),
        "problem_count": error.total if error else 0,
        "refused": _find_refusal(round),
        "holdout": holdout,
        "costs": compute_costs(round),
        # Teams that have no share left: the revision tells them nothing.
        "exhausted": holdout.team_states.filter(share_left=0).count() if holdout else 0,
    }
    return show(request, owner, competition, "solution_revision", context)


def compute_costs(round: Round) -> list[Cost]:
    """Return what each choice would cost; empty without a ledger."""
    board, holdout = round.board, round.active_holdout
    head = board_head(board)
    if holdout is None or head is None:
        return []
    now = forecast(board, holdout, head)
    found = list[Cost]()
    for choice in Rescore:
        files = revisions.to_score_again(round, choice).count()
        then = forecast_after(board, holdout, head, files)
        found.append(
            Cost(choice.label, files, now.width if now else None, then.width if then else None)
        )
    return found


def _preview(round: Round, form: RevisionForm) -> list[Change]:
    """Check the file as the revision would, and keep nothing of it."""
    revisions.check_may_revise(round)
    counts = organize.check_solution(round, form.cleaned_data["solution"]).solution.counts()
    holdout = Holdout.objects.active().get(ledger=round.ledger_id)
    return [
        Change("Public", holdout.public_rows, counts.public),
        Change("Private", holdout.private_rows, counts.private),
        Change("Final", holdout.final_rows, counts.final),
        Change("Ignored", holdout.ignored_rows, counts.ignored),
    ]


def _revise(
    request: HttpRequest, round: Round, owner: CompetitionAdmin, form: RevisionForm
) -> HttpResponse:
    competition = round.competition
    holdout = revisions.revise_solution(
        round,
        form.cleaned_data["solution"],
        by=signed_in(request),
        reason=form.cleaned_data["reason"],
        rescore=form.cleaned_data["rescore"],
    )
    owner.log_change(request, competition, f"Solution revised: version {holdout.version}.")
    again = "1 submission is" if holdout.rescored == 1 else f"{holdout.rescored} submissions are"
    say(request, f"Version {holdout.version} of the solution is active. {again} scored again.")
    return redirect(url_of(competition, "solution"))


def _find_refusal(round: Round) -> str:
    """Return why nothing can be revised now; empty if it can."""
    try:
        revisions.check_may_revise(round)
    except Refused as refused:
        return str(refused)
    return ""
