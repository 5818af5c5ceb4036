"""The steps of setting a competition up: the tabs above each of its admin pages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from leaderboard.models import Competition, FileRole, Submission

if TYPE_CHECKING:
    from leaderboard.admin.competition import CompetitionAdmin

    View = Callable[[HttpRequest, Competition, CompetitionAdmin], HttpResponse]

_STEPS = (
    ("change", "Settings"),
    ("schema", "Prediction file"),
    ("scoring", "Scoring"),
    ("files", "Files"),
    ("solution", "Solution"),
    ("opening", "Opening"),
    ("end", "The end"),
)


@dataclass(frozen=True)
class Step:
    """A tab. `done` is a quick look, not the checklist."""

    name: str
    label: str
    url: str
    done: bool
    current: bool


def url_of(competition: Competition, name: str) -> str:
    """The address of a step's page."""
    return reverse(f"admin:leaderboard_competition_{name}", args=[competition.pk])


def next_url(competition: Competition, name: str) -> str:
    """The address of the step after this one."""
    names = [step for step, _ in _STEPS]
    return url_of(competition, names[min(names.index(name) + 1, len(names) - 1)])


def sent_from(step: str) -> Callable[[View], View]:
    """For views that take what a form on the page of a step sends. Who only looks, as after signing
    in, comes to that page."""

    def decorate(view: View) -> View:
        @wraps(view)
        def wrapper(
            request: HttpRequest, competition: Competition, owner: CompetitionAdmin
        ) -> HttpResponse:
            if request.method != "POST":
                return redirect(url_of(competition, step))
            return view(request, competition, owner)

        return require_http_methods(["GET", "HEAD", "POST"])(wrapper)

    return decorate


def frame(competition: Competition, current: str) -> dict[str, Any]:
    """What all pages of a competition show: its name, phase and steps."""
    tab = current.partition("_")[0]
    return {
        "title": competition.title,
        "step_title": dict(_STEPS).get(tab, tab.capitalize()),
        "opts": competition._meta,
        "competition": competition,
        "phase": competition.phase(timezone.now()),
        "steps": [
            Step(name, label, url_of(competition, name), done, name == tab)
            for (name, label), done in zip(_STEPS, _done(competition), strict=True)
        ],
        "current": current,
        "halted": _halted(competition),
        "is_draft": is_draft(competition),
    }


def is_draft(competition: Competition) -> bool:
    """Whether what the competition asks may still change."""
    return competition.opened_by_organizer_at is None


def why_fixed(competition: Competition) -> str:
    """Why a page shows what it shows without letting it be changed; empty for a draft."""
    if is_draft(competition):
        return ""
    if Submission.objects.filter(team__competition=competition).exists():
        return (
            "Frozen: files have been submitted, and what their scores mean must not change "
            "afterwards."
        )
    return (
        "Fixed while the competition is open: participants rely on it. As long as nobody has "
        "submitted, you can take the competition back to draft on the page “Opening”."
    )


def show(
    request: HttpRequest,
    owner: CompetitionAdmin,
    competition: Competition,
    step: str,
    context: dict[str, Any],
    *,
    status: int = 200,
) -> HttpResponse:
    """Renders the page of a step."""
    shared = owner.admin_site.each_context(request) | frame(competition, step)
    template = f"admin/competition/{step}.html"
    return render(request, template, shared | context, status=status)


def say(request: HttpRequest, text: str) -> None:
    """A line on the next page: something was done."""
    messages.success(request, text)


def warn(request: HttpRequest, text: str) -> None:
    """A line on the next page: something needs attention."""
    messages.warning(request, text)


def _halted(competition: Competition) -> str:
    """Why the competition is paused, for its organizers; empty if it isn't."""
    in_force = competition.holdouts.filter(retired_at__isnull=True, state__halted_at__isnull=False)
    return in_force.values_list("state__halted_because", flat=True).first() or ""


def _done(competition: Competition) -> tuple[bool, ...]:
    return (
        bool(competition.description.strip() and competition.rules.strip()),
        bool(competition.schema),
        bool(competition.metric and competition.mechanism),
        competition.files.filter(role=FileRole.SAMPLE).exists(),
        competition.holdouts.filter(retired_at__isnull=True).exists(),
        not is_draft(competition),
        competition.revealed_at is not None,
    )
