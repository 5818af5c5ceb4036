"""The competitions that a person runs: list, create, change, delete, open, take back."""

from django.utils import timezone
from django.utils.text import slugify
from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response

from leaderboard import organize, queries
from leaderboard.api.base import person
from leaderboard.api.organize.base import CHANGES, READS, TAGS, OrganizeView, action, mine, whole
from leaderboard.api.organize.serializers.competitions import (
    NewBody,
    Organized,
    OrganizedItem,
    SettingsBody,
)
from leaderboard.api.organize.serializers.running import Checklist
from leaderboard.api.paging import Page, SearchQuery
from leaderboard.api.schema import cli, pages_of, responses
from leaderboard.models import Competition
from leaderboard.organize.settings import change_settings, create_draft


class CompetitionsView(OrganizeView):
    @extend_schema(
        operation_id="organized_competitions",
        extensions=cli("holdfast organize list"),
        tags=TAGS,
        summary="List the competitions that you run",
        description="In whatever role; the newest first. `search` looks in names and titles.",
        parameters=[SearchQuery],
        responses=responses({200: pages_of(OrganizedItem, "Organized")}, "invalid", *READS),
    )
    def get(self, request: Request) -> Response:
        page = Page.of(request, SearchQuery)
        word = page.search.casefold()
        rows = [
            row
            for row in queries.organized(request.user)
            if word in row.slug.casefold() or word in row.title.casefold()
        ]
        return page.answer(OrganizedItem, rows[page.part], len(rows))

    @extend_schema(
        operation_id="create_competition",
        extensions=cli("holdfast organize push FOLDER"),
        tags=TAGS,
        summary="Create a draft",
        description="You own it. Nobody but its organizers sees it until it is opened.",
        request=NewBody,
        responses=responses({201: Organized}, *CHANGES),
    )
    def post(self, request: Request) -> Response:
        given = NewBody.read(request)
        given.setdefault("opens_at", timezone.now())
        given.setdefault("slug", slugify(given["title"])[:60])
        return whole(request, create_draft(person(request), **given), status.HTTP_201_CREATED)


class CompetitionView(OrganizeView):
    @extend_schema(
        operation_id="organized_competition",
        extensions=cli("holdfast organize status digits"),
        tags=TAGS,
        summary="See a competition that you run",
        description="Settings and what of them is fixed, the sealed solution's counts, what waits.",
        responses=responses({200: Organized}, *READS),
    )
    def get(self, request: Request, slug: str) -> Response:
        return whole(request, mine(request, slug))

    @extend_schema(
        operation_id="change_settings",
        extensions=cli("holdfast organize extend digits --until 2027-01-31"),
        tags=TAGS,
        summary="Change settings",
        description=(
            "All or nothing. What participants rely on is fixed (`fixed`); an open competition "
            "doesn't close before the time that was announced: `close/` does that."
        ),
        request=SettingsBody,
        responses=responses({200: Organized}, *CHANGES),
    )
    def patch(self, request: Request, slug: str) -> Response:
        competition = mine(request, slug)
        change_settings(competition, person(request), **SettingsBody.read(request))
        return whole(request, Competition.objects.get(pk=competition.pk))

    @extend_schema(
        operation_id="delete_competition",
        tags=TAGS,
        summary="Delete a competition",
        description="With all that belongs to it; only an owner, as long as nobody has submitted.",
        responses=responses({204: None}, *CHANGES, "has_submissions", "watermark_away"),
    )
    def delete(self, request: Request, slug: str) -> Response:
        organize.delete_competition(mine(request, slug), by=person(request))
        return Response(status=status.HTTP_204_NO_CONTENT)


class ChecklistView(OrganizeView):
    @extend_schema(
        operation_id="checklist",
        extensions=cli("holdfast organize status digits"),
        tags=TAGS,
        summary="See what is missing before the opening",
        description="The checklist, and warnings, which hold nothing up.",
        responses=responses({200: Checklist}, *READS),
    )
    def get(self, request: Request, slug: str) -> Response:
        competition = mine(request, slug)
        checks = organize.checklist(competition)
        facts = {
            "is_ready": all(check.passed for check in checks),
            "checks": checks,
            "warnings": organize.find_warnings(competition),
        }
        return Response(Checklist(facts).data)


OpenView = action(
    "open_competition",
    lambda competition, user: organize.open_competition(competition, by=user),
    *("checklist_not_green", "watermark_away"),
    summary="Open a competition",
    description="Everybody who may see it does, from `opens_at` on files are taken. Done again, "
    "it changes nothing.",
    command="holdfast organize open digits",
)
DraftView = action(
    "return_to_draft",
    lambda competition, user: organize.return_to_draft(competition, by=user),
    *("frozen", "watermark_away"),
    summary="Take an opening back",
    description="As long as nobody has submitted.",
)
