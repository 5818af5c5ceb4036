"""What people are told of: which events, whom, and in which words. Inbox and mails share it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from typing import Final

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.urls import reverse
from django.utils import timezone

from leaderboard.models import (
    Announcement,
    Audience,
    Event,
    EventKind,
    Membership,
    NoticeKind,
    Role,
    Selection,
    Submission,
    Team,
    User,
)

# These can wait for a daily mail; the others are of use at once, or not at all.
CAN_WAIT: Final = frozenset(
    {NoticeKind.ANNOUNCEMENT, NoticeKind.RULES, NoticeKind.FINALS, NoticeKind.REVISION}
)
_JOINING: Final = (EventKind.TEAM_CREATED, EventKind.MEMBER_JOINED)


@dataclass(frozen=True)
class Text:
    """What a notice says: `path` and `link` are where it leads and the words for that.

    The body is plain, or Markdown where an organizer wrote it.
    """

    subject: str
    body: str
    path: str
    link: str
    is_markdown: bool = False


@dataclass(frozen=True)
class Source:
    """A kind of events that people are told of: whom it concerns, as things are now, and the words.

    `of_then`: those who joined after it are told nothing.
    """

    kind: NoticeKind
    people: Callable[[Event], QuerySet[User]]
    write: Callable[[Event, Announcement | None], Text]
    of_then: bool = False


def tells(event: Event) -> bool:
    """Return whether somebody may be told of an event."""
    return event.kind in SOURCES and RARELY.get(event.kind, event.kind) in (event.kind, *event.data)


def telling() -> Q:
    """Return the same as a filter of events, by which the many others are passed over."""
    often = Q(kind__in=SOURCES.keys() - RARELY.keys())
    for kind, name in RARELY.items():
        often |= Q(kind=kind, data__has_key=name)
    return often


def kind_of(event: Event) -> NoticeKind:
    """Return what kind of a notice an event makes."""
    return SOURCES[event.kind].kind


def people(event: Event) -> QuerySet[User]:
    """Return whom an event concerns, as things are now."""
    return SOURCES[event.kind].people(event).filter(is_active=True)


def recipients(event: Event) -> QuerySet[User]:
    """Return who is told of an event that has just happened."""
    found = people(event)
    if SOURCES[event.kind].of_then:
        later = Event.objects.filter(
            competition=event.competition_id, number__gt=event.number, kind__in=_JOINING
        )
        newcomers = {each["user"] for each in later.values_list("subjects", flat=True)}
        found = found.exclude(uid__in=newcomers)
    return found.order_by("pk")


def text_of(event: Event, announcement: Announcement | None = None) -> Text:
    """Return what a notice of the event says; of an announcement, as it is now."""
    return SOURCES[event.kind].write(event, announcement)


def announcement_of(event: Event) -> Announcement | None:
    """Return the announcement that an event is about; None for others and one withdrawn."""
    if event.kind != EventKind.ANNOUNCED:
        return None
    shown = Announcement.objects.shown().filter(competition=event.competition_id)
    return shown.filter(number=event.subjects["announcement"]).first()


# --- Whom -----------------------------------------------------------------------------------------


def _members(event: Event) -> QuerySet[User]:
    """Return the members, unless what happened is for organizers, as in a draft."""
    if event.audience != Audience.PUBLIC:
        return User.objects.none()
    joined = Membership.objects.active().filter(competition=event.competition_id)
    return User.objects.filter(Exists(joined.filter(user=OuterRef("pk"))))


def _told_by_organizers(event: Event) -> QuerySet[User]:
    is_new = event.data.get("change") == "announced" and announcement_of(event) is not None
    return _members(event) if is_new else User.objects.none()


def _sender(event: Event) -> QuerySet[User]:
    """Return who sent a submission, while they are in its team."""
    sent = Submission.objects.filter(
        team__competition=event.competition_id,
        team__uid=event.subjects["team"],
        number=event.subjects["submission"],
    )
    joined = Membership.objects.active().filter(competition=event.competition_id)
    in_team = joined.filter(team__uid=event.subjects["team"])
    return User.objects.filter(pk__in=sent.values("user")).filter(pk__in=in_team.values("user"))


def _undecided(event: Event) -> QuerySet[User]:
    """Return the members of teams that have something to select and have not."""
    round = event.competition.rounds.get(number=event.subjects["round"])
    if round.closes_at is None or round.closes_at <= timezone.now():
        return User.objects.none()  # a mail that waited for its server
    answered = Submission.objects.filter(
        round__ledger=round.ledger_id, release__isnull=False, is_practice=False
    )
    selected = Selection.objects.filter(submission__round__ledger=round.ledger_id)
    joined = Membership.objects.active().filter(competition=event.competition_id)
    undecided = joined.filter(team__in=answered.values("team"))
    return User.objects.filter(
        pk__in=undecided.exclude(team__in=selected.values("team")).values("user")
    )


def _invited(event: Event) -> QuerySet[User]:
    """Return who was invited by the name of an account and has not joined.

    Before the opening nobody can follow an invitation: the opening is what they are told of.
    """
    joined = Membership.objects.filter(competition=event.competition_id)
    invited = event.competition.invited.exclude(pk__in=joined.values("user"))
    opened_at = event.competition.opened_by_organizer_at
    if opened_at is None or event.created_at < opened_at:
        return invited.none()
    named: list[list[str]] = [event.subjects.get("people", [])]
    if event.kind == EventKind.OPENED:
        before = Event.objects.filter(
            competition=event.competition_id, kind=EventKind.INVITED, number__lt=event.number
        )
        named = [each.get("people", []) for each in before.values_list("subjects", flat=True)]
    return invited.filter(uid__in=list(chain.from_iterable(named)))


def _owners(event: Event) -> QuerySet[User]:
    """Return the owners, where a webhook was turned off because it failed."""
    if event.data.get("change") != "disabled":
        return User.objects.none()
    return User.objects.filter(roles__competition=event.competition_id, roles__role=Role.OWNER)


def _captain(event: Event) -> QuerySet[User]:
    """Return the captain of the team that was asked or declined, while that is news."""
    team = Team.objects.filter(competition=event.competition_id, uid=event.subjects["team"])
    if event.kind == EventKind.MERGE_ASKED:
        asking = Q(merge_requests__team__uid=event.subjects["from"])
        team = team.filter(asking)
    return User.objects.filter(pk__in=team.values("captain"))


def _team(event: Event) -> QuerySet[User]:
    joined = Membership.objects.active().filter(team__uid=event.subjects["team"])
    return User.objects.filter(pk__in=joined.values("user"))


def _subject(event: Event) -> QuerySet[User]:
    return User.objects.filter(uid=event.subjects["user"])


# --- In which words -------------------------------------------------------------------------------


def _path(event: Event, name: str, *more: object) -> str:
    return reverse(name, args=[event.competition.slug, *more])


def _round(event: Event) -> str:
    """Return how a text begins: a competition of one round never shows the word."""
    number = event.subjects.get("round", 1)
    return f"Round {number}: " if number > 1 else ""


def _announcement(event: Event, announcement: Announcement | None) -> Text:
    title = announcement.title if announcement else event.data["title"]
    body = announcement.text if announcement else ""
    path = f"{_path(event, 'announcements')}#{event.subjects['announcement']}"
    return Text(title, body, path, "Read it on the site", is_markdown=True)


def _result(event: Event, _: Announcement | None) -> Text:
    number, minutes = event.subjects["submission"], event.data["minutes"]
    is_released = event.kind == EventKind.SUBMISSION_RELEASED
    return Text(
        f"Submission {number} {'has its result' if is_released else 'was rejected'}",
        f"You sent it {minutes} minutes before."
        + ("" if is_released else " Nothing was counted: correct the file and send it again."),
        _path(event, "submission", number),
        "See the result" if is_released else "See what is wrong",
    )


def _deadline(event: Event, _: Announcement | None) -> Text:
    return Text(
        f"{_round(event)}Your team has not selected its finals",
        f"Submitting ends on {_moment(event.data['closes_at'])}. Your best submission will be used "
        "unless you select others.",
        f"{_path(event, 'submissions')}#finals",
        "Select your finals",
    )


def _moment(text: str) -> str:
    at = datetime.fromisoformat(text)
    return f"{at.day} {at:%B %Y, %H:%M} UTC"


def _moved(event: Event, _: Announcement | None) -> Text:
    closes_at = event.data["closes_at"]
    ends = f"Submitting now ends on {_moment(closes_at)}." if closes_at else "It has no end now."
    path = _path(event, "competition")
    return Text(f"{_round(event)}The deadline was moved", ends, path, "See the competition")


def _closed(event: Event, _: Announcement | None) -> Text:
    return Text(
        f"{_round(event)}Submitting has ended early",
        f"The organizers closed it on {_moment(event.data['closes_at'])}. What was received before "
        "is scored and counts.",
        f"{_path(event, 'submissions')}#finals",
        "Select your finals",
    )


def _invitation(event: Event, _: Announcement | None) -> Text:
    return Text(
        "You are invited",
        f"The organizers of “{event.competition.title}” invite you to take part.",
        _path(event, "competition"),
        "Look at the competition",
    )


def _named(event: Event, uid: str) -> str:
    """Return a team's name as it is now."""
    teams = Team.objects.filter(competition=event.competition_id, uid=uid)
    return f"“{teams.values_list('name', flat=True).first() or 'a team'}”"


