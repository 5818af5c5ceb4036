"""What a start does to the data that it finds."""

from pathlib import Path

import pytest
from django.db.migrations.recorder import MigrationRecorder

from leaderboard.operate.embedded.prepare import CannotStart, prepare


@pytest.mark.django_db
def test_data_of_another_version_is_refused_before_anything_is_touched(tmp_path: Path) -> None:
    MigrationRecorder.Migration.objects.create(app="leaderboard", name="0009_announced_closing")
    said: list[str] = []
    with pytest.raises(CannotStart):
        prepare(tmp_path / "private.key", said.append)
    assert not said
    assert not list(tmp_path.iterdir())
