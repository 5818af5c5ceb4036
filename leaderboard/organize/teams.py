"""What organizers change of a team: its name, its marks, its quota, and what it is merged with."""

from typing import Any, Final

from django.db import IntegrityError, transaction

from leaderboard.access import Right, check_right
from leaderboard.errors import Refused, refuse_fields
from leaderboard.ledger import lock
from leaderboard.models import Audience, EventKind, Team, User
from leaderboard.notify.events import record
from leaderboard.organize import changes
from leaderboard.organize.sanctions import place_anew
from leaderboard.participate import membership
from leaderboard.participate.membership import clean_team_name

MOST_EXTRA: Final = 10_000

_MARKS: Final = {
    "is_verified": EventKind.TEAM_VERIFIED,
    "is_baseline": EventKind.BASELINE_CHANGED,
}


def change_team(
    team: Team,
    by: User,
    *,
    name: str | None = None,
    is_verified: bool | None = None,
    is_baseline: bool | None = None,
) -> None:
    """Rename and mark a team; None leaves a thing as it is. Raises Refused, naming the field."""
    competition = team.competition
    check_right(by, competition, Right.JUDGE)
    wished: dict[str, Any] = {
        "name": None if name is None else check_name(team, name),
        "is_verified": is_verified,
        "is_baseline": is_baseline,
    }
    with transaction.atomic():
        if is_baseline is not None and is_baseline != team.is_baseline:
            lock.lock(competition)  # its rows of boards are written anew
        before = Team.objects.select_for_update(no_key=True).get(pk=team.pk)
        changed = {
            field: value
            for field, value in wished.items()
            if value is not None and value != getattr(before, field)
        }
        try:
            with transaction.atomic():
                Team.objects.filter(pk=team.pk).update(**changed)
        except IntegrityError:
            raise Refused("invalid", field="name", variant="name_taken") from None
        if "is_baseline" in changed:
            before.is_baseline = changed["is_baseline"]
            place_anew(competition, before)
            before.is_baseline = not changed["is_baseline"]
        for field, value in changed.items():
            kind = _MARKS.get(field, EventKind.TEAM_RENAMED)
            data = changes.changed({field: getattr(before, field)}, {field: value})
            record(competition, kind, actor=by, subjects={"team": team.uid}, **data)
    team.refresh_from_db()


def check_name(team: Team, name: str) -> str:
    """Return the name with single spaces. Raises Refused where it is none, or another team's."""
    try:
        cleaned = clean_team_name(name)
    except Refused as refused:
        raise Refused("invalid", **refused.facts | {"field": "name"}) from None
    others = Team.objects.filter(competition=team.competition_id).exclude(pk=team.pk)
    if others.filter(name__iexact=cleaned).exists():
        raise Refused("invalid", field="name", variant="name_taken")
    return cleaned


def add_quota(team: Team, *, daily: int, total: int, by: User | None) -> None:
    """Let a team send so many files more, a day and in all, than the limits of all teams.

    It takes the place of what the team was given before. The declared questions of the ledger stay
    as they are. Raises Refused for other numbers, and for `total` where there is no limit in all.
    """
    wrong = {"variant": "extra_out_of_range", "limit": MOST_EXTRA}
    given = {"daily": daily, "total": total}
    refuse_fields({name: wrong for name, extra in given.items() if not 0 <= extra <= MOST_EXTRA})
    with transaction.atomic():
        # The lock under which intake counts.
        locked = Team.objects.select_for_update(no_key=True).get(pk=team.pk)
        competition = locked.competition
        check_right(by, competition, Right.JUDGE)
        if total and competition.current_round.total_limit is None:
            raise Refused("invalid", field="total", variant="no_total_limit")
        before = {"extra_daily": locked.extra_daily, "extra_total": locked.extra_total}
        after = {"extra_daily": daily, "extra_total": total}
        if before == after:
            return
        locked.extra_daily, locked.extra_total = daily, total
        locked.save(update_fields=list(after))
        record(
            competition,
            EventKind.QUOTA_ADDED,
            actor=by,
            audience=Audience.TEAM,
            subjects={"team": team.uid},
            **changes.changed(before, after),
        )
    team.refresh_from_db()


def merge_teams(team: Team, into: Team, *, by: User) -> None:
    """Merge a team into another one, for good. Raises Refused, as `membership.merge` does."""
    check_right(by, team.competition, Right.JUDGE)
    membership.merge(team=team, into=into, by=by)
