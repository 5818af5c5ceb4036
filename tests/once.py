"""What takes long to make is made once in a run, by the first test process that needs it."""

import fcntl
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from django.db.backends.sqlite3.creation import DatabaseCreation

TABLES = "tables.sqlite3"


@contextmanager
def made_once(factory: pytest.TempPathFactory, name: str) -> Iterator[Path]:
    """A path that the processes of a run share; one at a time looks whether it is there."""
    base = factory.getbasetemp()
    path = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / name
    with path.with_name(f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield path


@pytest.fixture(scope="session")
def django_db_modify_db_settings(
    django_db_modify_db_settings: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[None]:
    """Have one process migrate its database, where that is SQLite, and the others copy it."""
    create = DatabaseCreation.create_test_db

    def create_once(creation: DatabaseCreation, *args: Any, **kwargs: Any) -> str:
        def copy(*_: object, **__: object) -> None:
            creation.connection.ensure_connection()
            with closing(sqlite3.connect(file)) as kept:
                kept.backup(creation.connection.connection)

        with made_once(tmp_path_factory, TABLES) as file:
            if file.exists():
                with patch("django.core.management.call_command", copy):
                    return create(creation, *args, **kwargs)
            name = create(creation, *args, **kwargs)
            with closing(sqlite3.connect(file)) as kept:
                creation.connection.connection.backup(kept)
            return name

    with patch.object(DatabaseCreation, "create_test_db", create_once):
        yield
