"""Pages of a board, released or final, and of organizers' lists."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from django.db.models import QuerySet

PAGE_ROWS = 50
Row = TypeVar("Row")
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
    """One page of a board. `my_row` is the person's row wherever it stands."""

    rows: tuple[Row, ...]
    page: int
    pages: int
    total: int
    search: str
    my_row: Row | None
    my_page: int | None


class Ranking(Protocol[Row_co]):
    """A board in its order. `search` narrows it to names that contain it."""

    def count(self, search: str) -> int:
        """Return how many rows there are."""

    def rows(self, search: str, first: int, count: int) -> Sequence[Row_co]:
        """Return some rows, from the `first` one, counted from 0."""

    def mine(self) -> tuple[int, Row_co] | None:
        """Return the position, counted from 1, and the row of the person's team."""


def page_of(ranking: Ranking[Row], page: int, search: str, page_rows: int) -> RankedPage[Row]:
    """Return a page; the first or the last for a number beyond them."""
    total = ranking.count(search)
    pages = max(1, math.ceil(total / page_rows))
    page = min(max(1, page), pages)
    position, row = ranking.mine() or (None, None)
    return RankedPage(
        rows=tuple(ranking.rows(search, (page - 1) * page_rows, page_rows)),
        page=page,
        pages=pages,
        total=total,
        search=search,
        my_row=row,
        my_page=None if position is None else math.ceil(position / page_rows),
    )
