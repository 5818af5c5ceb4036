"""Which errors are outages, and which of those are a full disk."""

import errno
import sqlite3
from contextlib import closing

import pytest
from django.db import DatabaseError, InterfaceError, OperationalError

from leaderboard.platform import outages


class PostgresqlError(Exception):
    sqlstate = "53100"


def caused(cause: Exception) -> OperationalError:
    """An error of Django's with the driver's as its cause."""
    error = OperationalError(str(cause))
    error.__cause__ = cause
    return error


def sqlite_without_space() -> sqlite3.OperationalError:
    """What SQLite says where its file may not grow."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("PRAGMA max_page_count = 1")
        with pytest.raises(sqlite3.OperationalError) as raised:
            connection.execute("CREATE TABLE full (x)")
    return raised.value


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG])
def test_a_full_disk_is_one_whatever_the_system_calls_it(number: int) -> None:
    assert outages.is_full(OSError(number, "full"))


def test_a_database_on_a_full_disk_is_full() -> None:
    assert outages.is_full(caused(sqlite_without_space()))
    assert outages.is_full(caused(PostgresqlError()))


@pytest.mark.parametrize("error", [OperationalError("gone"), InterfaceError("closed")])
def test_a_database_that_is_away_is_an_outage(error: Exception) -> None:
    told = outages.refusal(error)
    assert told is not None
    assert (told.code, told.status) == ("unavailable", 503)


@pytest.mark.parametrize(
    "error", [None, ValueError(), DatabaseError("wrong query"), OSError(errno.ENOENT, "missing")]
)
def test_other_errors_are_no_outages(error: Exception | None) -> None:
    assert outages.refusal(error) is None
