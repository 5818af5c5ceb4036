"""Copy the database as it is at one moment into a file, and back, while others use it.

SQLite has a function for both. Of PostgreSQL every table is copied in one transaction that sees one
moment (`COPY`), by the connection that is there: that needs no program of the server's version, and
a restore makes the tables by migrations, so that it fits whatever server there is by then.
"""

import sqlite3
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import groupby
from pathlib import Path
from typing import Any, Final

from django.db import OperationalError, connection, transaction
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.recorder import MigrationRecorder

from durable.files import sync

_ATTEMPTS: Final = 5  # of a lock on all tables, where others hold some and want the rest
Applied = Sequence[Sequence[str]]


def kind() -> str:
    """Return the kind of database: backups of one don't fit another."""
    return connection.vendor


def applied() -> list[list[str]]:
    """Return the migrations that the database has."""
    return sorted([app, name] for app, name in MigrationRecorder(connection).applied_migrations())


def unknown(migrations: Applied) -> list[str]:
    """Return those that this version of the code has no file of."""
    known = MigrationExecutor(connection).loader.disk_migrations
    return [f"{app} {name}" for app, name in migrations if (app, name) not in known]


def save(folder: Path) -> tuple[str, Path]:
    """Copy the database into a file in `folder`; return its kind and the file."""
    path = folder / ("database.sqlite3" if kind() == "sqlite" else "database.zip")
    if kind() == "sqlite":
        connection.ensure_connection()
        with closing(sqlite3.connect(path)) as copy:
            connection.connection.backup(copy)
            copy.execute("PRAGMA journal_mode=DELETE")  # one file, without a log beside it
    else:
        _save_tables(path)
    sync(path)
    return kind(), path


def load(path: Path, migrations: Applied) -> None:
    """Replace all that the database has by a copy. Others see all of it or nothing.

    Where the tables are those of other migrations they are dropped first, and others see none.
    """
    if kind() == "sqlite":
        connection.ensure_connection()
        with closing(sqlite3.connect(path)) as copy:
            copy.backup(connection.connection)
        return
    if applied() != [list(each) for each in migrations]:
        _make_tables(migrations)
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            _load_tables(path)
        except OperationalError:  # of two that wait for each other, PostgreSQL ends one
            if attempt == _ATTEMPTS:
                raise
        else:
            return


def _save_tables(path: Path) -> None:
    with (
        transaction.atomic(durable=True),
        connection.cursor() as cursor,
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
    ):
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        for table, columns in _tables(cursor):
            statement = f"COPY {_name(table)} ({columns}) TO STDOUT"
            member = archive.open(f"{table}/{columns}", "w", force_zip64=True)
            with member as out, cursor.copy(statement) as rows:
                for part in rows:
                    out.write(part)


def _load_tables(path: Path) -> None:
    with (
        transaction.atomic(durable=True),
        connection.cursor() as cursor,
        zipfile.ZipFile(path) as archive,
    ):
        cursor.execute(f"TRUNCATE {', '.join(_name(table) for table, _ in _tables(cursor))}")
        # Foreign keys are checked at the end, so that tables may come in any order.
        for each in archive.namelist():
            table, _, columns = each.partition("/")
            statement = f"COPY {_name(table)} ({columns}) FROM STDIN"
            with archive.open(each) as part, cursor.copy(statement) as rows:
                while block := part.read(1 << 20):
                    rows.write(block)
        for table, column in _counted(cursor):
            last = f"SELECT MAX({_name(column)}) FROM {_name(table)}"  # noqa: S608
            sequence = f"pg_get_serial_sequence('{_name(table)}', '{column}')"
            cursor.execute(f"SELECT setval({sequence}, COALESCE(({last}), 1))")


def _make_tables(migrations: Applied) -> None:
    """Make the tables that these migrations made, with nothing in them."""
    with connection.cursor() as cursor:
        for table, _ in _tables(cursor):
            cursor.execute(f"DROP TABLE {_name(table)} CASCADE")
    MigrationExecutor(connection).migrate([(app, name) for app, name in migrations])


def _tables(cursor: Any) -> Iterator[tuple[str, str]]:
    """Return the tables, and the columns of each as SQL."""
    cursor.execute(
        "SELECT table_name, column_name FROM information_schema.columns "
        "JOIN information_schema.tables USING (table_schema, table_name) "
        "WHERE table_schema = current_schema() AND table_type = 'BASE TABLE' "
        "ORDER BY table_name, ordinal_position"
    )
    rows = cursor.fetchall()
    for table, columns in groupby(rows, key=lambda row: str(row[0])):
        yield table, ", ".join(_name(column) for _, column in columns)


def _counted(cursor: Any) -> list[tuple[str, str]]:
    """Return the columns that the database numbers by itself."""
    cursor.execute(
        "SELECT table_name, column_name FROM information_schema.columns "
        "WHERE table_schema = current_schema() AND is_identity = 'YES'"
    )
    return [(str(table), str(column)) for table, column in cursor.fetchall()]


def _name(name: str) -> str:
    return connection.ops.quote_name(name)
