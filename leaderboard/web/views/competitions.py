"""The list of competitions, and of one: overview, data, rules, joining."""

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe

from leaderboard import queries
from leaderboard.access import (
    competition_or_404,
    file_or_404,
    may_download,
    signed_in,
)
from leaderboard.errors import Refused
from leaderboard.models import Team, User
from leaderboard.participate import membership
from leaderboard.participate.admission import alias_of
from leaderboard.platform.forms import attempt
from leaderboard.platform.ranges import stored_response
from leaderboard.queries.announcements import NEWEST
from leaderboard.queries.audit import public_changes
from leaderboard.queries.people import why_not_admitted
from leaderboard.web.attack import attack
from leaderboard.web.forms import JoinForm
from leaderboard.web.page import Page, load
from leaderboard.web.posting import sent_from, shows_refusals
from scoring.mechanisms import MECHANISMS

LEADERS = 5


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """Show the person's own competitions, and all others that exist for this person."""
    cards = queries.competition_cards(request.user)
    if not isinstance(request.user, User):
        return render(request, "pages/home.html", {"cards": cards, "attack": attack()})
    context = {
        "mine": queries.my_competitions(request.user),
        "cards": [card for card in cards if not card.joined],
    }
    return render(request, "pages/home.html", context)


@require_safe
def how_it_works(request: HttpRequest) -> HttpResponse:
    """Explain what the board shows, what its intervals mean, and what they don't."""
    context = {"mechanisms": MECHANISMS.values()}
    return render(request, "pages/how_it_works.html", context)


@require_safe
def overview(request: HttpRequest, slug: str) -> HttpResponse:
    """Show what the competition is about."""
    page = load(request, slug, "competition")
    shown = page.is_ready and page.sees_others
    leaders = queries.board(page.board, request.user, page_rows=LEADERS) if shown else None
    revealed = page.round.revealed_at is not None
    context = {
        "page": page,
        "announcements": queries.announcements(page.competition)[:NEWEST],
        "facts": queries.mechanism_facts(page.board, request.user),
        "leaders": leaders,
        "guarantee": queries.guarantee(page.board, page.team) if page.is_ready else None,
        "finals": (
            queries.final_board(page.round, request.user, page_rows=LEADERS) if revealed else None
        ),
    }
    return render(request, "pages/overview.html", context)


@require_safe
def data(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the files to download and the file to send."""
    page = load(request, slug, "data")
    context = {
        "page": page,
        "files": queries.public_files(page.round),
        "may_download": may_download(request.user, page.competition),
        "expected": queries.expected_file(page.round),
        "site_url": settings.SITE_URL,
    }
    return render(request, "pages/data.html", context)


@require_safe
@shows_refusals
def data_file(request: HttpRequest, slug: str, name: str) -> HttpResponseBase:
    """Send a public file, for those who accepted the rules."""
    competition = competition_or_404(request.user, slug)
    entry = file_or_404(competition, name)
    if not may_download(request.user, competition):
        raise Refused("rules_not_accepted")
    return stored_response(
        dict(request.headers),
        str(entry.file.name),
        name=entry.name,
        size=entry.size,
        sha256=entry.sha256,
    )


@require_safe
def rules(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the rules and, for those who have not joined, the form to accept them."""
    page = load(request, slug, "rules")
    return _rules_page(request, page, _join_form(request, page))


@sent_from("rules", "slug", anchor="#join")
def join(request: HttpRequest, slug: str) -> HttpResponse:
    """Accept the rules and create a team of one."""
    page = load(request, slug, "rules")
    form, joined = _join_form(request, page), list[Team]()
    status = attempt(
        form,
        lambda: joined.append(
            membership.join(
                competition=page.competition,
                user=signed_in(request),
                **{"team_name": ""} | form.cleaned_data,
            )
        ),
    )
    if status:
        return _rules_page(request, page, form, status=status)
    messages.success(
        request, f"Welcome, {joined[0].name}. You can now download the data and submit."
    )
    return redirect("data", slug)


@sent_from("rules", "slug")
def accept_rules(request: HttpRequest, slug: str) -> HttpResponse:
    """Accept rules that changed after joining."""
    page = load(request, slug, "rules")
    if page.membership is None:
        raise Refused("not_a_member")
    membership.accept_rules_again(membership=page.membership)
    messages.success(request, "You have accepted the rules as they are now.")
    return redirect("rules", slug)


def _join_form(request: HttpRequest, page: Page) -> JoinForm:
    """Return the form for joining; organizers may have given the person a name."""
    form = JoinForm(request.POST if request.method == "POST" else None)
    if page.membership is None and isinstance(request.user, User):
        form.alias = alias_of(page.competition, request.user)
        if form.alias:
            del form.fields["team_name"]
    return form


def _rules_page(
    request: HttpRequest, page: Page, form: JoinForm, status: int = 200
) -> HttpResponse:
    context = {
        "page": page,
        "form": form,
        "metric_facts": queries.metric_facts(page.board),
        "schema": queries.schema_of(page.round),
        "max_bytes": min(page.round.max_file_bytes, settings.MAX_UPLOAD_BYTES),
        "revision": queries.revision(page.round, request.user),
        "changes": public_changes(page.competition, request.user),
        "not_admitted": (
            None if page.membership else why_not_admitted(page.competition, request.user)
        ),
    }
    return render(request, "pages/rules.html", context, status=status)
