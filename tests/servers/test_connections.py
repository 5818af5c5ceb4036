"""What belongs to a connection to PostgreSQL: prepared statements, and cursors of the server."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, closing, nullcontext
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.contrib.sessions.models import Session
from django.db import OperationalError, connections, transaction
from django.db.utils import ConnectionHandler
from psycopg.errors import InvalidSqlStatementName

from leaderboard.platform.sessions import SessionStore
from tests.cast import CHECKED_ROWS, predictions
from tests.servers.conftest import Deploy
from tests.servers.pooler import Pooler
from tests.servers.postgres import make_database

Do = Callable[[Callable[[], Any]], Any]
TRIES = 8  # of a statement, which is prepared when it comes for the sixth time


@pytest.fixture
def pooler(postgres: Path) -> Iterator[Pooler]:
    """A pooler in front of the server."""
    with closing(Pooler(postgres)) as pooler:
        yield pooler


def test_behind_a_pooler_nothing_is_kept_between_transactions(
    deploy: Deploy, pooler: Pooler, new_database: Callable[[], str]
) -> None:
    site = deploy(pooler.address_of(new_database()), DATABASE_POOLED="true")
    site.start_redis()
    site.start_worker()
    site.start_beat()
    site.ask("set_up")
    site.ask("set_up_checked", slug="checked", team="A", budget="99", team_share="99")
    for number in range(TRIES):
        wrong = range(20, 80 + number)
        site.ask("submit", content=predictions(wrong, rows=CHECKED_ROWS).decode(), team="A")
    assert site.violations() == []
    assert site.ask("kinds", team="A") == ["corrected"] * TRIES
    assert len(site.ask("ledger", competition="checked").splitlines()) > TRIES


def test_behind_that_pooler_prepared_statements_are_gone(postgres: Path, pooler: Pooler) -> None:
    address = pooler.address_of(make_database(postgres))
    with (
        psycopg.connect(address, autocommit=True) as connection,
        pytest.raises(InvalidSqlStatementName),
    ):
        connection.execute("SELECT 1", prepare=True)


@pytest.fixture
def database(postgres: Path) -> str:
    """The name of a database without tables."""
    return make_database(postgres).rpartition("/")[2]


@pytest.fixture
def do(postgres: Path, database: str, django_db_blocker: Any) -> Iterator[Do]:
    """Do something in a thread with a connection of its own, to that database with sessions."""
    given = {
        "ENGINE": "django.db.backends.postgresql",
        "HOST": str(postgres),
        "USER": "postgres",
        "NAME": database,
        "OPTIONS": {"prepare_threshold": TRIES - 3},
    }

    def connect() -> None:
        connections["default"] = ConnectionHandler({"default": given})["default"]
        with connections["default"].schema_editor() as schema:
            schema.create_model(Session)

    with django_db_blocker.unblock(), ThreadPoolExecutor(1, initializer=connect) as thread:
        yield lambda what: thread.submit(what).result()
        thread.submit(connections.close_all).result()


def _sign_in() -> str:
    session = SessionStore()
    session["who"] = "alice"
    session.save()
    return str(session.session_key)


@pytest.mark.parametrize("within", [nullcontext, transaction.atomic])
def test_a_statement_that_a_migration_changed_is_prepared_anew(
    postgres: Path, database: str, do: Do, within: Callable[[], AbstractContextManager[None]]
) -> None:
    def who() -> Any:
        with within():
            return SessionStore(key).get("who")

    key = do(_sign_in)
    assert [do(who) for _ in range(TRIES)] == ["alice"] * TRIES
    with psycopg.connect(host=str(postgres), user="postgres", dbname=database) as another:
        another.execute("ALTER TABLE django_session ALTER session_key TYPE varchar(50)")
    with pytest.raises(OperationalError, match="other types"):
        do(who)
    assert [do(who) for _ in range(TRIES)] == ["alice"] * TRIES
