"""Whether a board shows something new, without reading it."""

from datetime import date, datetime
from hashlib import blake2b
from typing import NamedTuple

from django.db.models import QuerySet
from django.utils import timezone

from leaderboard.access import Person, may_see_others
from leaderboard.models import Board, Event, Standing, Team
from leaderboard.platform.statements import prepared
from leaderboard.queries.boards import my_team


class BoardFacts(NamedTuple):
    """What a board follows from, for those who may know of every team: of the same, the same.

    `entries` are those of its ledger, `event` is the number of the competition's newest one.
    """

    entries: int
    event: int
    revealed_at: datetime | None
    day: date


def board_facts(board: Board) -> BoardFacts:
    """Return what the board follows from now."""
    round = board.round
    newest = next(iter(_newest_events(competition=round.competition_id)), 0)
    entries = round.ledger.entries if round.ledger else 0
    return BoardFacts(entries, newest, round.revealed_at, timezone.now().date())


@prepared
def _newest_events(competition: int) -> QuerySet[Event, int]:
    events = Event.objects.filter(competition=competition).order_by("-number")
    return events.values_list("number", flat=True)[:1]


def newest_entry(board: Board, team: Team | None) -> int:
    """Return the number of the newest ledger entry on a team's row of the board; 0 without one."""
    if team is None:
        return 0
    return next(iter(_newest_entries(board=board.pk, team=team.pk)), 0)


@prepared
def _newest_entries(board: int, team: int) -> QuerySet[Standing, int]:
    own = Standing.objects.filter(board=board, team=team).order_by()
    return own.values_list("last__number", flat=True)


def board_version(board: Board, user: Person, facts: BoardFacts | None = None) -> str:
    """Return a text that is another one whenever the board has changed for this person.

    Who may not know of other teams gets one that the own team's row alone makes another: no key of
    the database is in it, for keys count what others do. facts: of the board that is shown, if they
    have been read.
    """
    said: tuple[object, ...]
    if may_see_others(user, board.round.competition):
        said = facts or board_facts(board)
    else:
        own = board.standings.filter(team=my_team(board, user))
        columns = ("team__uid", "last__submission__number", "last__kind", "loss", "entries")
        said = own.values_list(*columns, "is_ranked").first() or ()
    text = repr((board.uid, getattr(user, "uid", ""), tuple(said)))
    return blake2b(text.encode(), digest_size=12).hexdigest()
