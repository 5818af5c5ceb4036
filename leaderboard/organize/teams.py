"""What organizers change of a team: its name and its marks."""

from typing import Any, Final

from django.db import IntegrityError, transaction

from leaderboard.access import Right, check_right
from leaderboard.errors import Refused
from leaderboard.models import EventKind, Team, User
from leaderboard.notify.events import record
from leaderboard.organize import changes
from leaderboard.participate.membership import clean_team_name

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
