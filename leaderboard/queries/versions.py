"""Whether a board shows something new, without reading it."""

from hashlib import blake2b

from django.utils import timezone

from leaderboard.access import Person, may_see_others
from leaderboard.models import Board, Event
from leaderboard.queries.boards import my_team


def board_version(board: Board, user: Person) -> str:
    """Return a text that is another one whenever the board has changed for this person.

    Who may not know of other teams gets one that the own team's row alone makes another: no key of
    the database is in it, for keys count what others do.
    """
    round = board.round
    facts: tuple[object, ...]
    if may_see_others(user, round.competition):
        events = Event.objects.filter(competition=round.competition_id).order_by("-number")
        newest = events.values_list("number", flat=True).first()
        entries = round.ledger.entries if round.ledger else 0
        facts = entries, newest, round.revealed_at, timezone.now().date()
    else:
        own = board.standings.filter(team=my_team(board, user))
        said = ("team__uid", "last__submission__number", "last__kind", "loss", "entries")
        facts = own.values_list(*said, "is_ranked").first() or ()
    text = repr((board.uid, getattr(user, "uid", ""), facts))
    return blake2b(text.encode(), digest_size=12).hexdigest()
