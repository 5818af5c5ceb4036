"""Lists in pages: `page` from 1, `page_size` up to 200, `search` where it makes sense."""

from dataclasses import dataclass
from typing import Any

from django.http import Http404
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.utils.urls import remove_query_param, replace_query_param

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
    def part(self) -> slice:
        """The rows of this page."""
        return slice((self.number - 1) * self.size, self.number * self.size)

    def answer(self, rows: Any, total: int, **extra: Any) -> dict[str, Any]:
        """Return the JSON of a page. Http404 for one beyond the last."""
        pages = max(1, -(-total // self.size))
        if self.number > pages:
            raise Http404(f"There is no page {self.number}; the last is {pages}.")
        return {
            "count": total,
            "page": self.number,
            "pages": pages,
            "page_size": self.size,
            "next": self._link(self.number + 1) if self.number < pages else None,
            "previous": self._link(self.number - 1) if self.number > 1 else None,
            **extra,
            "results": rows,
        }

    def _link(self, number: int) -> str:
        url = self.request.build_absolute_uri()
        if number == 1:
            return str(remove_query_param(url, "page"))
        return str(replace_query_param(url, "page", number))
