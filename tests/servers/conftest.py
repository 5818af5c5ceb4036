"""Databases and installations."""

import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from django.db import connection
from pytest_django import DjangoDbBlocker

from leaderboard.log import keys as log_keys
from leaderboard.vault import keys
from tests.servers.deployment import LOG_KEY, PRIVATE_KEY, Deployment
from tests.servers.postgres import PostgresServer, make_database

Deploy = Callable[..., Deployment]


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """A PostgreSQL server that can be stopped and started."""
    server = PostgresServer()
    yield server
    server.close()


@pytest.fixture(scope="session")
def postgres(postgres_server: PostgresServer) -> Path:
    """The directory of the socket of a PostgreSQL server."""
    return postgres_server.directory


@pytest.fixture(scope="session")
def sqlite_tables(
    django_db_setup: None,
    django_db_blocker: DjangoDbBlocker,
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """A SQLite file with empty tables, to be copied: migrating takes seconds.

    They are those that this process has made for its own tests, where these are on SQLite.
    """
    directory = tmp_path_factory.mktemp("tables")
    file = directory / "db.sqlite3"
    with django_db_blocker.unblock():
        if connection.vendor == "sqlite" and connection.introspection.table_names():
            with closing(sqlite3.connect(file)) as copy:
                connection.connection.backup(copy)
        else:
            Deployment(directory, f"sqlite:///{file}").migrate()
    return file


@pytest.fixture(scope="session")
def static_files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory of collected static files, to be copied."""
    directory = tmp_path_factory.mktemp("collected")
    site = Deployment(directory, "sqlite://:memory:")
    site.manage("collectstatic", "--no-input", "--verbosity", "0")
    return directory / "static"


@pytest.fixture(scope="session")
def new_database(postgres: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[], str]:
    """Makes PostgreSQL databases with empty tables, and gives their addresses."""
    tables = make_database(postgres)
    Deployment(tmp_path_factory.mktemp("tables"), tables).migrate()
    return lambda: make_database(postgres, like=tables.rpartition("/")[2])


@pytest.fixture(scope="module")
def deploy(sqlite_tables: Path) -> Iterator[Deploy]:
    """Makes installations with keys and empty tables; they end with the module."""
    made: list[Deployment] = []

    def make(database_url: str = "", **settings: str) -> Deployment:
        directory = Path(tempfile.mkdtemp(prefix="holdfast-site-"))
        file = directory / "db.sqlite3"
        if not database_url:
            shutil.copy(sqlite_tables, file)
        deployment = Deployment(directory, database_url or f"sqlite:///{file}", **settings)
        made.append(deployment)
        keys.generate(directory / "vault" / "public.key", directory / PRIVATE_KEY)
        log_keys.generate(directory / LOG_KEY)
        return deployment

    yield make
    for deployment in made:
        deployment.close()
        shutil.rmtree(deployment.directory, ignore_errors=True)
