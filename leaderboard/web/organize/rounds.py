"""The pages "Rounds": what comes when, on which rows, with which boards, and practice."""

import json
from collections.abc import Callable
from typing import Any, Final

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST

from leaderboard import organize
from leaderboard.access import signed_in
from leaderboard.errors import Refused
from leaderboard.models import Board, Competition, FileRole, Phase, Round
from leaderboard.organize.drafts import is_coming, is_frozen
from leaderboard.organize.fields import OF_LEDGER
from leaderboard.organize.practice import check_may_practise
from leaderboard.queries import titled_boards, wear
from leaderboard.web.organize.files import FileForm
from leaderboard.web.organize.frame import (
    is_draft,
    reason_against,
    refusals,
    show,
    url_of,
    why_fixed,
)
from leaderboard.web.organize.scoring_form import ScoringForm
from leaderboard.web.organize.settings import MomentField
from leaderboard.web.organize.solution import SolutionForm, in_memory
from scoring import mechanisms

_LIMITS: Final = ("daily_limit", "total_limit", "finals_limit")


class RoundForm(forms.Form):
    """Title, times and limits of a round; those of the ledger come from the one before."""

    title = forms.CharField(
        max_length=120, required=False, help_text="Empty: it is called by its number."
    )
    opens_at = MomentField(label="Opens (UTC)")
    closes_at = MomentField(label="Closes (UTC)", required=False, help_text="Empty: it has no end.")

    def __init__(self, data: Any | None, round: Round) -> None:
        super().__init__(data)
        self.fields.update(forms.fields_for_model(Round, fields=_LIMITS))
        shown = ("title", "opens_at", "closes_at", *_LIMITS)
        self.initial = {name: getattr(round, name) for name in shown}


class NewRoundForm(RoundForm):
    """A round to come: its rows, times and limits."""

    rows = forms.ChoiceField(
        label="Its rows",
        choices=(
            ("new", "New rows: it brings files and a solution of its own, and begins a ledger"),
            ("same", "The rows of the round before, with their one ledger"),
        ),
        initial="new",
        widget=forms.RadioSelect,
        help_text="A ledger goes on counting: on the same rows guarantees get no narrower again.",
    )

    def __init__(self, data: Any | None, last: Round) -> None:
        super().__init__(data, last)
        self.initial.update(title="", opens_at=last.closes_at, closes_at=None, rows="new")
        self.order_fields(["title", "rows", *self.fields])


class ColumnForm(ScoringForm):
    """Metric and mechanism of a further board; `seen` is what the costs were shown for."""

    title = forms.CharField(
        label="Name of the column",
        max_length=120,
        required=False,
        help_text="Empty: it is called by its metric.",
    )
    seen = forms.CharField(required=False, widget=forms.HiddenInput)


def page(request: HttpRequest, competition: Competition) -> HttpResponse:
    """List the rounds; add one."""
    rounds = list(competition.rounds.all())
    form = NewRoundForm(request.POST or None, rounds[-1])
    if form.is_valid():
        given = dict(form.cleaned_data)
        continues = given.pop("rows") == "same"
        with refusals(form):
            added = organize.add_round(
                competition, by=signed_in(request), continues=continues, **given
            )
            messages.success(request, f"Round {added.number} is added.")
            return redirect(_url("round", added))
    context = {"form": form, "rounds": [_facts(each) for each in rounds], "last": rounds[-1]}
    return show(request, competition, "rounds", context)


def one(request: HttpRequest, competition: Competition, *, number: int) -> HttpResponse:
    """Show a round; change times and limits of one that has not begun."""
    round = _find(competition, number)
    form = RoundForm(request.POST or None, round)
    if form.is_valid():
        with refusals(form):
            changes = {name: form.cleaned_data[name] for name in form.changed_data}
            organize.change_round(round, by=signed_in(request), **changes)
            messages.success(request, "Saved.")
            return redirect(_url("round", round))
    return _show(request, round, form=form)


