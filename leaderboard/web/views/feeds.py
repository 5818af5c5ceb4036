"""Atom feeds of a competition: what was announced, and changes of its first places."""

import re
from collections.abc import Iterable
from datetime import datetime
from typing import Any
from uuid import NAMESPACE_URL, UUID, uuid5

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.feedgenerator import Atom1Feed
from django.views.decorators.http import require_safe

from leaderboard import queries
from leaderboard.access import competition_or_404
from leaderboard.models import Competition, User, Visibility
from leaderboard.participate import notices
from leaderboard.templatetags.text import markdown

FEED_LENGTH = 50


def address_of(name: str, request: HttpRequest, competition: Competition) -> str:
    """Return the address of a feed for this person's feed reader, with a key where it needs one."""
    address = reverse(name, args=[competition.slug])
    if competition.visibility != Visibility.PUBLIC and isinstance(request.user, User):
        address += f"?key={notices.feed_key(request.user, competition)}"
    return address


@require_safe
def announcements(request: HttpRequest, slug: str) -> HttpResponse:
    """Send the announcements as an Atom feed."""
    competition = _of_reader(request, slug)
    page = _address("announcements", slug)
    rows = queries.announcements(competition)[:FEED_LENGTH]
    entries = (
        {
            "title": each.title,
            "link": f"{page}#{each.number}",
            "description": markdown(each.text),
            "unique_id": UUID(each.uid).urn,
            "pubdate": each.created_at,
            "updateddate": each.edited_at or each.created_at,
            "author_name": each.author.username if each.author else competition.title,
        }
        for each in rows
    )
    return _feed(competition, "announcements", page, "announcements-feed", entries)


@require_safe
def leaders(request: HttpRequest, slug: str) -> HttpResponse:
    """Send the changes of the first places as an Atom feed: new leaders, and who is 2nd and 3rd."""
    competition = _of_reader(request, slug)
    page = _address("leaderboard", slug)
    entries = (
        {
            "title": each.title,
            "link": page,
            "description": render_to_string("partials/first_places.html", {"change": each}),
            "unique_id": uuid5(NAMESPACE_URL, f"{page}#{each.key}").urn,
            "pubdate": each.at,
            "updateddate": each.at,
            "author_name": competition.title,
        }
        for each in queries.leaders_changes(competition)
    )
    return _feed(competition, "leaderboard", page, "leaderboard-feed", entries)


class Feed(Atom1Feed):
    """An Atom feed whose texts may hold relative addresses."""

    def root_attributes(self) -> dict[str, Any]:
        return super().root_attributes() | {"xml:base": self.feed["link"]}

    def latest_post_date(self) -> datetime:
        return super().latest_post_date() if self.items else self.feed["begun"]


def _feed(
    competition: Competition,
    what: str,
    page: str,
    name: str,
    entries: Iterable[dict[str, Any]],
) -> HttpResponse:
    title = _in_xml(competition.title)
    feed = Feed(
        title=f"{title}: {what}",
        link=page,
        description="",
        language="en",
        author_name=title,
        feed_url=_address(name, competition.slug),
        feed_guid=page,
        begun=competition.created_at,
    )
    for entry in entries:
        texts = ("title", "description", "author_name")
        clean = {each: _in_xml(entry[each]) for each in texts}
        feed.add_item(**entry | clean, unique_id_is_permalink=False)
    response = HttpResponse(feed.writeString("utf-8"), content_type=Feed.content_type)
    response["Cache-Control"] = "private, no-cache"
    return response


def _address(name: str, slug: str) -> str:
    return settings.SITE_URL + reverse(name, args=[slug])


def _in_xml(text: str) -> str:
    """Return a text without the characters that XML can't hold."""
    return re.sub("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]", "", text)


def _of_reader(request: HttpRequest, slug: str) -> Competition:
    """Return the competition, for who is signed in or has a key of its feeds.

    What not everybody may see is for feed readers by the key that the pages have in their links:
    they can't sign in.
    """
    key = request.GET.get("key")
    if not key:
        return competition_or_404(request.user, slug)
    named = Competition.objects.filter(slug=slug).first()
    reader = notices.reader_of(key, named) if named else None
    if reader is None:
        raise Http404("There is no such competition.")
    return competition_or_404(reader, slug)
