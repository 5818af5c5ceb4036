"""Databases and installations."""

import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.servers.deployment import Deployment
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


@pytest.fixture
def new_database(postgres: Path) -> str:
    """The address of an empty PostgreSQL database."""
    return make_database(postgres)


@pytest.fixture(scope="module")
def deploy() -> Iterator[Deploy]:
    """Makes installations with empty databases; they end with the module."""
    made: list[Deployment] = []

    def make(database_url: str = "", **settings: str) -> Deployment:
        directory = Path(tempfile.mkdtemp(prefix="holdfast-site-"))
        url = database_url or f"sqlite:///{directory / 'db.sqlite3'}"
        deployment = Deployment(directory, url, **settings)
        made.append(deployment)
        deployment.prepare()
        return deployment

    yield make
    for deployment in made:
        deployment.close()
        shutil.rmtree(deployment.directory, ignore_errors=True)
