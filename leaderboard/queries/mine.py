"""A person's own competitions, as the home page shows them."""

from dataclasses import dataclass
from datetime import datetime

from django.utils import timezone

from leaderboard.models import Phase, Team, User
from leaderboard.participate.quotas import Quota
from leaderboard.queries.boards import board, board_row
from leaderboard.queries.finals import final_board
from leaderboard.queries.submissions import SubmissionRow, submission_rows
from leaderboard.queries.teams import quota


@dataclass(frozen=True)
class MyCompetition:
    """A competition that the person's team takes part in.

    `place` of `places`, with the team's `score`, on the board that is shown now: None where there
    is none, or where nobody knows of others. `quota` is what may still be uploaded, while files are
    taken. `last` is the last file of the team.
    """

    slug: str
    title: str
    team: str
    phase: Phase
    opens_at: datetime
    closes_at: datetime | None
    revealed_at: datetime | None
    place: int | None
    places: int | None
    score: str | None
    quota: Quota | None
    last: SubmissionRow | None


def my_competitions(user: User) -> tuple[MyCompetition, ...]:
    """Return those that take files first, by their deadline; then the rest, the newest first."""
    own = Team.objects.filter(memberships__user=user, memberships__left_at=None)
    found = [_mine(user, team) for team in own.select_related("competition")]
    open_ones = [each for each in found if each.phase is Phase.OPEN]
    others = [each for each in found if each.phase is not Phase.OPEN]
    open_ones.sort(key=lambda each: (each.closes_at is None, each.closes_at or each.opens_at))
    others.sort(key=lambda each: each.closes_at or each.opens_at, reverse=True)
    return (*open_ones, *others)


def _mine(user: User, team: Team) -> MyCompetition:
    round = team.competition.current_round
    phase = round.phase(timezone.now())
    place, places, score = None, None, None
    if round.revealed_at is not None:
        final = final_board(round, user, page_rows=1)
        if final.my_row is not None:
            place, places, score = final.my_row.rank, final.total, final.my_row.best.score
    elif phase is not Phase.DRAFT and (row := board_row(round.board, user)) is not None:
        place, score = row.rank, row.score
        places = board(round.board, user, page_rows=1).total if place else None
    last = submission_rows(team, slice(1))
    return MyCompetition(
        slug=team.competition.slug,
        title=team.competition.title,
        team=team.name,
        phase=phase,
        opens_at=round.opens_at,
        closes_at=round.closes_at,
        revealed_at=round.revealed_at,
        place=place,
        places=places,
        score=score,
        quota=quota(team) if phase is Phase.OPEN else None,
        last=last[0] if last else None,
    )
