"""Lists as CSV, for organizers."""

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase

from leaderboard.access import Right, may, signed_in
from leaderboard.models import Competition
from leaderboard.platform.downloads import csv_response
from leaderboard.queries.exports import members_csv, submissions_csv, teams_csv
from leaderboard.web.organize.frame import show
from leaderboard.web.posting import shows_refusals


def page(request: HttpRequest, competition: Competition) -> HttpResponse:
    """Show what there is to download."""
    knows = may(signed_in(request), competition, Right.JUDGE)
    return show(request, competition, "people_exports", {"may_judge": knows})


def teams(request: HttpRequest, competition: Competition) -> HttpResponseBase:
    """Send the teams."""
    return csv_response(teams_csv(competition), f"{competition.slug}-teams.csv")


@shows_refusals
def members(request: HttpRequest, competition: Competition) -> HttpResponseBase:
    """Send everybody in a team, with names and addresses, to those who see to people."""
    parts = members_csv(competition, signed_in(request))
    return csv_response(parts, f"{competition.slug}-members.csv")


def submissions(request: HttpRequest, competition: Competition) -> HttpResponseBase:
    """Send the submissions with what was released of them."""
    return csv_response(submissions_csv(competition), f"{competition.slug}-submissions.csv")
