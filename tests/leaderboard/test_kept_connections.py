"""A connection to SQLite that is kept between requests carries nothing from one to the next."""

import sqlite3
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from django.core.handlers.wsgi import WSGIHandler
from django.db import connection, connections, transaction
from django.db.utils import ConnectionHandler
from django.http import HttpRequest, HttpResponse
from django.test import RequestFactory
from django.urls import path

Ask = Callable[[str], str]


def _write(text: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO said VALUES (%s)", [text])


def _texts() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT text FROM said ORDER BY rowid")
        return ", ".join(text for (text,) in cursor.fetchall())


def write(request: HttpRequest) -> HttpResponse:
    with transaction.atomic():
        _write("written")
    return HttpResponse(_texts())


def fail_in_a_transaction(request: HttpRequest) -> HttpResponse:
    with transaction.atomic():
        _write("unfinished")
        raise OSError


def fail_in_a_nested_one(request: HttpRequest) -> HttpResponse:
    with transaction.atomic(), transaction.atomic():
        _write("unfinished")
        raise OSError


def fail_in_one_without_an_end(request: HttpRequest) -> HttpResponse:
    transaction.set_autocommit(False)
    _write("unfinished")
    raise OSError


def fail_while_reading(request: HttpRequest) -> HttpResponse:
    cursor = connection.cursor()
    cursor.execute("SELECT text FROM said")
    cursor.fetchone()
    raise OSError


FAILURES = (
    fail_in_a_transaction,
    fail_in_a_nested_one,
    fail_in_one_without_an_end,
    fail_while_reading,
)
urlpatterns = [path(f"{each.__name__}/", each) for each in (write, *FAILURES)]


def make(file: Path, text: str) -> Path:
    with closing(sqlite3.connect(file)) as made, made:
        made.execute("CREATE TABLE said (text)")
        made.execute("INSERT INTO said VALUES (?)", [text])
    return file


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return make(tmp_path / "db.sqlite3", "first")


@pytest.fixture
def ask(file: Path, settings: Any, django_db_blocker: Any) -> Iterator[Ask]:
    """Ask a thread of the server for a page."""
    settings.ROOT_URLCONF, settings.MIDDLEWARE = __name__, []
    given = {
        "ENGINE": "leaderboard.platform.sqlite3",
        "NAME": str(file),
        "CONN_MAX_AGE": 60,
        "CONN_HEALTH_CHECKS": True,
        "OPTIONS": {
            "transaction_mode": "IMMEDIATE",
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF;",
        },
    }
    handler = WSGIHandler()

    def connect() -> None:
        connections["default"] = ConnectionHandler({"default": given})["default"]

    def disconnect() -> None:
        connections["default"].close()

    def answer(name: str) -> str:
        environ = RequestFactory().get(f"/{name}/").META
        response: Any = handler(environ, lambda *_: print)
        text = b"".join(response).decode() if response.status_code == 200 else "failed"
        response.close()
        return text

    with django_db_blocker.unblock(), ThreadPoolExecutor(1, initializer=connect) as thread:
        yield lambda name: thread.submit(answer, name).result()
        thread.submit(disconnect).result()


@pytest.mark.parametrize("fail", [each.__name__ for each in FAILURES])
def test_a_request_that_fails_leaves_nothing_open(ask: Ask, file: Path, fail: str) -> None:
    assert ask(fail) == "failed"
    with closing(sqlite3.connect(file, timeout=0)) as other, other:
        other.execute("INSERT INTO said VALUES ('meanwhile')")
    assert ask("write") == "first, meanwhile, written"


def test_another_file_in_its_place_is_noticed_by_the_next_request(
    ask: Ask, file: Path, tmp_path: Path
) -> None:
    assert ask("write") == "first, written"
    restored = make(tmp_path / "restored", "restored")
    for suffix in ("-wal", "-shm"):
        Path(f"{file}{suffix}").unlink()
    restored.rename(file)
    assert ask("write") == "restored, written"
    with closing(sqlite3.connect(file)) as other:
        assert other.execute("SELECT COUNT(*) FROM said").fetchone() == (2,)


def test_the_connection_is_kept_where_nothing_changed(ask: Ask, file: Path) -> None:
    ask("write")
    known = Path(f"{file}-wal").stat().st_ino
    ask("write")
    assert Path(f"{file}-wal").stat().st_ino == known
