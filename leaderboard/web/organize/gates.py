"""The page "Gates": yes-or-no questions for programs, made and retired."""

from collections.abc import Callable

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect

from leaderboard import queries
from leaderboard.access import gate_or_404, signed_in, submission_of_or_404
from leaderboard.models import Competition, Gate, Round, Submission
from leaderboard.organize.gates import (
    NAME_LENGTH,
    NewGate,
    find_candidates,
    make_gate,
    promote_gate,
    retire_gate,
)
from leaderboard.web.organize.frame import refusals, show, url_of
from leaderboard.web.posting import shows_refusals

KINDS = (
    ("mark", "Is the score at least a mark?"),
    ("not_worse", "Does it lose no more than a tolerance against the version in use?"),
    ("better", "Is it surely better than the version in use?"),
)


class _Candidates(forms.ModelChoiceField):  # type: ignore[type-arg]  # none at run time
    """Files that may be in use."""

    def label_from_instance(self, obj: Submission) -> str:
        return f"{obj.team.name} #{obj.number}, {obj.file_name}"


class GateForm(forms.Form):
    """What a gate asks, in units of the score."""

    name = forms.CharField(
        label="Name",
        max_length=NAME_LENGTH,
        help_text="The name that programs ask it by, such as ci.",
    )
    kind = forms.ChoiceField(label="Asks", choices=KINDS, widget=forms.RadioSelect)
    mark = forms.FloatField(
        label="Mark", required=False, help_text="For a mark: the score that passes."
    )
    tolerance = forms.FloatField(
        label="Tolerance",
        required=False,
        help_text="For a tolerance: how much of the score may be lost.",
    )
    differing = forms.FloatField(
        label="Share of rows that differ",
        required=False,
        help_text="For a tolerance: on how many rows files may differ at most, such as 0.1. "
        "The fewer, the less its answers err.",
    )
    margin = forms.FloatField(
        label="Largest margin",
        required=False,
        help_text="How far an answer may err at most: beyond that the gate closes.",
    )

    def __init__(self, data: object, round: Round) -> None:
        super().__init__(data)  # type: ignore[arg-type]  # a request's, or None
        self.fields["in_use"] = _Candidates(
            find_candidates(round).select_related("team").order_by("-created_at"),
            label="Version in use",
            required=False,
            empty_label="None",
            help_text="For both kinds that compare.",
        )


def page(request: HttpRequest, competition: Competition) -> HttpResponse:
    """List the gates with what they promise; make one."""
    round = competition.current_round
    left = queries.gates_left(round)
    form = GateForm(request.POST or None, round) if left else None
    if form is not None and form.is_valid():
        with refusals(form):
            new = NewGate(**form.cleaned_data)
            made = queries.shown_gate(make_gate(round.board, new, by=signed_in(request)))
            told = f"The gate {made.name} is made. {made.on_pass} {made.left:,} answers are left."
            messages.success(request, told)
            return redirect(url_of(competition, "gates"))
    rows = [(each, _passed(each.uid)) for each in queries.gates(round)]
    return show(request, competition, "gates", {"form": form, "left": left, "gates": rows})


def _passed(uid: str) -> list[Submission]:
    """Return the last files that passed a gate and may take the place of the one in use."""
    sent = Submission.objects.filter(gate__uid=uid, gate__in_use__isnull=False)
    passed = sent.filter(gate_answer__document__yes=True).exclude(file="")
    current = passed.filter(gate_answer__holdout__retired_at__isnull=True)
    return list(current.select_related("team").order_by("-created_at")[:5])


@shows_refusals
def retire(request: HttpRequest, competition: Competition, gate: str) -> HttpResponseBase:
    """Close a gate for good."""
    by = signed_in(request)
    return _act(request, competition, gate, lambda found: retire_gate(found, by=by), "Retired.")


@shows_refusals
def promote(
    request: HttpRequest, competition: Competition, gate: str, submission_id: int
) -> HttpResponseBase:
    """Put a file that passed in the place of the one in use."""
    passed = submission_of_or_404(competition, submission_id)
    return _act(
        request,
        competition,
        gate,
        lambda found: promote_gate(found, passed, by=signed_in(request)),
        "It is in use now.",
    )


def _act(
    request: HttpRequest,
    competition: Competition,
    gate: str,
    act: Callable[[Gate], object],
    told: str,
) -> HttpResponseBase:
    found = gate_or_404(competition.current_round, gate)
    if request.method == "POST":
        act(found)
        messages.success(request, told)
    return redirect(url_of(competition, "gates"))
