"""What all pages of a competition share: its head, its tabs, and the next thing to do."""

from dataclasses import dataclass

from django.http import HttpRequest
from django.urls import reverse

from leaderboard import queries
from leaderboard.access import (
    competition_or_404,
    may_see_others,
    may_view_console,
    membership_of,
)
from leaderboard.models import Board, Competition, Membership, Phase, Round, Team

_TABS = (
    ("competition", "Overview"),
    ("data", "Data"),
    ("rules", "Rules"),
    ("leaderboard", "Leaderboard"),
    ("submit", "Submit"),
)
_MEMBER_TABS = (("submissions", "My submissions"), ("team", "Team"))
_LAST_TABS = (("ledger", "Ledger"),)


@dataclass(frozen=True)
class Link:
    """A place to go."""

    label: str
    url: str
    current: bool = False


@dataclass(frozen=True)
class Page:
    """A page of a competition, for one person."""

    competition: Competition
    round: Round
    head: queries.CompetitionHead
    membership: Membership | None
    organizes: bool
    sees_others: bool
    tab: str

    @property
    def board(self) -> Board:
        """Return the board that ranks."""
        return self.round.board

    @property
    def team(self) -> Team | None:
        """Return the person's team."""
        return self.membership.team if self.membership else None

    @property
    def tabs(self) -> list[Link]:
        """Return the tabs that this person has."""
        names = (*_TABS, *(_MEMBER_TABS if self.membership else ()), *_LAST_TABS)
        return [Link(label, self.url(name), name == self.tab) for name, label in names]

    @property
    def next_step(self) -> Link | None:
        """Return the one thing to do next, unless this page is the place to do it."""
        if self.head.phase is Phase.CLOSED:
            choosing = self.membership is not None and self.stage == queries.Stage.CHOOSING.value
            link = Link("Select your finals", self.url("submissions") + "#finals")
            return link if choosing and self.tab != "submissions" else None
        if self.head.phase is Phase.DRAFT:
            return None
        if self.membership is None:
            link = Link("Join the competition", self.url("rules") + "#join")
            return None if self.tab == "rules" else link
        if self.head.phase is Phase.OPEN and self.tab != "submit":
            return Link("Upload a file", self.url("submit"))
        return None

    @property
    def stage(self) -> str:
        """Return where the end stands: "running", "choosing", "scoring" or "revealed"."""
        return queries.stage(self.round).value

    @property
    def is_ready(self) -> bool:
        """Return whether there is a board: a draft may lack its metric or its holdout."""
        return self.head.phase is not Phase.DRAFT

    @property
    def rules_changed(self) -> bool:
        """Return whether the member accepted an earlier version of the rules."""
        return (
            self.membership is not None
            and self.membership.rules_version != self.competition.rules_version
        )

    def url(self, name: str) -> str:
        """Return the address of another page of this competition."""
        return reverse(name, args=[self.competition.slug])


def load(request: HttpRequest, slug: str, tab: str) -> Page:
    """Return the page, if the competition exists for this person; raises Http404 otherwise."""
    competition = competition_or_404(request.user, slug)
    return Page(
        competition=competition,
        round=competition.current_round,
        head=queries.competition_head(competition, request.user),
        membership=membership_of(request.user, competition),
        organizes=may_view_console(request.user, competition),
        sees_others=may_see_others(request.user, competition),
        tab=tab,
    )


def page_number(request: HttpRequest) -> int:
    """Return the page asked for in the address; 1 for anything that is not a number."""
    text = request.GET.get("page", "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 9 else 1
