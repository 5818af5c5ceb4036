"""Databases and installations."""

import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from leaderboard.log import keys as log_keys
from leaderboard.vault import keys
from tests.once import TABLES, made_once
from tests.servers.deployment import LOG_KEY, PRIVATE_KEY, Deployment
from tests.servers.postgres import PostgresServer, dump, load, make_database

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
def sqlite_tables(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A SQLite file with empty tables, to be copied: migrating takes seconds.

    They are those that were made for the tests' own processes, where these are on SQLite.
    """
    with made_once(tmp_path_factory, TABLES) as file:
        if not file.exists():
            Deployment(tmp_path_factory.mktemp("tables"), f"sqlite:///{file}").migrate()
    return file


@pytest.fixture(scope="session")
def static_files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory of collected static files, to be copied."""
    with made_once(tmp_path_factory, "collected") as directory:
        if not directory.exists():
            site = Deployment(directory, "sqlite://:memory:")
            site.manage("collectstatic", "--no-input", "--verbosity", "0")
    return directory / "static"


@pytest.fixture(scope="session")
def new_database(postgres: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[], str]:
    """Makes PostgreSQL databases with empty tables, and gives their addresses."""
    tables = make_database(postgres)
    with made_once(tmp_path_factory, "tables.sql") as file:
        if file.exists():
            load(tables, file)
        else:
            Deployment(tmp_path_factory.mktemp("tables"), tables).migrate()
            dump(tables, file)
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
