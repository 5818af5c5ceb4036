"""What all pages of a competition share: its head, its tabs, and the next thing to do."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TypeVar
from urllib.parse import urlencode

from django.conf import settings
from django.http import Http404, HttpRequest
from django.urls import reverse

from leaderboard import queries
from leaderboard.access import (
    competition_or_404,
    may_see_others,
    may_view_console,
    membership_of,
)
from leaderboard.models import Board, Competition, Membership, Phase, Round, Team

T = TypeVar("T")

_TABS = (
    ("competition", "Overview"),
    ("data", "Data"),
    ("rules", "Rules"),
    ("leaderboard", "Leaderboard"),
    ("submit", "Submit"),
)
_MEMBER_TABS = (("submissions", "My submissions"), ("team", "Team"))
_GATES_TABS = (("gates", "Gates"),)
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
    column: Board | None = None

    @property
    def board(self) -> Board:
        """Return the board that ranks, or the column that was asked for."""
        return self.column or self.round.board

    @property
    def board_groups(self) -> list[tuple[str, list[Link]]]:
        """Return links to the boards of all rounds, and to those of this one, where several.

        On the ledger, which is one for all metrics, to the ledgers of all rounds.
        """
        on_ledger = self.tab == "ledger"
        rounds = [
            (each.title or f"Round {each.number}", each.board, each == self.round)
            for each in queries.begun_rounds(self.competition)
        ]
        columns = [
            (title, board, board == self.board)
            for board, title in queries.titled_boards(self.round).items()
            if not on_ledger
        ]
        url = self.url("ledger" if on_ledger else "leaderboard")
        return [
            (
                name,
                [
                    Link(label, f"{url}?{urlencode(self._address(board))}".rstrip("?"), current)
                    for label, board, current in found
                ],
            )
            for name, found in (("Rounds", rounds), ("Metrics", columns))
            if len(found) > 1
        ]

    @property
    def asked_fields(self) -> dict[str, int]:
        """Return which round and board were asked for, if they are not those shown first."""
        return self._address(self.board)

    @property
    def asked(self) -> str:
        """Return the same as an address has it."""
        return urlencode(self.asked_fields)

    def _address(self, board: Board) -> dict[str, int]:
        address = {}
        if board.round != self.competition.current_round:
            address["round"] = board.round.number
        if board != board.round.board:
            address["board"] = board.position
        return address

    @property
    def team(self) -> Team | None:
        """Return the person's team."""
        return self.membership.team if self.membership else None

    @property
    def tabs(self) -> tuple[Link, ...]:
        """Return the tabs that this person has."""
        gates = _GATES_TABS if self.round.gate_limit and self.is_ready else ()
        names = (*_TABS, *gates, *(_MEMBER_TABS if self.membership else ()), *_LAST_TABS)
        return tuple(Link(label, self.url(name), name == self.tab) for name, label in names)

    @property
    def next_step(self) -> Link | None:
        """Return the one thing to do next, unless this page is the place to do it."""
        if self.head.phase is Phase.CLOSED:
            choosing = self.membership is not None and self.stage == queries.Stage.CHOOSING.value
            link = Link("Select your finals", self.url("submissions") + "#finals")
            if self.round.takes_practice and self.membership is not None:
                return None if self.tab == "submit" else Link("Practice", self.url("submit"))
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
    def takes_files(self) -> bool:
        """Return whether files are taken now, if only for practice."""
        return self.head.phase is Phase.OPEN or self.round.takes_practice

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

    @property
    def picture(self) -> str:
        """Return the whole address of the picture of its board."""
        return f"{settings.SITE_URL}{self.url('board-picture')}"

    def url(self, name: str) -> str:
        """Return the address of another page of this competition."""
        return _address(name, self.competition.slug)


@lru_cache(10_000)
def _address(name: str, slug: str) -> str:
    return reverse(name, args=[slug])


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


def of_round(request: HttpRequest, page: Page) -> Page:
    """Return the page for the round and the board that the address asks for. Raises Http404."""
    round, column = page.round, None
    if "round" in request.GET:
        begun = queries.begun_rounds(page.competition)
        numbers = {str(each.number): each for each in begun}
        round = _found(numbers, request.GET["round"], "round")
    if "board" in request.GET:
        positions = {str(each.position): each for each in round.boards.all()}
        found = _found(positions, request.GET["board"], "board")
        column = None if found == round.board else found
    return replace(page, round=round, column=column)


def _found(known: Mapping[str, T], key: str, noun: str) -> T:
    if key not in known:
        raise Http404(f"There is no such {noun}.")
    return known[key]


def page_number(request: HttpRequest) -> int:
    """Return the page asked for in the address; 1 for anything that is not a number."""
    text = request.GET.get("page", "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 9 else 1
