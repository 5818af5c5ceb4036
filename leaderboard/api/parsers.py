"""Request bodies: JSON of a bounded size."""

from collections.abc import Mapping
from io import BytesIO
from typing import IO, Any

from rest_framework.exceptions import ParseError
from rest_framework.parsers import JSONParser

from leaderboard.errors import Refused

MAX_JSON_BYTES = 64_000


class BoundedJSONParser(JSONParser):
    """Reads no more than a small body, so that none can fill the memory."""

    limit = MAX_JSON_BYTES

    def parse(
        self,
        stream: IO[Any],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        body = stream.read(self.limit + 1)
        if len(body) > self.limit:
            raise Refused("body_too_large", limit=self.limit)
        try:
            return super().parse(BytesIO(body), media_type, dict(parser_context or {}))
        except RecursionError:
            raise ParseError("JSON parse error - it is nested too deeply.") from None


class TextsParser(BoundedJSONParser):
    """Reads what organizers write: pages, and columns of many classes."""

    limit = 4_000_000
