"""A team: its people, its name, the link that invites others."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe

from leaderboard import queries
from leaderboard.access import signed_in
from leaderboard.errors import Refused
from leaderboard.models import Team
from leaderboard.participate import membership
from leaderboard.platform.forms import attempt
from leaderboard.queries.people import sanction_of
from leaderboard.web.forms import TeamNameForm
from leaderboard.web.page import Page, load
from leaderboard.web.posting import sent_from


@login_required
@require_safe
def team(request: HttpRequest, slug: str) -> HttpResponse:
    """Show members, name and invitation."""
    page = load(request, slug, "team")
    if page.team is None:
        return render(request, "pages/not_joined.html", {"page": page}, status=403)
    return _team_page(request, page, page.team, TeamNameForm({"team_name": page.team.name}))


@sent_from("team", "slug")
def rename_team(request: HttpRequest, slug: str) -> HttpResponse:
    """Give the team another name."""
    page = load(request, slug, "team")
    mine = _own(page)
    form = TeamNameForm(request.POST)
    status = attempt(
        form,
        lambda: membership.rename_team(
            team=mine, user=signed_in(request), name=form.cleaned_data["team_name"]
        ),
    )
    if status:
        return _team_page(request, page, mine, form, status=status)
    messages.success(request, f"The team is now called “{mine.name}”.")
    return redirect("team", slug)


@sent_from("team", "slug")
def invite(request: HttpRequest, slug: str) -> HttpResponse:
    """Make a link that lets others join."""
    membership.invite(team=_own(load(request, slug, "team")), user=signed_in(request))
    messages.success(request, "Here is a link for your team. Pass it on to those you invite.")
    return redirect("team", slug)


@sent_from("team", "slug")
def withdraw_invitations(request: HttpRequest, slug: str) -> HttpResponse:
    """Make all links of the team invalid."""
    membership.withdraw_invitations(team=_own(load(request, slug, "team")), user=signed_in(request))
    messages.success(request, "The team's links are no longer valid.")
    return redirect("team", slug)


def _own(page: Page) -> Team:
    if page.team is None:
        raise Refused("not_a_member")
    return page.team


def _team_page(
    request: HttpRequest, page: Page, mine: Team, form: TeamNameForm, status: int = 200
) -> HttpResponse:
    is_captain = mine.captain_id == request.user.pk
    join = request.build_absolute_uri(page.url("join"))
    links = queries.invitation_links(mine) if is_captain else []
    context = {
        "page": page,
        "form": form,
        "members": queries.members(mine),
        "is_captain": is_captain,
        "links": [(f"{join}{each.token}/", each.expires_at) for each in links],
        "quota": queries.quota(mine),
        "sanction": sanction_of(mine),
    }
    return render(request, "pages/team.html", context, status=status)