def _merge_asked(event: Event, _: Announcement | None) -> Text:
    asking = event.subjects["from"]
    return Text(
        f"The team {_named(event, asking)} asks to become a part of yours",
        "See what that would do before you accept or decline it.",
        _path(event, "team-merge", asking),
        "See what merging would do",
    )


def _merge_declined(event: Event, _: Announcement | None) -> Text:
    name = _named(event, event.subjects["from"])
    return Text(f"The team {name} declined to merge", "", _path(event, "team"), "See your team")


def _merged(event: Event, _: Announcement | None) -> Text:
    part, whole = (_named(event, uid) for uid in (event.data["merged"], event.subjects["team"]))
    return Text(
        f"The team {part} is a part of {whole} now",
        "Its members and submissions are that team’s, and so is what it used of quotas.",
        _path(event, "team"),
        "See your team",
    )


def _captain_changed(event: Event, _: Announcement | None) -> Text:
    name = _named(event, event.subjects["team"])
    return Text(f"You are the captain of {name} now", "", _path(event, "team"), "See your team")


def _removed(event: Event, _: Announcement | None) -> Text:
    return Text(
        f"You were removed from the team {_named(event, event.subjects['team'])}",
        "Its captain did that. If the team has submitted, you can come back to it, but join no "
        "other one in this round.",
        _path(event, "competition"),
        "Look at the competition",
    )


