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

from leaderboard.models import Competition, FileRole, Round

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
    """Return the address of a step's page."""
    return reverse(f"admin:leaderboard_competition_{name}", args=[competition.pk])


def next_url(competition: Competition, name: str) -> str:
    """Return the address of the step after this one."""
    names = [step for step, _ in _STEPS]
    return url_of(competition, names[min(names.index(name) + 1, len(names) - 1)])


def sent_from(step: str) -> Callable[[View], View]:
    """Let a view take only what a form on the page of a step sends.

    Other requests, as after signing in, are redirected to that page.
    """

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
    """Return what all pages of a competition show: its name, phase and steps."""
    tab = current.partition("_")[0]
    round = competition.current_round
    return {
        "title": competition.title,
        "step_title": dict(_STEPS).get(tab, tab.capitalize()),
        "opts": competition._meta,
        "competition": competition,
        "round": round,
        "phase": round.phase(timezone.now()),
        "steps": [
            Step(name, label, url_of(competition, name), done, name == tab)
            for (name, label), done in zip(_STEPS, _done(competition, round), strict=True)
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
    request: HttpRequest,
    owner: CompetitionAdmin,
    competition: Competition,
    step: str,
    context: dict[str, Any],
    *,
    status: int = 200,
) -> HttpResponse:
    """Render the page of a step."""
    shared = owner.admin_site.each_context(request) | frame(competition, step)
    template = f"admin/competition/{step}.html"
    return render(request, template, shared | context, status=status)


def say(request: HttpRequest, text: str) -> None:
    """Put a line on the next page: something was done."""
    messages.success(request, text)


def warn(request: HttpRequest, text: str) -> None:
    """Put a line on the next page: something needs attention."""
    messages.warning(request, text)


def _done(competition: Competition, round: Round) -> tuple[bool, ...]:
    return (
        bool(competition.description.strip() and competition.rules.strip()),
        bool(round.schema),
        bool(round.board.metric and round.board.mechanism),
        round.origin.files.filter(role=FileRole.SAMPLE).exists(),
        round.active_holdout is not None,
        not is_draft(competition),
        round.revealed_at is not None,
    )
