"""A team: its people, its name, invitations and mergers; teams and people as others see them."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from leaderboard import queries
from leaderboard.access import person_or_404, shown_team_or_404, signed_in
from leaderboard.errors import Refused
from leaderboard.models import Phase, Team
from leaderboard.participate import captains, membership, mergers
from leaderboard.platform.forms import attempt
from leaderboard.queries.people import merge_preview, sanction_of
from leaderboard.web import board
from leaderboard.web.forms import CampaignForm, InviteForm, TeamNameForm
from leaderboard.web.page import Page, load
from leaderboard.web.posting import sent_from, shows_refusals


@login_required
@require_safe
def team(request: HttpRequest, slug: str) -> HttpResponse:
    """Show members, name and invitation."""
    page = load(request, slug, "team")
    if page.team is None:
        return render(request, "pages/not_joined.html", {"page": page}, status=403)
    return team_page(request, page, page.team, TeamNameForm({"team_name": page.team.name}))


@sent_from("team", "slug")
def rename_team(request: HttpRequest, slug: str) -> HttpResponse:
    """Give the team another name."""
    page = load(request, slug, "team")
    mine = own_team(page)
    form = TeamNameForm(request.POST)
    status = attempt(
        form,
        lambda: membership.rename_team(
            team=mine, user=signed_in(request), name=form.cleaned_data["team_name"]
        ),
    )
    if status:
        return team_page(request, page, mine, form, status=status)
    messages.success(request, f"The team is now called “{mine.name}”.")
    return redirect("team", slug)


@sent_from("team", "slug")
def invite(request: HttpRequest, slug: str) -> HttpResponse:
    """Make a link that lets others join, or mail one."""
    page, user = load(request, slug, "team"), signed_in(request)
    mine = own_team(page)
    if "email" not in request.POST:
        membership.invite(team=mine, user=user)
        messages.success(request, "Here is a link for your team. Pass it on to those you invite.")
        return redirect("team", slug)
    form = InviteForm(request.POST)
    status = attempt(
        form, lambda: membership.invite(team=mine, user=user, email=form.cleaned_data["email"])
    )
    if status:
        names = TeamNameForm({"team_name": mine.name})
        return team_page(request, page, mine, names, form, status=status)
    messages.success(request, f"An invitation is on its way to {form.cleaned_data['email']}.")
    return redirect("team", slug)


@sent_from("team", "slug")
def withdraw_invitations(request: HttpRequest, slug: str) -> HttpResponse:
    """End all links of the team."""
    membership.withdraw_invitations(
        team=own_team(load(request, slug, "team")), user=signed_in(request)
    )
    messages.success(request, "The team's invitations are no longer valid.")
    return redirect("team", slug)


@sent_from("team", "slug")
def leave(request: HttpRequest, slug: str) -> HttpResponse:
    """Leave the team."""
    mine = own_team(load(request, slug, "team"))
    membership.leave(team=mine, user=signed_in(request))
    messages.success(request, f"You have left “{mine.name}”.")
    return redirect("competition", slug)


@sent_from("team", "slug")
def remove_member(request: HttpRequest, slug: str) -> HttpResponse:
    """Take somebody out of the team."""
    name = request.POST.get("username", "")
    mine = own_team(load(request, slug, "team"))
    captains.remove_member(team=mine, user=signed_in(request), name=name)
    messages.success(request, f"{name} is no member of your team any more.")
    return redirect("team", slug)


@sent_from("team", "slug")
def hand_over(request: HttpRequest, slug: str) -> HttpResponse:
    """Make another member the captain."""
    name = request.POST.get("username", "")
    mine = own_team(load(request, slug, "team"))
    captains.hand_over(team=mine, user=signed_in(request), name=name)
    messages.success(request, f"{name} is the captain now.")
    return redirect("team", slug)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
@shows_refusals
def merge(request: HttpRequest, slug: str, uid: str) -> HttpResponse:
    """Show what merging with another team would do; ask for it."""
    page, user = load(request, slug, "team"), signed_in(request)
    mine, other = own_team(page), _other(request, page, uid)
    if request.method == "POST":
        mergers.ask(team=mine, into=other, user=user)
        messages.success(request, f"“{other.name}” is asked. Its captain decides.")
        return redirect("team", slug)
    waiting = queries.merge_requests(mine)
    asks_us = other in waiting.asking
    pair = (other, mine) if asks_us else (mine, other)
    context = {
        "page": page,
        "other": other,
        "asks_us": asks_us,
        "asked": waiting.asked == other,
        "is_captain": mine.captain_id == user.pk,
        "preview": merge_preview(*pair, by_teams=True),
    }
    return render(request, "pages/team_merge.html", context)


@sent_from("team-merge", "slug", "uid")
def accept(request: HttpRequest, slug: str, uid: str) -> HttpResponse:
    """Take in a team that asks."""
    page = load(request, slug, "team")
    mine, asking = own_team(page), _other(request, page, uid)
    mergers.accept(team=mine, asking=asking, user=signed_in(request))
    messages.success(request, f"“{asking.name}” is a part of your team now.")
    return redirect("team", slug)


@sent_from("team-merge", "slug", "uid")
def drop(request: HttpRequest, slug: str, uid: str) -> HttpResponse:
    """Take back what the own team asked, or decline what the other one asks."""
    page = load(request, slug, "team")
    mine, other = own_team(page), _other(request, page, uid)
    mergers.drop(team=mine, other=other, user=signed_in(request))
    messages.success(request, f"Nothing is asked any more between you and “{other.name}”.")
    return redirect("team", slug)


def _other(request: HttpRequest, page: Page, uid: str) -> Team:
    """Return another team of the competition, if the person may know of it."""
    found = shown_team_or_404(request.user, uid, page.competition)
    if found == page.team:
        raise Http404("This is the own team.")
    return found


@require_safe
def public_team(request: HttpRequest, uid: str) -> HttpResponse:
    """Show a team to whoever may know of it; one that was merged leads to what it is a part of."""
    found = shown_team_or_404(request.user, uid)
    if found.merged_into is not None:
        return redirect("public-team", found.merged_into.uid)
    page = load(request, found.competition.slug, "leaderboard")
    found.competition = page.competition
    profile = queries.team_profile(found, request.user)
    is_drawn = page.is_ready and not profile.reason
    context = {
        "page": page,
        "profile": profile,
        "history": board.own_history(page.round.board, found) if is_drawn else None,
        "digits": queries.scale(page.board).decimals if page.is_ready else 0,
        "may_ask": page.team is not None
        and page.team not in (found, found.merged_into)
        and page.team.captain_id == request.user.pk
        and not (found.is_baseline or page.competition.hides_others)
        and page.head.phase is not Phase.CLOSED,
    }
    return render(request, "pages/public_team.html", context)


@require_safe
def person(request: HttpRequest, name: str) -> HttpResponse:
    """Show what a person takes part in, as far as the looker may know of it."""
    profile = queries.person_profile(person_or_404(name), request.user)
    return render(request, "pages/person.html", {"profile": profile})


def own_team(page: Page) -> Team:
    """Return the person's team. Raises Refused where there is none."""
    if page.team is None:
        raise Refused("not_a_member")
    return page.team


def team_page(
    request: HttpRequest,
    page: Page,
    mine: Team,
    form: TeamNameForm,
    invite_form: InviteForm | None = None,
    campaign_form: CampaignForm | None = None,
    status: int = 200,
) -> HttpResponse:
    """Show the team's page, with forms as they were sent."""
    is_captain = mine.captain_id == request.user.pk
    join = request.build_absolute_uri(page.url("join"))
    links = queries.invitation_links(mine) if is_captain else []
    context = {
        "page": page,
        "form": form,
        "invite_form": invite_form or InviteForm(),
        "members": queries.members(mine),
        "is_captain": is_captain,
        "links": [(f"{join}{each.token}/", each) for each in links],
        "leaving": queries.leaving(mine, signed_in(request)),
        "requests": queries.merge_requests(mine),
        "sanction": sanction_of(mine),
        "campaigns": queries.campaign_rows(mine),
        "campaign_form": campaign_form or CampaignForm(),
    }
    return render(request, "pages/team.html", context, status=status)
