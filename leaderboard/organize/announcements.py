"""What organizers tell everybody who may see their competition."""

from functools import partial
from typing import Any

from django.db import transaction
from django.db.models import Max
from django.utils import timezone

from leaderboard.access import Right, check_right
from leaderboard.errors import Refused, refuse_fields
from leaderboard.models import Announcement, Competition, EventKind, User
from leaderboard.notify.events import record
from leaderboard.pipeline.queue import enqueue_fan_out

LONGEST_TITLE, LONGEST_TEXT = 120, 20_000


def announce(competition: Competition, *, by: User | None, title: str, text: str) -> Announcement:
    """Announce something: on the pages, in the feed, and by mail to the members who want it.

    Raises Refused, naming the field.
    """
    title, text = _clean(title, text)
    with transaction.atomic():
        locked = _lock(competition, by)
        last = locked.announcements.aggregate(last=Max("number"))["last"]
        made = Announcement.objects.create(
            competition=locked,
            number=(last or 0) + 1,
            title=title,
            text=text,
            author=by,
            created_at=timezone.now(),
        )
        _record(made, by, "announced", title=title)
        transaction.on_commit(partial(enqueue_fan_out, competition.pk), robust=True)
    return made


def edit(announcement: Announcement, *, by: User | None, title: str, text: str) -> None:
    """Change an announcement; it shows that it was edited, and no mail is sent again."""
    title, text = _clean(title, text)
    with transaction.atomic():
        _lock(announcement.competition, by)
        before = _shown(announcement)
        if (before.title, before.text) == (title, text):
            return
        Announcement.objects.filter(pk=announcement.pk).update(
            title=title, text=text, edited_at=timezone.now()
        )
        _record(announcement, by, "edited", title=title, title_before=before.title)
    announcement.refresh_from_db()


def withdraw(announcement: Announcement, *, by: User | None) -> None:
    """Take an announcement back, and mails that are not sent yet. Those that are can't be."""
    with transaction.atomic():
        _lock(announcement.competition, by)
        _shown(announcement)
        Announcement.objects.filter(pk=announcement.pk).update(withdrawn_at=timezone.now())
        _record(announcement, by, "withdrawn")
    announcement.refresh_from_db()


def _clean(title: str, text: str) -> tuple[str, str]:
    title, text = " ".join(title.split()), text.strip().replace("\r\n", "\n")
    wrong: dict[str, dict[str, object]] = {}
    if not title:
        wrong["title"] = {"variant": "no_title"}
    elif len(title) > LONGEST_TITLE:
        wrong["title"] = {"variant": "too_long", "limit": LONGEST_TITLE}
    if len(text) > LONGEST_TEXT:
        wrong["text"] = {"variant": "too_long", "limit": LONGEST_TEXT}
    refuse_fields(wrong)
    return title, text


def _lock(competition: Competition, by: User | None) -> Competition:
    locked = Competition.objects.select_for_update(no_key=True).get(pk=competition.pk)
    check_right(by, locked, Right.EDIT)
    return locked


def _shown(announcement: Announcement) -> Announcement:
    """Return the row as it is now. Raises Refused for one that was withdrawn."""
    found = Announcement.objects.get(pk=announcement.pk)
    if found.withdrawn_at is not None:
        raise Refused("invalid", field="title", variant="withdrawn")
    return found


def _record(announcement: Announcement, by: User | None, change: str, **data: Any) -> None:
    subjects = {"announcement": announcement.number}
    competition = announcement.competition
    record(competition, EventKind.ANNOUNCED, actor=by, subjects=subjects, change=change, **data)