def _rules(event: Event, _: Announcement | None) -> Text:
    body = "Read them and accept them before you submit again."
    return Text("The rules changed", body, _path(event, "rules"), "Read the rules")


def _finals_started(event: Event, _: Announcement | None) -> Text:
    return Text(
        f"{_round(event)}The finals have started",
        "Nothing can be submitted or selected any more. The final board follows.",
        _path(event, "submissions"),
        "See what counts for your team",
    )


def _revealed(event: Event, _: Announcement | None) -> Text:
    subject = f"{_round(event)}The final board is out"
    return Text(subject, "", _path(event, "leaderboard"), "See the final board")


def _revised(event: Event, _: Announcement | None) -> Text:
    return Text(
        f"{_round(event)}The solution was revised",
        f"{event.data['reason']}\n\nScores on the board may change.",
        _path(event, "leaderboard"),
        "See the leaderboard",
    )


def _webhook_disabled(event: Event, _: Announcement | None) -> Text:
    return Text(
        "A webhook was turned off",
        f"The webhook {event.data['url']} was turned off: {event.data['reason']}\n\n"
        "Once its server answers again, turn it on.",
        _path(event, "organize-webhooks"),
        "See the webhooks",
    )


SOURCES: Final[Mapping[str, Source]] = {
    EventKind.ANNOUNCED: Source(
        NoticeKind.ANNOUNCEMENT, _told_by_organizers, _announcement, of_then=True
    ),
    EventKind.SUBMISSION_RELEASED: Source(NoticeKind.RESULT, _sender, _result),
    EventKind.SUBMISSION_REJECTED: Source(NoticeKind.RESULT, _sender, _result),
    EventKind.DEADLINE_NEAR: Source(NoticeKind.DEADLINE, _undecided, _deadline),
    EventKind.DEADLINE_CHANGED: Source(NoticeKind.SCHEDULE, _members, _moved, of_then=True),
    EventKind.CLOSED: Source(NoticeKind.SCHEDULE, _members, _closed, of_then=True),
    EventKind.INVITED: Source(NoticeKind.INVITATION, _invited, _invitation),
    EventKind.OPENED: Source(NoticeKind.INVITATION, _invited, _invitation),
    EventKind.RULES_CHANGED: Source(NoticeKind.RULES, _members, _rules, of_then=True),
    EventKind.FINALS_STARTED: Source(NoticeKind.FINALS, _members, _finals_started, of_then=True),
    EventKind.REVEALED: Source(NoticeKind.FINALS, _members, _revealed, of_then=True),
    EventKind.REVISED: Source(NoticeKind.REVISION, _members, _revised, of_then=True),
    EventKind.MERGE_ASKED: Source(NoticeKind.TEAM, _captain, _merge_asked),
    EventKind.MERGE_DECLINED: Source(NoticeKind.TEAM, _captain, _merge_declined),
    EventKind.TEAM_MERGED: Source(NoticeKind.TEAM, _team, _merged),
    EventKind.CAPTAIN_CHANGED: Source(NoticeKind.TEAM, _subject, _captain_changed),
    EventKind.MEMBER_REMOVED: Source(NoticeKind.TEAM, _subject, _removed),
    EventKind.WEBHOOK_CHANGED: Source(NoticeKind.WEBHOOK_DISABLED, _owners, _webhook_disabled),
}
# Of these most concern nobody: those that do have this in their data.
RARELY: Final[Mapping[str, str]] = {
    EventKind.SUBMISSION_RELEASED: "minutes",
    EventKind.SUBMISSION_REJECTED: "minutes",
    EventKind.DEADLINE_CHANGED: "closes_at",
}
