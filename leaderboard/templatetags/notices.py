"""How many notices somebody has not read, for the head of every page."""

from django import template

from leaderboard import queries
from leaderboard.models import User
from leaderboard.queries.notices import MOST_COUNTED

register = template.Library()


@register.simple_tag
def unread(user: User) -> str:
    """Return how many, as it is shown: "99+" for many, nothing for none. It is counted once."""
    count = queries.count_unread(user)
    if not count:
        return ""
    return str(count) if count < MOST_COUNTED else f"{MOST_COUNTED - 1}+"
