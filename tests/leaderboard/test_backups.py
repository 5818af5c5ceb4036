"""Backups: what is kept once, what is refused, and what a restore never takes back.

Whole databases are backed up and restored in tests/servers/test_rewinds.py.
"""

from __future__ import annotations

import io
from pathlib import Path
from unittest.mock import Mock

import pytest
from django.conf import settings
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.core.management import CommandError, call_command
from pytest_django import Settings

from leaderboard.ledger import recovery
from leaderboard.operate import backups
from leaderboard.operate.backups import CannotRestore, back_up, database, open_backup, restore
from tests.cast import World


@pytest.fixture
def place(tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch, db: None) -> Path:
    """Where backups go; the database's part is another test's."""
    settings.WATERMARK_DIR = tmp_path / "watermark"
    settings.WATERMARK_DIR.mkdir()
    backend = {"BACKEND": "django.core.files.storage.InMemoryStorage"}
    settings.STORAGES = {**settings.STORAGES, "default": backend}
    monkeypatch.setattr(database, "load", lambda *_: None)

    def save(folder: Path) -> tuple[str, Path]:
        (folder / "copy").write_bytes(b"the database")
        return database.kind(), folder / "copy"

    monkeypatch.setattr(database, "save", save)
    return tmp_path / "backups"


def contents(place: Path) -> int:
    return len(list((place / "objects").glob("*/*")))


def names_backups(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each backup have a name of its own, however fast they follow."""
    numbers = iter(range(10, 60))
    monkeypatch.setattr(backups, "_NAME", "%Y")
    real = Path.rename
    monkeypatch.setattr(
        Path, "rename", lambda self, to: real(self, to.with_name(f"{next(numbers)}"))
    )


def test_a_content_is_kept_once_and_goes_with_the_last_backup_that_names_it(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names_backups(monkeypatch)
    for name in ("a/one", "a/same", "other"):
        default_storage.save(name, ContentFile(b"x" if name != "other" else b"y"))
    back_up(place, say=print)
    assert contents(place) == 2
    default_storage.delete("other")
    default_storage.save("new", ContentFile(b"z"))
    back_up(place, say=print)
    assert contents(place) == 3
    back_up(place, keep=1, say=print)
    assert contents(place) == 2
    assert [each.name for each in open_backup(place).files] == ["new", "a/one", "a/same"]


def test_files_that_are_gone_or_changed_come_back_and_later_ones_stay(place: Path) -> None:
    for name in ("gone", "changed", "same"):
        default_storage.save(name, ContentFile(name.encode()))
    back_up(place, say=print)
    default_storage.delete("gone")
    default_storage.delete("changed")
    default_storage.save("changed", ContentFile(b"\0" * 7))
    default_storage.save("later", ContentFile(b"later"))
    told: list[str] = []
    restore(open_backup(place), say=told.append)
    for name in ("gone", "changed", "same", "later"):
        assert default_storage.open(name).read() == name.encode()
    assert told[0] == "Files: 2 put back, 1 were there."


def test_no_line_of_the_watermark_is_taken_back(place: Path) -> None:
    there = Path(settings.WATERMARK_DIR)
    (there / "one").write_text("1 a\n")
    (there / "two").write_text("1 b\n")
    back_up(place, say=print)
    (there / "one").write_text("1 a\n2 c\n")
    (there / "two").unlink()
    told: list[str] = []
    restore(open_backup(place), say=told.append)
    assert (there / "one").read_text() == "1 a\n2 c\n"
    assert (there / "two").read_text() == "1 b\n"
    assert any("two was gone" in line for line in told)


def test_a_log_that_cannot_be_taken_is_named(
    place: Path, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    back_up(place, say=print)
    monkeypatch.setattr(recovery, "recover", Mock(side_effect=KeyError("team")))
    told: list[str] = []
    restore(open_backup(place), say=told.append)
    assert (
        "digits: its log can't be taken (KeyError: 'team'), so what came after the backup is "
        "missing. `python manage.py rewind digits` tries again."
    ) in told


def test_the_copy_of_the_watermark_only_grows(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names_backups(monkeypatch)
    there = Path(settings.WATERMARK_DIR) / "one"
    there.write_text("1 a\n2 c\n")
    back_up(place, say=print)
    there.write_text("1 a\n")
    told: list[str] = []
    back_up(place, say=told.append)
    assert (place / "watermark" / "one").read_text() == "1 a\n2 c\n"
    assert "lost lines" in told[0]


def test_where_nobody_can_answer_nothing_is_changed(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = back_up(place)
    monkeypatch.setattr("sys.stdin", io.StringIO())
    with pytest.raises(CommandError, match="--no-input"):
        call_command("restore", str(made.folder))


@pytest.mark.parametrize("damage", ["database", "list", "content", "newer", "kind"])
def test_a_backup_that_can_not_be_restored_changes_nothing(place: Path, damage: str) -> None:
    default_storage.save("file", ContentFile(b"content"))
    made = back_up(place, say=print)
    default_storage.delete("file")
    if damage == "newer":
        made.manifest["migrations"].append(["leaderboard", "9999_later"])
    elif damage == "kind":
        made.manifest["database"]["kind"] = "another"
    else:
        path = {
            "database": made.database,
            "list": made.folder / "files.jsonl",
            "content": next((place / "objects").glob("*/*")),
        }[damage]
        path.write_bytes(path.read_bytes()[:-1] + b"?")
    with pytest.raises(CannotRestore):
        restore(made, say=print)
    assert not default_storage.exists("file")


def test_where_there_is_no_backup_that_is_said(place: Path) -> None:
    with pytest.raises(CannotRestore, match="There is no backup"):
        open_backup(place)