@require_POST
def add_file(request: HttpRequest, competition: Competition, *, number: int) -> HttpResponse:
    """Publish a file with a coming round."""
    round = _find(competition, number)
    if refused := reason_against(_check_own_rows, round):
        return _refuse(request, round, refused)
    form = FileForm(request.POST, request.FILES)
    context: dict[str, Any] = {"file_form": form}
    if form.is_valid():
        with refusals(form, context, "file", "This file can't be the sample submission."):
            entry = organize.add_file(round, by=signed_in(request), **form.cleaned_data)
            messages.success(request, f"{entry.name} is published when the round begins.")
            return redirect(_url("round", round))
    if form.has_error("file", "looks_hidden"):
        form.fields["sure"].widget = forms.CheckboxInput()
    return _show(request, round, **context)


@require_POST
def remove_file(
    request: HttpRequest, competition: Competition, *, number: int, file_id: int
) -> HttpResponse:
    """Remove a file of a coming round, which nobody has seen yet."""
    round = _find(competition, number)
    entry = round.files.filter(pk=file_id).first()
    if entry is None:
        raise Http404("There is no such file.")
    if refused := reason_against(_check_own_rows, round):
        return _refuse(request, round, refused)
    return _act(
        request,
        round,
        lambda: organize.remove_file(entry, by=signed_in(request)),
        f"{entry.name} is removed.",
    )


@in_memory
@require_POST
def seal(request: HttpRequest, competition: Competition, *, number: int) -> HttpResponse:
    """Take the solution of a coming round."""
    round = _find(competition, number)
    if refused := reason_against(_check_own_rows, round):
        return _refuse(request, round, refused)
    form = SolutionForm(request.POST, request.FILES)
    context: dict[str, Any] = {"solution_form": form}
    if form.is_valid():
        wrong = "This file can't be the solution. Nothing was stored."
        with refusals(form, context, "solution", wrong):
            file = form.cleaned_data["solution"]
            holdout = organize.install_solution(round, file, by=signed_in(request))
            told = f"Sealed: {holdout.public_rows} Public, {holdout.private_rows} Private rows."
            messages.success(request, told)
            return redirect(_url("round", round))
    return _show(request, round, **context)


def add_board(request: HttpRequest, competition: Competition, *, number: int) -> HttpResponse:
    """Offer metric and mechanism of a column; show what it costs, then add it."""
    round = _find(competition, number)
    form = ColumnForm(Board(round=round), request.POST or None)
    context: dict[str, Any] = {"form": form, "shown": round, "fixed": _why_fixed(round)}
    if form.is_valid():
        with refusals(form):
            try:
                scoring = form.scoring()
                costs = organize.foresee_columns(round, scoring)
                if form.cleaned_data["seen"] == _digest(scoring):
                    title = form.cleaned_data["title"]
                    organize.add_board(round, by=signed_in(request), title=title, **vars(scoring))
                    messages.success(request, "The column is added.")
                    if round.ledger is not None:
                        again = "The solution was checked against fewer metrics: upload it again."
                        messages.warning(request, again)
                    return redirect(_url("round", round))
            except Refused as refused:
                raise form.rename(refused) from None
            # What was looked at is what is added: another choice is shown first.
            form.data = request.POST.copy()
            form.data["seen"] = _digest(scoring)
            titles = titled_boards(round)
            context["costs"] = [
                (titles[each.board] if each.board.pk else "The new column", each) for each in costs
            ]
    return show(request, competition, "board_add", context)


@require_POST
def remove_board(
    request: HttpRequest, competition: Competition, *, number: int, position: int
) -> HttpResponse:
    """Remove a column of a round that can still be set up."""
    round = _find(competition, number)
    board = round.boards.filter(position=position).first()
    if board is None:
        raise Http404("There is no such board.")
    return _act(
        request,
        round,
        lambda: organize.remove_board(board, by=signed_in(request)),
        "The column is removed.",
    )


