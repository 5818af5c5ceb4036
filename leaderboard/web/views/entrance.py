"""The ways into a competition or a team: the join code, and links that invite."""

from django.contrib import messages
from django.contrib.auth.views import redirect_to_login
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from leaderboard import queries
from leaderboard.access import (
    competition_or_404,
    entrance,
    invitation_or_404,
    invitee_or_404,
    membership_of,
    signed_in,
    visible_competitions,
)
from leaderboard.errors import Refused
from leaderboard.models import Competition, Invitation, User
from leaderboard.participate import admission, membership
from leaderboard.platform.forms import attempt
from leaderboard.platform.throttles import check_join_code
from leaderboard.web.forms import AcceptRulesForm, JoinCodeForm
from leaderboard.web.posting import shows_refusals
from leaderboard.web.views import competitions

RULES = "rules"


@require_http_methods(["GET", "HEAD", "POST"])
@shows_refusals
def join(request: HttpRequest, slug: str) -> HttpResponseBase:
    """Ask for the join code where one is needed; else create a team of one."""
    competition = entrance(slug)
    user = request.user
    if competition is None or (
        isinstance(user, User) and not admission.needs_code(competition, user)
    ):
        return competitions.join(request, slug=slug)
    form = JoinCodeForm(request.POST if request.method == "POST" else None)
    if request.method != "POST":
        return _entrance(request, competition, form)
    if not isinstance(user, User):
        return redirect_to_login(request.path)
    check_join_code(request)
    status = attempt(
        form,
        lambda: admission.enter_code(
            competition=competition, user=user, code=form.cleaned_data["code"]
        ),
    )
    if status:
        return _entrance(request, competition, form, status)
    messages.success(request, "The code is right. Read the rules and join.")
    return _to_the_rules(slug)


@require_http_methods(["GET", "HEAD", "POST"])
@shows_refusals
def invited(request: HttpRequest, slug: str, token: str) -> HttpResponseBase:
    """Show what a mailed invitation is about; take it."""
    invitee = invitee_or_404(slug, token)
    competition = invitee.competition
    if request.method == "POST":
        if not isinstance(request.user, User):
            return redirect_to_login(request.path)
        admission.accept(invitee=invitee, user=signed_in(request))
        messages.success(request, "Welcome. Read the rules and join.")
        return _to_the_rules(slug)
    is_mine = isinstance(request.user, User) and invitee.user_id == request.user.pk
    if is_mine and visible_competitions(request.user).filter(pk=competition.pk).exists():
        return _to_the_rules(slug)
    context = {"invitee": invitee} | _shown(competition)
    return render(request, "pages/invited.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@shows_refusals
def team_invitation(request: HttpRequest, slug: str, token: str) -> HttpResponseBase:
    """Show the team and the competition that a link leads to, also to strangers; join the team.

    Who may not see the competition, or not yet, is asked to sign in.
    """
    user = request.user
    if not isinstance(user, User) and request.method == "POST":
        return redirect_to_login(request.path)
    try:
        competition = competition_or_404(user, slug)
        found = invitation_or_404(competition, token)
    except Http404:
        if isinstance(user, User):
            raise
        return redirect_to_login(request.path)
    form, status = AcceptRulesForm(request.POST if request.method == "POST" else None), 200
    if form.is_bound:
        joining = signed_in(request)
        status = attempt(
            form,
            lambda: membership.join_team(invitation=found, user=joining, accept_rules=True),
        )
        if not status:
            messages.success(request, f"You are now a member of “{found.team.name}”.")
            return redirect("team", slug)
    own = membership_of(user, competition)
    if own is not None and own.team_id == found.team_id:
        return redirect("team", slug)
    context = {
        "invitation": found,
        "form": form,
        "members": len(queries.members(found.team)),
        "problem": _why_ended(found),
    } | _shown(competition)
    return render(request, "pages/team_invitation.html", context, status=status)


def _why_ended(invitation: Invitation) -> str:
    try:
        membership.check_invitation(invitation)
    except Refused as refused:
        return refused.detail
    return ""


def _entrance(
    request: HttpRequest, competition: Competition, form: JoinCodeForm, status: int = 200
) -> HttpResponse:
    context = {"form": form} | _shown(competition)
    return render(request, "pages/join_code.html", context, status=status)


def _shown(competition: Competition) -> dict[str, object]:
    """Return what a stranger with the right address may see: name, sentence, times."""
    round = competition.current_round
    return {"competition": competition, "round": round, "phase": round.phase(timezone.now())}


def _to_the_rules(slug: str) -> HttpResponseBase:
    response = redirect(RULES, slug)
    response["Location"] += "#join"
    return response
