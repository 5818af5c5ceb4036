"""Stages that are built once in a process: what they left is kept, and put there again.

Building a competition takes a hundred statements and several parsed files, its rows are a dozen.
Kept are the rows, the stored files, the watermarks, and how far the secrets of tests are drawn.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from random import Random
from typing import Any, ParamSpec, TypeVar
from unittest.mock import patch

from django.apps import apps
from django.conf import settings
from django.contrib.auth.models import Permission
from django.core.files.base import ContentFile
from django.core.files.storage import Storage, default_storage
from django.db import connection, transaction
from django.db.models import Model

P = ParamSpec("P")
T = TypeVar("T")

WRITTEN_BY_STAGES = {"leaderboard", "account", "auth", "knox"}
# The same secrets in every run, and so the same noise.
chance = Random(0)


@dataclass(frozen=True)
class Snapshot:
    """The rows of each table after the names of its columns, files by name, and the dice."""

    tables: dict[str, list[tuple[Any, ...]]]
    stored: dict[str, bytes]
    watermarks: dict[str, bytes]
    dice: tuple[Any, ...]

    def restore(self) -> None:
        # Keys are checked at the end, so that tables may come in any order.
        with transaction.atomic(), connection.cursor() as cursor:
            for table, (columns, *rows) in self.tables.items():
                cursor.execute(f'DELETE FROM "{table}"')  # noqa: S608
                names = ", ".join(f'"{name}"' for name in columns)
                places = ", ".join(["%s"] * len(columns))
                insert = f'INSERT INTO "{table}" ({names}) VALUES ({places})'  # noqa: S608
                cursor.executemany(insert, rows)
        for name, content in self.stored.items():
            default_storage.delete(name)
            default_storage.save(name, ContentFile(content))
        for name, content in self.watermarks.items():
            settings.WATERMARK_DIR.mkdir(parents=True, exist_ok=True)
            (settings.WATERMARK_DIR / name).write_bytes(content)
        chance.setstate(self.dice)


_snapshots: dict[Callable[..., Any], tuple[Snapshot, Callable[[Mapping[str, object]], Any]]] = {}


def kept(build: Callable[P, T]) -> Callable[P, T]:
    """Have what a fixture writes built once. It is built on nothing, or on the same each time.

    It returns a row, which is read again, or what it was given, or nothing. Only SQLite hands out
    the same keys again after a transaction that was taken back; elsewhere all is built each time.
    """

    @wraps(build)
    def restored(*args: P.args, **kwargs: P.kwargs) -> T:
        if build in _snapshots:
            snapshot, again = _snapshots[build]
            snapshot.restore()
            return again(kwargs)  # type: ignore[no-any-return]
        with _noting_files() as names:
            made = build(*args, **kwargs)
        if connection.vendor == "sqlite":
            stored = {name: _content(name) for name in names if default_storage.exists(name)}
            snapshot = Snapshot(_tables(), stored, watermarks(), chance.getstate())
            _snapshots[build] = snapshot, _anew(made, kwargs)
        return made

    return restored


def _anew(made: object, kwargs: Mapping[str, object]) -> Callable[[Mapping[str, object]], Any]:
    """How another test gets what a fixture returned in this one."""
    if isinstance(made, Model):
        model, key = type(made), made.pk
        return lambda _: model._default_manager.get(pk=key)
    given = next((name for name, each in kwargs.items() if each is made), None)
    assert made is None or given
    return lambda now: now[given] if given else None


def _tables() -> dict[str, list[tuple[Any, ...]]]:
    found = {}
    with connection.cursor() as cursor:
        for model in apps.get_models(include_auto_created=True):
            if model._meta.app_label not in WRITTEN_BY_STAGES or model is Permission:
                continue
            table = model._meta.db_table
            cursor.execute(f'SELECT * FROM "{table}"')  # noqa: S608
            columns = tuple(each[0] for each in cursor.description)
            if rows := cursor.fetchall():
                found[table] = [columns, *rows]
    return found


@contextmanager
def _noting_files() -> Iterator[list[str]]:
    """The names of the files that are stored meanwhile."""
    names: list[str] = []
    save = Storage.save

    def noting(storage: Storage, *args: Any, **kwargs: Any) -> str:
        names.append(save(storage, *args, **kwargs))
        return names[-1]

    with patch.object(Storage, "save", noting):
        yield names


def _content(name: str) -> bytes:
    with default_storage.open(name) as file:
        content: bytes = file.read()
    return content


def watermarks() -> dict[str, bytes]:
    """What the watermark's files hold, by their names. Those that are as they were aren't read."""
    directory = Path(settings.WATERMARK_DIR)
    if not directory.is_dir():
        return {}
    with os.scandir(directory) as found:
        return {each.name: _content_of(each) for each in found if each.is_file()}


_seen: dict[str, tuple[tuple[int, ...], bytes]] = {}


def _content_of(file: os.DirEntry[str]) -> bytes:
    stat = file.stat()
    now = (stat.st_ino, stat.st_size, stat.st_mtime_ns)
    if _seen.get(file.path, ((), b""))[0] != now:
        _seen[file.path] = now, Path(file.path).read_bytes()
    return _seen[file.path][1]
