"""Teams and people as others see them: who they are, and how they did."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from django.utils import timezone

from leaderboard.access import (
    Person,
    may_view_console,
    membership_of,
    organized_competitions,
    unseen,
    visible_competitions,
)
from leaderboard.models import (
    Competition,
    Invitee,
    Membership,
    Phase,
    Round,
    Sanction,
    SanctionKind,
    Team,
    User,
)
from leaderboard.queries.boards import team_row
from leaderboard.queries.finals import FinalPlace, final_places, final_row
from leaderboard.queries.rounds import begun_rounds, titled
from leaderboard.queries.teams import Member, members


@dataclass(frozen=True)
class Result:
    """What a team has reached in a round: its place on the final board, or on the running one.

    `title` is empty where the first round has none. `rank` of `total` is None while places are
    hidden, and for a baseline. `team` had it under its own name, if that was merged into another
    one since.
    """

    round: int
    title: str
    team: str
    rank: int | None
    tied: bool
    total: int
    score: str
    entries: int | None
    is_final: bool


@dataclass(frozen=True)
class TeamProfile:
    """A team as the person sees it. `unnamed` members take part under an alias that hides them.

    `merged` names the teams that became parts of it; `reason` is why it is disqualified.
    """

    team: Team
    members: tuple[Member, ...]
    unnamed: int
    merged: tuple[str, ...]
    results: tuple[Result, ...]
    reason: str
    is_mine: bool

    @property
    def people(self) -> int:
        """Return how many members there are."""
        return len(self.members) + self.unnamed


@dataclass(frozen=True)
class Participation:
    """A competition that a person takes part in, and what the team reached in it."""

    slug: str
    title: str
    phase: Phase
    team: str
    team_uid: str
    since: datetime
    places: tuple[FinalPlace, ...]


@dataclass(frozen=True)
class PersonProfile:
    """A person with the competitions that the looker may know of, the newest first."""

    username: str
    joined_at: datetime
    competitions: tuple[Participation, ...]


def team_profile(team: Team, user: Person) -> TeamProfile:
    """Return a team's page. Whether it may be seen is for the caller to know."""
    competition = team.competition
    own = membership_of(user, competition)
    is_mine = own is not None and own.team_id == team.pk
    everybody = members(team)
    aliased = set[str]()
    if not is_mine and not may_view_console(user, competition):
        named = Invitee.objects.filter(competition=competition).exclude(alias="")
        aliased = set(named.filter(user__isnull=False).values_list("user__username", flat=True))
    shown = tuple(each for each in everybody if each.username not in aliased)
    held = Sanction.objects.at().of_teams().filter(team=team, kind=SanctionKind.DISQUALIFIED)
    merged = list(team.merged.order_by("name"))
    return TeamProfile(
        team=team,
        members=shown,
        unnamed=len(everybody) - len(shown),
        merged=tuple(each.name for each in merged),
        results=tuple(_results(competition, [team, *merged], user)),
        reason=held.values_list("reason", flat=True).first() or "",
        is_mine=is_mine,
    )


def _results(competition: Competition, teams: list[Team], user: Person) -> Iterator[Result]:
    rounds = begun_rounds(competition) if competition.opened_by_organizer_at else []
    for round in reversed(rounds):
        is_final = round.revealed_at is not None
        for team in teams if is_final else teams[:1]:
            result = _final(round, team, user) if is_final else _running(round, team, user)
            if result is not None:
                yield result


def _final(round: Round, team: Team, user: Person) -> Result | None:
    row, total = final_row(round, team, user)
    if row is None:
        return None
    found = (round.number, titled(round), team.name, row.rank, row.tied, total, row.best.score)
    return Result(*found, entries=None, is_final=True)


def _running(round: Round, team: Team, user: Person) -> Result | None:
    row, total = team_row(round.board, team, user)
    if row is None:
        return None
    found = (round.number, titled(round), team.name, row.rank, row.tied, total, row.score or "")
    return Result(*found, entries=row.entries, is_final=False)


def person_profile(person: User, user: Person) -> PersonProfile:
    """Return a person's page.

    It names no competition where teams are hidden from each other, none where the person takes part
    under an alias, and no team that is hidden: but to those who organize it.
    """
    seen = visible_competitions(user).filter(opened_by_organizer_at__isnull=False)
    mine = person.memberships.active().filter(competition__in=seen, team__is_baseline=False)
    rows = mine.select_related("competition", "team").prefetch_related("competition__rounds")
    found = list(rows.order_by("-accepted_at", "-pk"))
    hiding = unseen(user, (each.competition for each in found))
    organized = set(organized_competitions(user).values_list("pk", flat=True))
    aliased = set(person.invitees.exclude(alias="").values_list("competition", flat=True))
    sanctioned = {each["team"] for each in Sanction.objects.hidden_teams()}
    shown = [
        each
        for each in found
        if each.competition_id in organized
        or (each.competition_id not in hiding | aliased and each.team_id not in sanctioned)
    ]
    places = final_places([each.team_id for each in shown])
    return PersonProfile(
        username=person.username,
        joined_at=person.date_joined,
        competitions=tuple(_participation(each, places) for each in shown),
    )


def _participation(membership: Membership, places: dict[int, list[FinalPlace]]) -> Participation:
    competition, team = membership.competition, membership.team
    return Participation(
        slug=competition.slug,
        title=competition.title,
        phase=competition.phase(timezone.now()),
        team=team.name,
        team_uid=team.uid,
        since=membership.accepted_at,
        places=tuple(places.get(team.pk, ())),
    )
