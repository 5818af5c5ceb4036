"""Addresses of the console, and what a browser would send to them."""

from datetime import timedelta
from typing import Any

from django.http import HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from leaderboard.models import Competition
from scoring.mechanisms import MECHANISMS
from tests.cast import ROWS, truth, upload


def scoring_form(metric: str, mechanism: str, **change: str) -> dict[str, str]:
    """Write metric and mechanism as a browser sends them: the defaults with changes."""
    shown = {each.name: str(each.default) for each in MECHANISMS[mechanism].parameters} | change
    parameters = {f"mechanism-{mechanism}-{name}": value for name, value in shown.items()}
    return {"metric": metric, "mechanism": mechanism} | parameters


LADDER_FORM = scoring_form("accuracy", "ladder", steps="20")
COLUMNS_FORM = {"id_column": "id", "columns": "label: label: 0, 1, 2, 3"}


def at(name: str, competition: Competition, *args: object) -> str:
    """Return the address of a page of the competition."""
    return reverse(f"organize-{name}", args=[competition.slug, *args])


def settings_form(**change: Any) -> dict[str, Any]:
    """Write settings as a browser sends them."""
    return {
        "title": "Flowers",
        "slug": "flowers",
        "tagline": "Which flower is it?",
        "description": "# Flowers\n\nTell them apart.",
        "rules": "Play fair.",
        "data_description": "",
        "opens_at": "2026-01-01T00:00",
        "closes_at": "2099-01-01T00:00",
        "visibility": "public",
        "daily_limit": "5",
        "total_limit": "",
        "team_size": "3",
        "max_file_bytes": "10",
        "finals_limit": "2",
    } | change


def settings_of(competition: Competition, **change: Any) -> dict[str, Any]:
    """Return the settings of a competition as its form shows them, with changes."""
    round = competition.current_round
    shown = {
        "title": competition.title,
        "slug": competition.slug,
        "tagline": competition.tagline,
        "description": competition.description,
        "rules": competition.rules,
        "opens_at": f"{round.opens_at:%Y-%m-%dT%H:%M}",
        "closes_at": f"{round.closes_at:%Y-%m-%dT%H:%M}",
    }
    return settings_form(**shown) | change


def round_form(**change: str) -> dict[str, str]:
    """Write a round to come as a browser sends it."""
    opens_at, closes_at = (timezone.now() + timedelta(days=days) for days in (41, 60))
    return {
        "title": "",
        "rows": "new",
        "opens_at": f"{opens_at:%Y-%m-%dT%H:%M}",
        "closes_at": f"{closes_at:%Y-%m-%dT%H:%M}",
        "daily_limit": "7",
        "total_limit": "",
        "finals_limit": "2",
    } | change


def sample() -> bytes:
    """Write a sample submission of 40 rows, some of each class."""
    return b"id,label\n" + b"".join(b"r%d,%d\n" % (row, row % 4) for row in range(ROWS))


def labels(usage: str = "Private") -> bytes:
    """Write the solution of those rows."""
    lines = [f"r{row},{truth(row)},{'Public' if row < 10 else usage}\n" for row in range(ROWS)]
    return ("id,label,Usage\n" + "".join(lines)).encode()


def send_file(client: Client, competition: Competition, content: bytes, **fields: Any) -> Any:
    """Publish a file, the sample submission by default."""
    given = {"role": "sample", "description": "", "file": upload(content, "sample.csv")} | fields
    return client.post(at("files", competition), given)


def send_solution(client: Client, competition: Competition, content: bytes) -> Any:
    """Upload the solution."""
    return client.post(at("solution", competition), {"solution": upload(content, "solution.csv")})


def text(response: HttpResponseBase) -> str:
    """Read what the page says."""
    if isinstance(response, StreamingHttpResponse):
        return response.getvalue().decode()
    assert isinstance(response, HttpResponse)
    return response.content.decode()
