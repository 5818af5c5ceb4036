"""Long reads of many tables as they were at one moment, for which nobody has to wait."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import transaction


@contextmanager
def one_moment() -> Iterator[None]:
    """Let all that is read be of the moment of the first query; nothing may be written meanwhile.

    PostgreSQL has repeatable reads for that. On SQLite a transaction that does not ask for the
    write lock, as all others do here, reads the write-ahead log as it was. Within a transaction of
    the caller's, what is read is as good as that one makes it.
    """
    connection: Any = transaction.get_connection()
    if connection.in_atomic_block:
        yield
        return
    connection.ensure_connection()
    if connection.vendor == "postgresql":
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            yield
        return
    mode, connection.transaction_mode = connection.transaction_mode, "DEFERRED"
    try:
        with transaction.atomic():
            yield
    finally:
        connection.transaction_mode = mode
