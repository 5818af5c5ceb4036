"""Pages of a board, released or final, and of organizers' lists."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, Protocol, TypeVar

from django.db.models import QuerySet

PAGE_ROWS = 50
Row = TypeVar("Row")
Span = tuple[float, float] | None  # the first and the last score of a board, None without one
Row_co = TypeVar("Row_co", covariant=True)


@dataclass(frozen=True)
class ListPage(Generic[Row]):
    """One page of a list."""

    rows: tuple[Row, ...]
    page: int
    pages: int
    total: int


def list_page(rows: QuerySet[Any], page: int) -> ListPage[Any]:
    """Return a page of rows; the first or the last for a number beyond them."""
    total = rows.count()
    pages = max(1, math.ceil(total / PAGE_ROWS))
    page = min(max(1, page), pages)
    return ListPage(tuple(rows[(page - 1) * PAGE_ROWS : page * PAGE_ROWS]), page, pages, total)


@dataclass(frozen=True)
class RankedPage(Generic[Row]):
    """One page of a board. `my_row` is the person's row wherever it stands.

    `total` counts teams that were searched for, of all `teams`; rows of baselines stand between
    theirs. `to_next` is how far the next better score is from the person's, `span` are the first
    and the last score of the board.
    """

    rows: tuple[Row, ...]
    page: int
    pages: int
    total: int
    teams: int
    search: str
    my_row: Row | None
    my_page: int | None
    to_next: str
    span: Span


@dataclass(frozen=True)
class Mine(Generic[Row_co]):
    """The row of the person's team, its position, counted from 1, and the way to the next score."""

    position: int
    row: Row_co
    to_next: str = ""


Page = TypeVar("Page", bound=RankedPage[Any])


class Ranking(Protocol[Row_co]):
    """A board in its order. `search` narrows it to names that contain it."""

    @property
    def span(self) -> Span:
        """Return the first and the last score; None where no other may be seen, too."""

    def count(self, search: str) -> int:
        """Return how many teams there are."""

    def rows(self, search: str, first: int, count: int) -> Sequence[Row_co]:
        """Return the rows of some teams, from the `first` one, counted from 0, and baselines."""

    def mine(self) -> Mine[Row_co] | None:
        """Return where the person's team stands."""

    def row_of(self, team: int) -> Mine[Row_co] | None:
        """Return where a team stands."""


def page_of(ranking: Ranking[Row], page: int, search: str, page_rows: int) -> RankedPage[Row]:
    """Return a page; the first or the last for a number beyond them."""
    total = ranking.count(search)
    pages = max(1, math.ceil(total / page_rows))
    page = min(max(1, page), pages)
    return RankedPage(
        rows=tuple(ranking.rows(search, (page - 1) * page_rows, page_rows)),
        page=page,
        pages=pages,
        total=total,
        teams=ranking.count("") if search else total,
        search=search,
        span=ranking.span,
        **_own_place(ranking.mine(), page_rows),
    )


def own_page(page: Page, ranking: Ranking[Any], team: int) -> Page:
    """Return a page that is nobody's as the members of a team see it."""
    rows = page.rows
    if any(row.team_id == team for row in rows):
        rows = tuple(replace(row, mine=row.team_id == team) for row in rows)
    return replace(page, rows=rows, **_own_place(ranking.row_of(team), PAGE_ROWS))


def _own_place(mine: Mine[Any] | None, page_rows: int) -> dict[str, Any]:
    return {
        "my_row": mine.row if mine else None,
        "my_page": math.ceil(mine.position / page_rows) if mine else None,
        "to_next": mine.to_next if mine else "",
    }
