"""What all pages of the console share: its tabs, buttons, and how refusals are shown."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from typing import Any, Final

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from leaderboard.access import Person, Right, console_or_404, may
from leaderboard.errors import Refused
from leaderboard.models import Competition, Round
from leaderboard.organize.people import may_organize_at_all
from leaderboard.platform.forms import blame
from leaderboard.web.page import Link
from scoring.errors import HoldfastError, ParameterError, SolutionError

View = Callable[..., HttpResponseBase]


@dataclass(frozen=True)
class Tab:
    """A tab of the console with its pages; the first of them is the tab's own."""

    title: str
    pages: tuple[tuple[str, str], ...]


TABS: Final = (
    Tab("Run", (("run", "Run"), ("trial", "Trial"), ("budget", "Budget"), ("gates", "Gates"))),
    Tab("Submissions", (("submissions", "Submissions"),)),
    Tab("Teams", (("teams", "Teams"),)),
    Tab("Announcements", (("announcements", "Announcements"), ("webhooks", "Webhooks"))),
    Tab("Settings", (("settings", "Settings"), ("copies", "Copies"), ("move", "Move"))),
    Tab(
        "Data",
        (
            ("columns", "Prediction file"),
            ("files", "Files"),
            ("scoring", "Scoring"),
            ("solution", "Solution"),
            ("rounds", "Rounds"),
        ),
    ),
    Tab(
        "People",
        (
            ("people", "Invited"),
            ("people-class-list", "Class list"),
            ("people-joining", "Joining"),
            ("people-organizers", "Organizers"),
            ("people-exports", "Downloads"),
        ),
    ),
    Tab("Finals", (("finals", "Finals"), ("publication", "Publication"))),
    Tab("Audit", (("audit", "Audit"),)),
)
# Pages that owners and editors alone may read.
_EDITORS: Final = {"trial", "webhooks"}
# The order in which a draft is set up.
_SETTING_UP: Final = ("settings", "columns", "files", "scoring", "solution", "run")
# Pages that no tab lists, with those that they belong to.
_BELOW: Final = {
    "opening": "run",
    "submission": "submissions",
    "team": "teams",
    "trial_remove": "trial",
    "revision": "solution",
    "file_remove": "files",
    "round": "rounds",
    "round_remove": "rounds",
    "board_add": "rounds",
    "finals_close": "finals",
    "finals_reveal": "finals",
    "delete": "settings",
    "people_class_list": "people-class-list",
    "people_joining": "people-joining",
    "people_organizers": "people-organizers",
    "people_exports": "people-exports",
    "team_entry": "submissions",
    "team_merge": "teams",
    "announcement": "announcements",
    "announcement_withdraw": "announcements",
    "webhook": "webhooks",
    "webhook_delete": "webhooks",
    "proposal": "scoring",
}


def organizers_only(view: View) -> View:
    """Serve a page to organizers; show others how to become one."""

    @wraps(view)
    def wrapper(request: HttpRequest, **kwargs: Any) -> HttpResponseBase:
        if not may_organize_at_all(request.user):
            return render(request, "organize/no_role.html", status=403)
        return view(request, **kwargs)

    return login_required(require_http_methods(["GET", "HEAD", "POST"])(wrapper))


def console(view: View) -> View:
    """Serve a page of a competition to its organizers, in any role; to others it doesn't exist.

    What a role may not do, the action itself refuses.
    """

    @wraps(view)
    def wrapper(request: HttpRequest, slug: str, **kwargs: Any) -> HttpResponseBase:
        return view(request, console_or_404(request.user, slug), **kwargs)

    return organizers_only(wrapper)


def url_of(competition: Competition, name: str) -> str:
    """Return the address of a page of the competition's console."""
    return reverse(f"organize-{name}", args=[competition.slug])


def next_url(competition: Competition, name: str) -> str:
    """Return the address of the page that comes next where a draft is set up."""
    return url_of(competition, _SETTING_UP[_SETTING_UP.index(name) + 1])


def button(
    page: str, act: Callable[[HttpRequest, Competition], object], *, told: str, asks: str = ""
) -> View:
    """Make the view behind a button of a page: it acts and leads back there.

    Who only looks, as after signing in, is shown the page `asks`, which asks once more, or else
    the button's. A refusal is shown on the button's page.
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
                messages.success(request, told)
        return redirect(url_of(competition, page))

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


def frame(competition: Competition, page: str, user: Person) -> dict[str, Any]:
    """Return what all pages of a competition's console show: its name, phase and tabs."""
    is_editor = may(user, competition, Right.EDIT)
    round = competition.current_round
    listed = _BELOW.get(page, page)
    current = next(tab for tab in TABS if listed in dict(tab.pages))
    pages = [each for each in current.pages if is_editor or each[0] not in _EDITORS]
    return {
        "competition": competition,
        "round": round,
        "phase": round.phase(timezone.now()),
        "tabs": [
            Link(tab.title, url_of(competition, tab.pages[0][0]), tab is current) for tab in TABS
        ],
        "subpages": [
            Link(title, url_of(competition, name), name == listed)
            for name, title in (pages if len(pages) > 1 else ())
        ],
        "page_title": dict(current.pages)[listed],
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
        by_teams = round.submissions.filter(team__is_baseline=False).exists()
        what = "files have been submitted" if by_teams else "baselines are on the board"
        return f"Frozen: {what}, and what their scores mean must not change afterwards."
    return (
        "Fixed while the competition is open: participants rely on it. As long as nobody has "
        "submitted, you can take the competition back to draft on the tab “Run”."
    )


def show(
    request: HttpRequest, competition: Competition, page: str, context: dict[str, Any]
) -> HttpResponse:
    """Render a page of the competition's console."""
    return render(
        request, f"organize/{page}.html", frame(competition, page, request.user) | context
    )
