"""The steps of setting a competition up: the tabs above each of its admin pages."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone

from leaderboard.errors import Refused
from leaderboard.models import Competition, FileRole, Round
from leaderboard.platform.forms import blame
from scoring.errors import HoldfastError, ParameterError, SolutionError

View = Callable[..., HttpResponseBase]

_STEPS = (
    ("change", "Settings"),
    ("schema", "Prediction file"),
    ("files", "Files"),
    ("scoring", "Scoring"),
    ("solution", "Solution"),
    ("opening", "Opening"),
    ("end", "Finals"),
)


def url_of(competition: Competition, name: str) -> str:
    """Return the address of a step's page."""
    return reverse(f"admin:leaderboard_competition_{name}", args=[competition.pk])


def next_url(competition: Competition, name: str) -> str:
    """Return the address of the step after this one."""
    names = [step for step, _ in _STEPS]
    return url_of(competition, names[min(names.index(name) + 1, len(names) - 1)])


def button(
    step: str,
    act: Callable[[HttpRequest, Competition], object],
    *,
    logged: str,
    told: str,
    asks: str = "",
) -> View:
    """Make the view behind a button of a step's page: it acts and leads back there.

    `logged` may name the competition's `round`. Who only looks, as after signing in, is shown the
    page `asks`, which asks once more, or else the step's. A refusal is shown on the step's page.
    """

    def view(request: HttpRequest, competition: Competition, **context: object) -> HttpResponse:
        if request.method != "POST" and asks:
            return show(request, competition, asks, context)
        if request.method == "POST":
            try:
                act(request, competition)
            except Refused as refused:
                messages.warning(request, str(refused))
            else:
                done(request, competition, logged.format(round=competition.current_round), told)
        return redirect(url_of(competition, step))

    return view


@contextmanager
def refusals(
    form: forms.Form,
    context: dict[str, Any] | None = None,
    field: str | None = None,
    wrong: str = "",
) -> Iterator[None]:
    """Show why this is refused at the form's fields, and a file's problems by the context.

    field: who is to blame where nothing is named; wrong: what stands there if a file has problems.
    """
    try:
        yield
    except SolutionError as error:
        form.add_error(field, wrong)
        if context is not None:
            context.update(problems=error.problems, problem_count=error.total)
    except ParameterError as error:
        form.add_error(field, error.message)
    except Refused as refused:
        blame(form, refused)
    except HoldfastError as error:
        form.add_error(field, str(error))


def reason_against(check: Callable[[Round], None], round: Round) -> str:
    """Return why a check refuses; empty where it doesn't."""
    try:
        check(round)
    except Refused as refused:
        return str(refused)
    return ""


def frame(competition: Competition, current: str) -> dict[str, Any]:
    """Return what all pages of a competition show: its name, phase and steps."""
    tab = current.partition("_")[0]
    round = competition.current_round
    done = (
        bool(competition.description.strip() and competition.rules.strip()),
        bool(round.schema),
        round.origin.files.filter(role=FileRole.SAMPLE).exists(),
        bool(round.board.metric and round.board.mechanism),
        round.active_holdout is not None,
        not is_draft(competition),
        round.revealed_at is not None,
    )
    return {
        "title": competition.title,
        "step_title": dict(_STEPS).get(tab, tab.capitalize()),
        "opts": competition._meta,
        "competition": competition,
        "round": round,
        "phase": round.phase(timezone.now()),
        "steps": [
            {
                "label": label,
                "url": url_of(competition, name),
                "done": is_done,  # at a quick look, which is not the checklist
                "current": name == tab,
            }
            for (name, label), is_done in zip(_STEPS, done, strict=True)
        ],
        "current": current,
        "paused": round.ledger.paused_because if round.ledger else "",
        "is_draft": is_draft(competition),
    }


def is_draft(competition: Competition) -> bool:
    """Return whether what the competition asks may still change."""
    return competition.opened_by_organizer_at is None


def why_fixed(round: Round) -> str:
    """Return why a page shows what it shows without letting it be changed; empty for a draft."""
    if is_draft(round.competition):
        return ""
    if round.submissions.exists():
        return (
            "Frozen: files have been submitted, and what their scores mean must not change "
            "afterwards."
        )
    return (
        "Fixed while the competition is open: participants rely on it. As long as nobody has "
        "submitted, you can take the competition back to draft on the page “Opening”."
    )


def show(
    request: HttpRequest, competition: Competition, step: str, context: dict[str, Any]
) -> HttpResponse:
    """Render the page of a step."""
    shared = admin.site.each_context(request) | frame(competition, step)
    return render(request, f"admin/competition/{step}.html", shared | context)


def done(request: HttpRequest, competition: Competition, logged: Any, told: str) -> None:
    """Log what was done, and show it on the next page."""
    admin.site.get_model_admin(Competition).log_change(request, competition, logged)
    messages.success(request, told)
