"""What tests of pages share: who looks, and what can be seen."""

import re
from typing import Any

from django.test import Client

from leaderboard.models import Competition, User
from tests.cast import World

TEAM_PAGES = ("submissions", "team")
PUBLIC_PAGES = ("competition", "data", "rules", "leaderboard", "submit", "ledger")


def browser(user: User | None = None) -> Client:
    """A browser, signed in as this person."""
    client = Client()
    if user is not None:
        client.force_login(user)
    return client


def text(response: Any) -> str:
    """The page's words, without tags, in one line."""
    html = response.content.decode()
    body = re.sub(r"<script.*?</script>|<svg.*?</svg>", " ", html, flags=re.DOTALL)
    return " ".join(re.sub(r"<[^>]+>", " ", body).split())


def people(world: World) -> dict[str, User | None]:
    """Alice is a member, bob is not."""
    return {
        "anonymous": None,
        "bob": world.bob,
        "alice": world.alice,
        "organizer": world.organizer,
    }


def address(competition: Competition, page: str) -> str:
    """The address of a competition's page."""
    tail = "" if page == "competition" else f"{page}/"
    return f"/c/{competition.slug}/{tail}"
