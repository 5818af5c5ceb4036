"""The directory of an embedded start."""

from pathlib import Path

import pytest

from durable.files import write_private
from leaderboard.operate.embedded.prepare import CannotStart, ensure_secret_key
from leaderboard.operate.embedded.start import hold


def test_a_directory_is_held_by_one_start_at_a_time(tmp_path: Path) -> None:
    with hold(tmp_path / "var"), pytest.raises(CannotStart), hold(tmp_path / "var"):
        pass


def test_a_directory_is_free_again_afterwards(tmp_path: Path) -> None:
    for _ in range(2):
        with hold(tmp_path):
            pass


def test_a_directory_that_others_could_read_is_closed_to_them(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    with hold(tmp_path):
        assert tmp_path.stat().st_mode & 0o777 == 0o700


def test_a_secret_key_is_drawn_once(tmp_path: Path) -> None:
    path = tmp_path / "secret_key"
    ensure_secret_key(path)
    drawn = path.read_text()
    ensure_secret_key(path)
    assert path.read_text() == drawn
    assert len(drawn) > 64


def test_a_private_file_stays_private_when_it_is_written_again(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    path.write_text("old")
    path.chmod(0o644)
    write_private(path, "new")
    assert path.stat().st_mode & 0o777 == 0o600
