"""The check that every crash is followed by finds what it is there to find."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db.models import F
from django.utils import timezone

from leaderboard.models import (
    BoardState,
    Ledger,
    Release,
    Round,
    Standing,
    Status,
    Submission,
    Team,
    TeamState,
)
from tests.cast import CHECKED_ROWS, World, make_checked, predictions
from tests.servers.invariants import violations


@pytest.fixture
def played(world: World) -> World:
    """Two teams with answers of two mechanisms."""
    checked = make_checked("checked", world.organizer, budget="4", team_share="2")
    for user in (world.alice, world.bob):
        world.score(world.join(user), predictions([30]))
        team = world.join(user, f"{user.username} checked", checked)
        world.score(team, predictions(range(20, 90), CHECKED_ROWS))
    return world


def _change(model: type[Any], **fields: Any) -> Callable[[], object]:
    def change() -> None:
        model.objects.filter(pk=model.objects.order_by("-pk").values("pk")[:1]).update(**fields)

    return change


DAMAGE = {
    "a submission that waits for ever": _change(Submission, status=Status.SCORING),
    "a submission that failed": _change(Submission, status=Status.FAILED, failure="?"),
    "a released submission without release": _change(
        Submission, status=Status.REJECTED, finished_at=timezone.now()
    ),
    "a gap in the numbers": _change(Submission, number=7),
    "a quota that was overdrawn": lambda: (
        Round.objects.update(daily_limit=1)
        and Submission.objects.update(team=Team.objects.order_by("pk").first(), number=F("pk"))
    ),
    "a release that was changed": _change(Release, level=1),
    "a lost entry": lambda: Ledger.objects.update(entries=F("entries") + 1),
    "a question counted twice": lambda: Ledger.objects.update(asked=F("asked") + 1),
    "an alphabet that is missing": lambda: Ledger.objects.update(log_alphabets=0.0),
    "a budget spent twice": _change(BoardState, budget_left=1),
    "a share given back": _change(TeamState, share_left=2),
    "a level that nobody released": _change(TeamState, best=0),
    "a wrong score on the board": _change(Standing, loss=0.0),
    "an entry too many on the board": _change(Standing, entries=2),
}


def test_what_is_sound_is_not_accused(played: World) -> None:
    assert violations(settled=True) == []


@pytest.mark.parametrize("what", DAMAGE)
def test_damage_is_found(played: World, what: str) -> None:
    DAMAGE[what]()
    assert violations(settled=True)
