"""A competition that was played, and the way out of this installation."""

from collections.abc import Callable
from pathlib import Path

import pytest

from leaderboard.models import (
    User,
)
from tests.cast import (
    World,
    predictions,
)
from tests.leaderboard.bundles.installations import FILES, go_elsewhere
from tests.snapshots import kept


@pytest.fixture
def played(world: World) -> World:
    """Let two teams have answers."""
    _play(world)
    return world


@kept
def _play(world: World) -> None:
    for user in (world.alice, world.bob):
        team = world.join(user)
        for wrong in FILES:
            world.score(team, predictions(wrong=wrong))


@pytest.fixture
def leave(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], User]:
    """Leave for the other installation."""
    return lambda: go_elsewhere(tmp_path, monkeypatch)
