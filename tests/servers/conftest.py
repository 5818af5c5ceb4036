"""Databases and installations."""

import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from leaderboard.vault import keys
from tests.servers.deployment import PRIVATE_KEY, Deployment
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
def sqlite_tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A SQLite file with empty tables, to be copied: migrating takes seconds."""
    directory = tmp_path_factory.mktemp("tables")
    file = directory / "db.sqlite3"
    Deployment(directory, f"sqlite:///{file}").migrate()
    return file


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
        return deployment

    yield make
    for deployment in made:
        deployment.close()
        shutil.rmtree(deployment.directory, ignore_errors=True)
