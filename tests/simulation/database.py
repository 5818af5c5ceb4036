"""A real SQLite file whose statements and commits are pauses.

Each simulated process has a connection of its own. Where SQLite would let it wait for the write
lock, it waits here, and asks again when somebody has committed or taken back.
"""

from __future__ import annotations

import re
import shutil
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import OperationalError, connections
from django.db.backends.sqlite3.base import DatabaseWrapper
from django.db.utils import ConnectionHandler

from tests.simulation.scheduler import Process, Scheduler

_NAMES = re.compile(r'(?:FROM|INTO|UPDATE) "(?:leaderboard_)?(\w+)"')
_WRITES = ("INSERT", "UPDATE", "DELETE")


class Database:
    """The file, and who has it open. `dropped` are constraints that its schema is to lack."""

    dropped: tuple[str, ...] = ()

    def __init__(self, directory: Path) -> None:
        self.path = self.template = directory / "db.sqlite3"
        self.observed: Callable[[], None] = lambda: None
        self.scheduler: Scheduler | None = None
        self.transactions = 0
        self.observer: sqlite3.Connection | None = None
        self.connections: dict[Process, DatabaseWrapper] = {}

    def connect(self, path: Path | None = None) -> DatabaseWrapper:
        """Give this thread a connection."""
        site = settings.DATABASES["default"].get("OPTIONS", {})
        given = {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": str(path or self.path),
            "OPTIONS": {
                "transaction_mode": site.get("transaction_mode", "IMMEDIATE"),
                "timeout": 0,
                "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF;",
            },
        }
        whole = ConnectionHandler({"default": given}).settings["default"]
        wrapper = DatabaseWrapper(whole, "default")
        connections["default"] = wrapper
        return wrapper

    def begin(self, scheduler: Scheduler) -> None:
        """Begin a schedule with the template."""
        self.scheduler, self.transactions = scheduler, 0
        self.load(self.template)
        with closing(sqlite3.connect(self.path)) as raw:
            for name in self.dropped:
                raw.execute(f'DROP INDEX "{name}"')
        scheduler.enter, scheduler.left = self._enter, self._leave
        scheduler.rolled_back, scheduler.in_transaction = self._drop, self._is_in_transaction

    def save(self, path: Path) -> None:
        """Write a consistent copy, as a backup does."""
        path.unlink(missing_ok=True)
        with closing(sqlite3.connect(self.path)) as raw:
            raw.execute("VACUUM INTO ?", [str(path)])

    def load(self, path: Path) -> None:
        """Take a copy instead of what is there. Nobody may have it open."""
        if self.observer is not None:
            self.observer.close()
        for suffix in ("", "-wal", "-shm"):
            Path(f"{self.path}{suffix}").unlink(missing_ok=True)
        shutil.copy(path, self.path)
        # It only looks, from whatever thread.
        self.observer = sqlite3.connect(self.path, check_same_thread=False, isolation_level=None)

    def look(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """Return the rows of a query as they are committed."""
        assert self.observer is not None
        return self.observer.execute(query, values).fetchall()

    @property
    def version(self) -> int:
        """Return a number that is another one whenever somebody has changed the database."""
        return int(self.look("PRAGMA data_version")[0][0])

    def leave_all(self) -> None:
        """Close what anybody has open: the file will be another. Each opens it anew when needed."""
        for process in list(self.connections):
            wrapper = self.connections[process]
            if wrapper.connection is not None:
                raw, wrapper.connection = wrapper.connection, None
                raw.close()

    def _enter(self, process: Process) -> None:
        wrapper: Any = self.connect()
        wrapper.execute_wrappers.append(self._execute)
        commit = wrapper._commit

        def committing() -> None:
            self._fail_if(self._pause("commit"))
            commit()
            self._committed()
            self._fail_if(self._pause("committed"))

        wrapper._commit = committing
        rollback = wrapper._rollback

        def rolling_back() -> None:
            rollback()
            self.transactions += 1

        wrapper._rollback = rolling_back
        self.connections[process] = wrapper

    def _leave(self, process: Process) -> None:
        wrapper = self.connections.pop(process, None)
        if wrapper is not None and wrapper.connection is not None:
            raw, wrapper.connection = wrapper.connection, None
            raw.close()
        self.transactions += 1

    def _drop(self, process: Process) -> None:
        """Forget what a dying process hasn't committed, before any `finally` of it runs."""
        wrapper = self.connections.get(process)
        if wrapper is not None and wrapper.connection is not None:
            with suppress(sqlite3.Error):
                wrapper.connection.rollback()
        self.transactions += 1

    def _is_in_transaction(self) -> bool:
        me = self.scheduler.current if self.scheduler else None
        wrapper = self.connections.get(me) if me else None
        raw = wrapper.connection if wrapper is not None else None
        return raw is not None and bool(raw.in_transaction)

    def _pause(self, label: str) -> bool:
        assert self.scheduler is not None
        return self.scheduler.pause(label)

    @staticmethod
    def _fail_if(fails: bool) -> None:
        if fails:
            raise OperationalError("the database is away")

    def _execute(
        self, execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any
    ) -> Any:
        found = _NAMES.search(sql)
        verb = sql.split(None, 1)[0]
        self._fail_if(self._pause(f"{verb} {found[1]}" if found else verb))
        wrapper: DatabaseWrapper = context["connection"]
        while True:
            seen = self.transactions
            try:
                result = execute(sql, params, many, context)
            except OperationalError as error:
                is_stale = wrapper.in_atomic_block and verb != "BEGIN"
                if "locked" not in str(error) or is_stale:
                    raise
                assert self.scheduler is not None
                self.scheduler.note("waits for the write lock")
                self.scheduler.wait(lambda seen=seen: self.transactions > seen)  # type: ignore[misc]
                continue
            if not wrapper.in_atomic_block and verb in _WRITES:
                self._committed()
            return result

    def _committed(self) -> None:
        self.transactions += 1
        self.observed()


def in_thread(run: Callable[[], None]) -> None:
    """Run with connections of its own, and raise what it raises."""
    raised: list[BaseException] = []

    def caught() -> None:
        try:
            run()
        except BaseException as error:
            raised.append(error)
        finally:
            with suppress(Exception):
                connections["default"].close()

    thread = threading.Thread(target=caught)
    thread.start()
    thread.join()
    if raised:
        raise raised[0]
