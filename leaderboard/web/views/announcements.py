"""A competition's announcements, their Atom feed, and the end of mails."""

import re
from datetime import datetime
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.feedgenerator import Atom1Feed
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods, require_safe

from leaderboard import queries
from leaderboard.access import competition_or_404, signed_in
from leaderboard.models import Channel, Competition, User, Visibility
from leaderboard.participate import notices
from leaderboard.templatetags.text import markdown
from leaderboard.web.page import load
from leaderboard.web.posting import sent_from

FEED_LENGTH = 50


@require_safe
def announcements(request: HttpRequest, slug: str) -> HttpResponse:
    """Show all announcements of a competition."""
    page = load(request, slug, "competition")
    feed = page.url("announcements-feed")
    if page.competition.visibility != Visibility.PUBLIC and isinstance(request.user, User):
        feed += f"?key={notices.feed_key(request.user, page.competition)}"
    context = {
        "page": page,
        "announcements": queries.announcements(page.competition),
        "feed": feed,
    }
    return render(request, "pages/announcements.html", context)


class Feed(Atom1Feed):
    """An Atom feed whose texts may hold relative addresses."""

    def root_attributes(self) -> dict[str, Any]:
        return super().root_attributes() | {"xml:base": self.feed["link"]}

    def latest_post_date(self) -> datetime:
        return super().latest_post_date() if self.items else self.feed["begun"]


@require_safe
def feed(request: HttpRequest, slug: str) -> HttpResponse:
    """Send the announcements as an Atom feed.

    What not everybody may see is for who is signed in, and for feed readers by the key that the
    page has in its link: they can't sign in.
    """
    competition = _of_reader(request, slug)
    title = _in_xml(competition.title)
    page = settings.SITE_URL + reverse("announcements", args=[slug])
    rows = list(queries.announcements(competition)[:FEED_LENGTH])
    feed = Feed(
        title=f"{title}: announcements",
        link=page,
        description="",
        language="en",
        author_name=title,
        feed_url=settings.SITE_URL + reverse("announcements-feed", args=[slug]),
        feed_guid=page,
        begun=competition.created_at,
    )
    for each in rows:
        feed.add_item(
            title=_in_xml(each.title),
            link=f"{page}#{each.number}",
            description=_in_xml(markdown(each.text)),
            unique_id=UUID(each.uid).urn,
            unique_id_is_permalink=False,
            pubdate=each.created_at,
            updateddate=each.edited_at or each.created_at,
            author_name=each.author.username if each.author else title,
        )
    response = HttpResponse(feed.writeString("utf-8"), content_type=Feed.content_type)
    response["Cache-Control"] = "private, no-cache"
    return response


def _in_xml(text: str) -> str:
    """Return a text without the characters that XML can't hold."""
    return re.sub("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]", "", text)


def _of_reader(request: HttpRequest, slug: str) -> Competition:
    """Return the competition, for who is signed in or has a key of its feed."""
    key = request.GET.get("key")
    if not key:
        return competition_or_404(request.user, slug)
    named = Competition.objects.filter(slug=slug).first()
    reader = notices.reader_of(key, named) if named else None
    if reader is None:
        raise Http404("There is no such competition.")
    return competition_or_404(reader, slug)


@csrf_exempt
@require_http_methods(["GET", "HEAD", "POST"])
def unsubscribe(request: HttpRequest, signed: str) -> HttpResponse:
    """End mails of a kind; by one click of a mail program (RFC 8058), or of a person.

    Who only looks, as scanners of links do, is asked. The link is enough: nobody signs in.
    """
    found = notices.read_link(signed)
    if found is None:
        raise Http404("This link is none of ours.")
    user, competition, kind, channel = found
    if request.method == "POST":
        notices.set_preference(user, competition, kind, channel, is_wanted=False)
    context = {"competition": competition, "kind": kind, "done": request.method == "POST"}
    return render(request, "pages/unsubscribe.html", context)


@sent_from("account")
def change_mails(request: HttpRequest) -> HttpResponse:
    """Take which mails the person wants."""
    user = signed_in(request)
    wanted = set(request.POST.getlist("wanted"))
    for choice in queries.mail_choices(user):
        notices.set_preference(
            user,
            choice.competition,
            choice.kind,
            Channel.MAIL,
            is_wanted=choice.name in wanted,
        )
    messages.success(request, "Saved.")
    return redirect(reverse("account") + "#mails")