@require_POST
def practice(request: HttpRequest, competition: Competition, *, number: int) -> HttpResponse:
    """Open practice, or close it."""
    round = _find(competition, number)
    is_open = request.POST.get("open") == "yes"
    return _act(
        request,
        round,
        lambda: organize.change_practice(round, is_open=is_open, by=signed_in(request)),
        "Practice is open." if is_open else "Practice is closed.",
    )


def remove(request: HttpRequest, competition: Competition, *, number: int) -> HttpResponse:
    """Ask, then remove a round that has not begun."""
    round = _find(competition, number)
    if request.method != "POST":
        return show(request, competition, "round_remove", {"shown": round})
    return _act(
        request,
        round,
        lambda: organize.remove_round(round, by=signed_in(request)),
        f"Round {number} is removed.",
        then=url_of(competition, "rounds"),
    )


def _find(competition: Competition, number: int) -> Round:
    for round in competition.rounds.all():
        if round.number == number:
            return round
    raise Http404("There is no such round.")


def _url(name: str, round: Round) -> str:
    return reverse(f"organize-{name}", args=[round.competition.slug, round.number])


def _act(
    request: HttpRequest, round: Round, act: Callable[[], object], told: str, then: str = ""
) -> HttpResponse:
    """Act and lead back to the round, or to `then`; a refusal is shown on the round's page."""
    try:
        act()
    except Refused as refused:
        return _refuse(request, round, str(refused))
    messages.success(request, told)
    return redirect(then or _url("round", round))


def _refuse(request: HttpRequest, round: Round, why: str) -> HttpResponse:
    messages.warning(request, why)
    return redirect(_url("round", round))


def _show(request: HttpRequest, round: Round, **forms_of: Any) -> HttpResponse:
    own = _brings_rows(round)
    has_sample = round.files.filter(role=FileRole.SAMPLE).exists()
    context = {
        "form": RoundForm(None, round),
        "file_form": FileForm(initial={} if has_sample else {"role": FileRole.SAMPLE}),
        "solution_form": SolutionForm(),
        "facts": _facts(round),
        "shown": round,
        "coming": is_coming(round),
        "brings_rows": own,
        "files": round.files.all() if own else (),
        "has_sample": has_sample,
        "holdout": round.active_holdout,
        "limits": [
            (Round._meta.get_field(name), getattr(round, name)) for name in (*_LIMITS, *OF_LEDGER)
        ],
        "fixed": _why_fixed(round),
        "practice_refused": reason_against(check_may_practise, round),
    }
    return show(request, round.competition, "round", context | forms_of)


def _facts(round: Round) -> dict[str, Any]:
    """Return what the list and the page tell of a round."""
    phase = round.phase(timezone.now())
    waits = phase in (Phase.OPEN, Phase.CLOSED) and round.ledger is None
    return {
        "round": round,
        "phase": phase,
        "waits": waits,
        "boards": [
            (board, title, mechanisms.get(board.mechanism).title, wear(board))
            for board, title in titled_boards(round).items()
            if board.mechanism
        ],
    }


def _brings_rows(round: Round) -> bool:
    return is_coming(round) and round.continues_id is None


def _check_own_rows(round: Round) -> None:
    """Raise Refused where files and solution belong to the pages of the current round."""
    if not _brings_rows(round):
        raise Refused("round_begun")


def _why_fixed(round: Round) -> str:
    """Return why no column can be added or removed; empty where one can."""
    if is_frozen(round):
        return "Frozen: scores have been released, and what they mean must not change."
    if is_draft(round.competition) or _brings_rows(round):
        return ""
    if is_coming(round):
        return "It goes on with the rows of the round before, and with the boards it was given."
    return why_fixed(round)


def _digest(scoring: organize.Scoring) -> str:
    return json.dumps(vars(scoring), sort_keys=True)
