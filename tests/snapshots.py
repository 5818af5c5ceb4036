"""Stages that are built once in a process: what they left is kept, and put there again.

Building a competition takes a hundred statements and several parsed files, its rows are a dozen.
Kept are the rows, the stored files, the watermarks, and how far the secrets of tests are drawn.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from random import Random
from typing import Any, ParamSpec, TypeVar

from django.apps import apps
from django.conf import settings
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.db import connection
from django.db.models import Model

P = ParamSpec("P")
T = TypeVar("T")

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
        with connection.cursor() as cursor:
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


_snapshots: dict[Callable[..., Any], tuple[Snapshot, Any]] = {}


def kept(build: Callable[P, T]) -> Callable[P, T]:
    """Have what a fixture writes built once. It is built on nothing, or on the same each time.

    It may return a row, which is read again, or anything else that tests don't change. Only SQLite
    hands out the same keys again after a transaction that was taken back; elsewhere all is built.
    """

    @wraps(build)
    def restored(*args: P.args, **kwargs: P.kwargs) -> T:
        if build not in _snapshots:
            before = set(_stored())
            made = build(*args, **kwargs)
            if connection.vendor == "sqlite":
                stored = {name: _content(name) for name in set(_stored()) - before}
                snapshot = Snapshot(_tables(), stored, _watermarks(), chance.getstate())
                _snapshots[build] = snapshot, made
            return made
        snapshot, made = _snapshots[build]
        snapshot.restore()
        return type(made)._default_manager.get(pk=made.pk) if isinstance(made, Model) else made

    return restored


def _tables() -> dict[str, list[tuple[Any, ...]]]:
    found = {}
    with connection.cursor() as cursor:
        for model in apps.get_app_config("leaderboard").get_models(include_auto_created=True):
            table = model._meta.db_table
            cursor.execute(f'SELECT * FROM "{table}"')  # noqa: S608
            columns = tuple(each[0] for each in cursor.description)
            if rows := cursor.fetchall():
                found[table] = [columns, *rows]
    return found


def _stored(folder: str = "") -> Iterator[str]:
    folders, names = default_storage.listdir(folder)
    yield from (f"{folder}{name}" for name in names)
    for each in folders:
        yield from _stored(f"{folder}{each}/")


def _content(name: str) -> bytes:
    with default_storage.open(name) as file:
        content: bytes = file.read()
    return content


def _watermarks() -> dict[str, bytes]:
    directory = Path(settings.WATERMARK_DIR)
    return {each.name: each.read_bytes() for each in directory.glob("*") if each.is_file()}
