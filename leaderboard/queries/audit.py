"""What happened in a competition: all of it for organizers, what concerns them for participants."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final

from django.db.models import Q, QuerySet

from leaderboard.access import Person, Right, may, may_see_others, membership_of
from leaderboard.models import Audience, Board, Competition, Event, EventKind, Team, User
from leaderboard.queries.board_csv import plain_text, write_csv
from leaderboard.queries.moments import to_the_second
from leaderboard.queries.paging import ListPage, list_page

# What participants and workers do, which organizers look at on request.
_PARTICIPANTS: Final = (
    *(EventKind.TEAM_CREATED, EventKind.MEMBER_JOINED, EventKind.MEMBER_LEFT, EventKind.SELECTED),
    *(EventKind.MEMBER_REMOVED, EventKind.CAPTAIN_CHANGED),
    *(EventKind.MERGE_ASKED, EventKind.MERGE_DECLINED, EventKind.CAMPAIGN_CHANGED),
    *(EventKind.SUBMISSION_ACCEPTED, EventKind.SUBMISSION_REJECTED, EventKind.SUBMISSION_RELEASED),
    EventKind.LEADERS_CHANGED,
)
# What participants read under "Changes".
_CONCERNING: Final = (
    *(EventKind.OPENED, EventKind.CLOSED, EventKind.DEADLINE_CHANGED, EventKind.LIMIT_CHANGED),
    *(EventKind.RULES_CHANGED, EventKind.TEXTS_CHANGED, EventKind.FILES_CHANGED),
    *(EventKind.SCORING_CHANGED, EventKind.BOARD_ADDED),
    *(EventKind.ROUND_ADDED, EventKind.BUDGET_ADDED, EventKind.REVISED, EventKind.REVEALED),
    *(EventKind.DISQUALIFIED, EventKind.SUBMISSION_EXCLUDED, EventKind.QUOTA_ADDED),
    EventKind.PRACTICE_CHANGED,
)
_COUNTS: Final = ("rescored",)  # what would count other teams' files
ALL: Final = "all"
_CHANGES_SHOWN: Final = 20
_WORDS: Final = {
    "opens_at": "opens",
    "closes_at": "closes",
    "daily_limit": "submissions a day",
    "total_limit": "submissions in all",
    "team_size": "members of a team",
    "max_file_bytes": "largest file in bytes",
    "finals_limit": "final entries of a team",
    "is_hidden": "hidden until the end",
    "team_limit": "teams at most",
    "question_limit": "questions in all",
    "nats_limit": "nats a team may cost",
    "gate_limit": "gates answered at most",
    "rules_version": "version of the rules",
    "description": "overview page",
    "rules": "rules page",
    "data_description": "data page",
    "tagline": "one sentence",
    "extra_daily": "extra submissions a day",
    "extra_total": "extra submissions in all",
    "is_verified": "verified",
    "is_baseline": "baseline",
    "version": "version of the solution",
}


@dataclass(frozen=True)
class Change:
    """What was written in a place of `name`. Texts and moments; empty where nothing is."""

    name: str
    before: str | datetime
    after: str | datetime


@dataclass(frozen=True)
class Happening:
    """An event as it is read: `about` names the team, board, round and submission it is about."""

    number: int
    kind: str
    title: str
    who: str
    about: str
    changes: tuple[Change, ...]
    created_at: datetime


def events(competition: Competition, user: Person) -> QuerySet[Event]:
    """Return the events as they are stored, the newest first, for an organizer's programs.

    Those of webhooks tell their addresses: only whoever may change them reads these.
    """
    found = _joined(competition).order_by("-number")
    is_editor = may(user, competition, Right.EDIT)
    return found if is_editor else found.exclude(kind=EventKind.WEBHOOK_CHANGED)


def happenings(
    competition: Competition, user: Person, kind: str = "", page: int = 1
) -> ListPage[Happening]:
    """Return what happened, newest first, for an organizer.

    kind: only events of this kind, or `ALL`; empty: what participants do every day is left out.
    """
    found = list_page(_events(competition, user, kind), page)
    return replace(found, rows=tuple(_read(competition, found.rows)))


def audit_csv(competition: Competition, user: Person, kind: str = "") -> Iterator[bytes]:
    """Return what happened as a CSV file, in parts, the oldest first."""
    rows = _events(competition, user, kind).order_by("number").iterator(chunk_size=500)
    return write_csv(_CSV, _in_parts(competition, rows))


def public_changes(competition: Competition, user: Person) -> list[Happening]:
    """Return what concerns participants, newest first: the last ones of it.

    Where the person may not know of other teams, what names one is left out unless it is its own.
    """
    events = _joined(competition).filter(audience=Audience.PUBLIC, kind__in=_CONCERNING)
    if not may_see_others(user, competition):
        mine = membership_of(user, competition)
        of_nobody = Q(subjects__team__isnull=True)
        events = events.filter(of_nobody | Q(subjects__team=mine.team.uid) if mine else of_nobody)
    last = events.order_by("-number")[:_CHANGES_SHOWN]
    return [
        replace(each, who="", changes=tuple(_for_participants(each)))
        for each in _read(competition, last)
    ]


def _for_participants(happening: Happening) -> Iterator[Change]:
    """Yield what changed, without counts; of texts and files, which they can read, the names."""
    for each in happening.changes:
        if happening.kind in (EventKind.TEXTS_CHANGED, EventKind.SCORING_CHANGED):
            yield replace(each, before="", after="changed")
        elif each.name not in _COUNTS:
            yield each


def _joined(competition: Competition) -> QuerySet[Event]:
    return Event.objects.filter(competition=competition).select_related("actor")


def _events(competition: Competition, user: Person, kind: str) -> QuerySet[Event]:
    found = events(competition, user)
    if kind == ALL:
        return found
    return found.filter(kind=kind) if kind else found.exclude(kind__in=_PARTICIPANTS)


def _in_parts(competition: Competition, events: Iterable[Event]) -> Iterator[Happening]:
    part: list[Event] = []
    for event in events:
        part.append(event)
        if len(part) == 500:
            yield from _read(competition, part)
            part = []
    yield from _read(competition, part)


def _read(competition: Competition, events: Iterable[Event]) -> Iterator[Happening]:
    """Read a part of the events, with the names of what they are about."""
    part = list(events)
    uids = {kind: {each.subjects.get(kind) for each in part} - {None} for kind in _NAMED}
    names = {kind: dict(find(competition, uids[kind])) for kind, find in _NAMED.items()}
    for each in part:
        yield Happening(
            number=each.number,
            kind=each.kind,
            title=_title(each),
            who=each.actor.username if each.actor else "",
            about=_about(each.subjects, names),
            changes=tuple(_changes(each.data)),
            created_at=to_the_second(each.created_at),
        )


_NAMED: Final[Mapping[str, Any]] = {
    "team": lambda competition, uids: Team.objects.filter(
        competition=competition, uid__in=uids
    ).values_list("uid", "name"),
    "person": lambda competition, uids: User.objects.filter(uid__in=uids).values_list(
        "uid", "username"
    ),
    "board": lambda competition, uids: [
        (board.uid, str(board))
        for board in Board.objects.filter(round__competition=competition, uid__in=uids)
    ],
}


def _title(event: Event) -> str:
    if event.kind == EventKind.SOLUTION_SEALED and event.data.get("version") is None:
        return "The solution was withdrawn"
    if event.kind == EventKind.INVITED and "person" in event.subjects:
        return "Somebody was let in"
    return EventKind(event.kind).label


def _about(subjects: Mapping[str, Any], names: Mapping[str, Mapping[str, str]]) -> str:
    parts = [found[subjects[kind]] for kind, found in names.items() if subjects.get(kind) in found]
    if "submission" in subjects:
        parts.append(f"submission {subjects['submission']}")
    if subjects.get("round", 1) != 1:
        parts.append(f"round {subjects['round']}")
    return ", ".join(parts)


def _changes(data: Mapping[str, Any]) -> Iterator[Change]:
    before = data.get("before") or {}
    for name in dict.fromkeys((*data, *before)):
        if name not in ("before", "guarantees"):  # these are of boards, and shown there
            yield Change(
                _WORDS.get(name, name.replace("_", " ")),
                _shown(before.get(name)),
                _shown(data.get(name)),
            )


def _shown(value: Any) -> str | datetime:
    if value is None or value == "":
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        if value.keys() == {"characters", "sha256"}:
            return f"{value['characters']:,} characters, SHA-256 {value['sha256'][:12]}…"
        return ", ".join(f"{name}: {_plain(_shown(each))}" for name, each in value.items())
    if isinstance(value, list):
        return ", ".join(_plain(_shown(each)) for each in value)
    try:
        return datetime.fromisoformat(value).astimezone(UTC) if "T" in value else value
    except (TypeError, ValueError):
        return str(value)


def _plain(value: str | datetime) -> str:
    return value if isinstance(value, str) else f"{value:%Y-%m-%d %H:%M} UTC"


_CSV: Final[Mapping[str, Callable[[Happening], object]]] = {
    "number": lambda row: row.number,
    "when": lambda row: row.created_at.isoformat(),
    "kind": lambda row: row.kind,
    "what": lambda row: row.title,
    "who": lambda row: plain_text(row.who),
    "about": lambda row: plain_text(row.about),
    "changes": lambda row: plain_text(
        "; ".join(
            f"{each.name}: {_plain(each.before)} -> {_plain(each.after)}" for each in row.changes
        )
    ),
}
