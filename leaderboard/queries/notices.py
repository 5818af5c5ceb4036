"""A person's inbox, which mails they get, and how the first places of a board changed."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from allauth.account.models import EmailAddress
from django.db.models import QuerySet
from django.utils import timezone

from leaderboard.access import visible_competitions
from leaderboard.models import (
    Board,
    Channel,
    Competition,
    Event,
    EventKind,
    Mailbox,
    Notice,
    NoticeKind,
    Preference,
    Rhythm,
    Role,
    Sanction,
    User,
    Visibility,
)
from leaderboard.notify import account_texts
from leaderboard.notify.account_texts import SUBJECTS
from leaderboard.notify.notices import Text, text_of
from leaderboard.platform.statements import prepared
from leaderboard.queries.scales import scale

MOST_COUNTED: Final = 100  # above that nobody wants to know how many
CHANGES: Final = 50
SECURITY_SHOWN: Final = timedelta(days=30)
SECURITY_ROWS: Final = 10


# --- The inbox ------------------------------------------------------------------------------------


def inbox(user: User) -> QuerySet[Notice]:
    """Return the person's notices, the newest first: none of what they may not see any more."""
    rows = Notice.objects.filter(recipient=user, announcement__withdrawn_at__isnull=True)
    rows = rows.filter(competition__in=visible_competitions(user))
    return rows.select_related("event__competition", "announcement").order_by("-created_at", "-pk")


def count_unread(user: User) -> int:
    """Return how many notices the person has not read; no more than `MOST_COUNTED`.

    Every page asks: so it is one small query, unless some are of competitions that not everybody
    may see.
    """
    rows = _unread(recipient=user.pk)
    unseen = {key for key, shown, opened in rows if shown != Visibility.PUBLIC or opened is None}
    if unseen:
        seen = visible_competitions(user).filter(pk__in=unseen)
        unseen.difference_update(seen.values_list("pk", flat=True))
    return sum(key not in unseen for key, *_ in rows)


@prepared
def _unread(recipient: int) -> QuerySet[Notice, tuple[int, str, datetime | None]]:
    unread = Notice.objects.filter(
        recipient=recipient, read_at__isnull=True, announcement__withdrawn_at__isnull=True
    )
    about = ("competition", "competition__visibility", "competition__opened_by_organizer_at")
    return unread.order_by().values_list(*about)[:MOST_COUNTED]


@dataclass(frozen=True)
class NoticeRow:
    """A notice as it is read."""

    uid: str
    kind: NoticeKind
    competition: Competition
    text: Text
    created_at: datetime
    read_at: datetime | None


def notice_rows(rows: Iterable[Notice]) -> list[NoticeRow]:
    """Return these notices with their words."""
    return [
        NoticeRow(
            row.uid,
            NoticeKind(row.kind),
            row.event.competition,
            text_of(row.event, row.announcement),
            row.created_at,
            row.read_at,
        )
        for row in rows
    ]


@dataclass(frozen=True)
class SecurityRow:
    """A change of how the person signs in, in the words of the mail about it."""

    text: Text
    detail: str
    created_at: datetime


def security_rows(user: User) -> list[SecurityRow]:
    """Return what happened lately to the security of the account, the newest first.

    Mails about it need an address that is confirmed, and may be lost; this needs a session alone.
    """
    since = timezone.now() - SECURITY_SHOWN
    events = user.events.filter(kind__in=SUBJECTS, created_at__gte=since)[:SECURITY_ROWS]
    return [
        SecurityRow(account_texts.text_of(each), each.detail, each.created_at) for each in events
    ]


# --- Mails ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Choice:
    """Whether a person wants mails of a kind, of all competitions or of one."""

    kind: NoticeKind
    is_wanted: bool
    competition: Competition | None = None

    @property
    def name(self) -> str:
        """Return the name of its field in a form."""
        return f"{self.competition.pk}:{self.kind}" if self.competition else self.kind.value


