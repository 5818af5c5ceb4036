"""The database: it answers, has its tables, and keeps what was committed."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import DatabaseError, connection
from django.db.utils import NotSupportedError

from leaderboard.operate.doctor.report import Finding, ok, start, told, unseen, wrong
from leaderboard.platform import health

BUSY_SHARE = 0.8


def database() -> Iterator[Finding]:
    """Check that it answers, is recent enough, and keeps what is committed."""
    try:
        connection.ensure_connection()
        connection.check_database_version_supported()
        yield from _sqlite() if connection.vendor == "sqlite" else _postgresql()
    except NotSupportedError as error:
        yield wrong(f"The database is too old. {told(error)}", "Upgrade the database server.")
    except DatabaseError as error:
        yield wrong(f"The database does not answer. {told(error)}", _how_to_reach_it())


def migrations() -> Iterator[Finding]:
    """Check that the tables are those of this version of the code."""
    state = health.database()
    if state == "ok":
        yield ok("All migrations are applied.")
    elif state == "old":
        yield wrong(
            "Some migrations are not applied.",
            "Stop web and workers, run `python manage.py migrate`, and start them again.",
        )
    else:
        yield unseen("database")


def _sqlite() -> Iterator[Finding]:
    journal, synchronous = _ask("PRAGMA journal_mode"), _ask("PRAGMA synchronous")
    if journal not in {"wal", "memory"} or int(synchronous) < 2:
        yield wrong(
            f"SQLite runs with journal_mode={journal} and synchronous={synchronous}: a power cut "
            "could undo releases that people have seen.",
            "Keep the file on a local disk (WAL does not work on network drives), and start again.",
        )
        return
    yield ok(f"SQLite {_ask('SELECT sqlite_version()')}, journal {journal}, full synchronisation.")


def _postgresql() -> Iterator[Finding]:
    problems = []
    if _ask("SELECT pg_is_in_recovery()"):
        fix = "Point DATABASE_URL to the primary, then restart."
        problems.append(("This is a read-only replica.", fix))
    for name in ("fsync", "synchronous_commit"):
        if _ask(f"SHOW {name}") == "off":
            problem = f"{name} is off: a crash could undo releases that people have seen."
            fix = f"Run `ALTER SYSTEM SET {name} = 'on'; SELECT pg_reload_conf();` in psql."
            problems.append((problem, fix))
    level = _ask("SHOW default_transaction_isolation")
    if level != "read committed":
        name = connection.settings_dict["NAME"]
        fix = (
            f"""Run `ALTER DATABASE "{name}" SET default_transaction_isolation TO """
            "'read committed';` in psql, then restart."
        )
        problems.append((f"Transactions are {level!r}: concurrent uploads would fail.", fix))
    used, most = _ask("SELECT count(*) FROM pg_stat_activity"), int(_ask("SHOW max_connections"))
    if used > BUSY_SHARE * most:
        fix = "Run fewer web processes (WEB_CONCURRENCY) or workers, or raise max_connections."
        problems.append((f"{used} of {most} connections are in use.", fix))
    yield from (wrong(problem, fix) for problem, fix in problems)
    if not problems:
        yield ok(f"PostgreSQL {_ask('SHOW server_version')}, durable, read committed.")


def _ask(statement: str) -> Any:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        row: tuple[Any, ...] = cursor.fetchone()
    return row[0]


def _how_to_reach_it() -> str:
    if connection.vendor == "sqlite":
        place = Path(str(settings.DATABASES["default"]["NAME"])).parent
        return f"Does the directory {place} exist, and may this account write to it?"
    return f"Start it ({start('postgres')}), or correct DATABASE_URL."
