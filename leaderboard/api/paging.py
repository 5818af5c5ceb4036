"""Lists in pages: `page` from 1, `page_size` up to 200, `search` where it makes sense."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.http import Http404
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.utils.urls import remove_query_param, replace_query_param

from leaderboard.queries.paging import RankedPage

PAGE_SIZE = 50
LARGEST_PAGE = 200


class PageQuery(serializers.Serializer[Any]):
    """The query parameters of a list."""

    page = serializers.IntegerField(
        min_value=1, max_value=10**9, default=1, help_text="Which page, from 1."
    )
    page_size = serializers.IntegerField(
        min_value=1, max_value=LARGEST_PAGE, default=PAGE_SIZE, help_text="Rows on a page."
    )


class SearchQuery(PageQuery):
    """The query parameters of a list that can be searched."""

    search = serializers.CharField(
        max_length=100, allow_blank=True, default="", help_text="Only names with this in it."
    )


@dataclass(frozen=True)
class Page:
    """Which rows a request asks for."""

    request: Request
    number: int
    size: int
    search: str = ""

    @classmethod
    def of(cls, request: Request, query: type[PageQuery] = PageQuery) -> "Page":
        """Return what the request asks for. ValidationError where a parameter is wrong."""
        asked = query(data=request.query_params)
        asked.is_valid(raise_exception=True)
        valid = asked.validated_data
        return cls(request, valid["page"], valid["page_size"], valid.get("search", ""))

    @property
    def ranked(self) -> dict[str, Any]:
        """Return the same, as the queries of boards take it."""
        return {"page": self.number, "page_rows": self.size, "search": self.search}

    @property
    def part(self) -> slice:
        """Return the rows of this page."""
        return slice((self.number - 1) * self.size, self.number * self.size)

    def answer(self, item: Callable[..., Any], rows: Any, total: int, **extra: Any) -> Response:
        """Return a page of these items. Http404 for one beyond the last."""
        pages = max(1, -(-total // self.size))
        if self.number > pages:
            raise Http404(f"There is no page {self.number}; the last is {pages}.")
        document = {
            "count": total,
            "page": self.number,
            "pages": pages,
            "page_size": self.size,
            "next": self._link(self.number + 1) if self.number < pages else None,
            "previous": self._link(self.number - 1) if self.number > 1 else None,
            **extra,
            "results": item(rows, many=True).data,
        }
        return Response(document)

    def answer_ranked(
        self, item: Callable[..., Any], found: RankedPage[Any], **extra: Any
    ) -> Response:
        """Return a page of a board, with the row of the person's team wherever it stands."""
        mine = item(found.my_row).data if found.my_row else None
        return self.answer(item, found.rows, found.total, me=mine, **extra)

    def _link(self, number: int) -> str:
        url = self.request.build_absolute_uri()
        if number == 1:
            return str(remove_query_param(url, "page"))
        return str(replace_query_param(url, "page", number))