@dataclass(frozen=True)
class MailSettings:
    """What a person is sent, and when; `ended` is what they ended for single competitions.

    `refused` is the address that nothing is sent to, because a mail server refused it.
    """

    kinds: tuple[Choice, ...]
    ended: tuple[Choice, ...]
    rhythm: Rhythm
    has_confirmed_address: bool
    refused: str
    refused_at: datetime | None
    refused_because: str

    @property
    def rhythms(self) -> list[tuple[str, str]]:
        """Return what there is to choose from, with its words."""
        return Rhythm.choices


def mail_settings(user: User) -> MailSettings:
    """Return what the person is sent by mail."""
    rows = Preference.objects.filter(user=user, channel=Channel.MAIL, is_wanted=False)
    unwanted = list(rows.select_related("competition").order_by("competition__title", "kind"))
    never = {row.kind for row in unwanted if row.competition is None}
    kinds = [each for each in NoticeKind if each is not NoticeKind.DIGEST]
    if not user.roles.filter(role=Role.OWNER).exists():
        kinds.remove(NoticeKind.WEBHOOK_DISABLED)
    seen = set(visible_competitions(user).filter(pk__in=[row.competition_id for row in unwanted]))
    box = Mailbox.objects.filter(user=user).first() or Mailbox(user=user)
    addresses = EmailAddress.objects.filter(user=user, verified=True)
    confirmed = addresses.order_by("-primary", "pk").values_list("email", flat=True).first()
    is_refused = confirmed is not None and box.refused == confirmed
    return MailSettings(
        kinds=tuple(Choice(kind, kind.value not in never) for kind in kinds),
        ended=tuple(
            Choice(NoticeKind(row.kind), False, row.competition)
            for row in unwanted
            if row.competition in seen
        ),
        rhythm=Rhythm(box.rhythm),
        has_confirmed_address=confirmed is not None,
        refused=box.refused if is_refused else "",
        refused_at=box.refused_at,
        refused_because=box.refused_because,
    )


# --- The first places -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Placed:
    """A team among the first of a board, with its score then."""

    team: str
    score: str


@dataclass(frozen=True)
class LeadersChange:
    """How the first places of a board changed by a release. `is_lead`: the first one did."""

    round: int
    places: tuple[Placed, ...]
    is_lead: bool
    at: datetime
    key: int

    @property
    def title(self) -> str:
        """Return it in one line."""
        round = f"Round {self.round}: " if self.round > 1 else ""
        if self.is_lead:
            return f"{round}{self.places[0].team} takes the lead with {self.places[0].score}"
        behind = zip(self.places[1:], ("2nd", "3rd"), strict=False)
        others = ", ".join(f"{each.team} is {place}" for each, place in behind)
        return f"{round}{others or f'{self.places[0].team} leads'}"


def leaders_changes(competition: Competition) -> list[LeadersChange]:
    """Return the latest changes of the first places, the newest first.

    Of boards that are hidden until the end there are none, for nobody. Those with a team that was
    taken off the boards since, or that had a submission taken off, are left out.
    """
    if competition.hides_others:  # an earlier round may, while this one goes on
        return []
    found = Event.objects.filter(competition=competition, kind=EventKind.LEADERS_CHANGED)
    events = list(found.order_by("-number")[:CHANGES])
    boards = {each.uid: each for each in Board.objects.filter(round__competition=competition)}
    scales = {uid: scale(board) for uid, board in boards.items()} if events else {}
    uids = {place["team"] for event in events for place in event.data["places"]}
    names = dict(
        competition.teams.filter(uid__in=uids, is_baseline=False).values_list("uid", "name")
    )
    sanctions = Sanction.objects.at().filter(team__uid__in=uids).order_by("created_at")
    whole = set(sanctions.of_teams().values_list("team__uid", flat=True))
    since = dict(sanctions.of_submissions().values_list("team__uid", "created_at"))

    def is_shown(team: str, at: datetime) -> bool:
        return team in names and team not in whole and not (team in since and at <= since[team])

    return [
        LeadersChange(
            event.subjects["round"],
            tuple(
                Placed(names[each["team"]], scales[event.subjects["board"]].text(each["loss"]))
                for each in event.data["places"]
            ),
            event.data["is_lead"],
            event.created_at,
            event.pk,
        )
        for event in events
        if event.subjects["board"] in boards
        and event.data["places"]
        and all(is_shown(each["team"], event.created_at) for each in event.data["places"])
    ]
