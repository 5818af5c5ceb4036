"""A team's campaigns: begin, limit and end them, and see how much each was told."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe

from leaderboard import queries
from leaderboard.access import campaign_or_404, signed_in
from leaderboard.models import Campaign, Team
from leaderboard.participate import campaigns
from leaderboard.platform.forms import attempt
from leaderboard.web.forms import CampaignForm, LimitForm, TeamNameForm
from leaderboard.web.page import Page, load
from leaderboard.web.posting import sent_from
from leaderboard.web.views.teams import own_team, team_page


@sent_from("team", "slug", anchor="#campaigns")
def begin(request: HttpRequest, slug: str) -> HttpResponse:
    """Begin a campaign."""
    page = load(request, slug, "team")
    mine, form = own_team(page), CampaignForm(request.POST)
    status = attempt(
        form,
        lambda: campaigns.begin(team=mine, user=signed_in(request), **form.cleaned_data),
    )
    if status:
        names = TeamNameForm({"team_name": mine.name})
        return team_page(request, page, mine, names, campaign_form=form, status=status)
    name = form.cleaned_data["name"]
    messages.success(request, f"The campaign {name} begins. Submit to it by its name.")
    return redirect("campaign", slug, name)


@login_required
@require_safe
def campaign(request: HttpRequest, slug: str, campaign: str) -> HttpResponse:
    """Show a campaign of the person's team: its limit, and what it was told."""
    page = load(request, slug, "team")
    if page.team is None:
        return render(request, "pages/not_joined.html", {"page": page}, status=403)
    found = campaign_or_404(page.team, campaign)
    return _campaign_page(request, page, page.team, found, LimitForm({"limit": found.limit}))


@sent_from("campaign", "slug", "campaign")
def change_limit(request: HttpRequest, slug: str, campaign: str) -> HttpResponse:
    """Change how many submissions a campaign may make."""
    page, found = _load(request, slug, campaign)
    form = LimitForm(request.POST)
    status = attempt(
        form,
        lambda: campaigns.change_limit(
            campaign=found, user=signed_in(request), limit=form.cleaned_data["limit"]
        ),
    )
    if status:
        return _campaign_page(request, page, own_team(page), found, form, status)
    messages.success(request, "The limit is changed.")
    return redirect("campaign", slug, campaign)


@sent_from("campaign", "slug", "campaign")
def end(request: HttpRequest, slug: str, campaign: str) -> HttpResponse:
    """End a campaign."""
    _, found = _load(request, slug, campaign)
    campaigns.end(campaign=found, user=signed_in(request))
    messages.success(request, f"The campaign {campaign} has ended and takes no more submissions.")
    return redirect("campaign", slug, campaign)


def _load(request: HttpRequest, slug: str, name: str) -> tuple[Page, Campaign]:
    page = load(request, slug, "team")
    return page, campaign_or_404(own_team(page), name)


def _campaign_page(
    request: HttpRequest,
    page: Page,
    team: Team,
    found: Campaign,
    form: LimitForm,
    status: int = 200,
) -> HttpResponse:
    row = queries.campaign_row(found)
    told = [("This campaign", row.exposure), ("Your team", queries.team_exposure(team))]
    if everybody := queries.competition_exposure(page.competition, request.user):
        told.append(("All teams", everybody))
    context = {"page": page, "campaign": row, "told": told, "form": form}
    return render(request, "pages/campaign.html", context, status=status)
