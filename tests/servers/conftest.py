"""Databases and installations."""

import shutil
import tempfile
import uuid
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest

from tests.servers.deployment import Deployment

Deploy = Callable[..., Deployment]


@pytest.fixture(scope="session")
def postgres() -> Iterator[Path]:
    """The directory of the socket of a PostgreSQL server."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # where XDG_RUNTIME_DIR isn't set, a dependency says so
        from pgserver.postgres_server import get_server

    directory = Path(tempfile.mkdtemp(prefix="holdfast-pg-"))
    server = get_server(directory, cleanup_mode="delete")
    yield directory
    server.cleanup()


@pytest.fixture
def new_database(postgres: Path) -> str:
    """The address of an empty PostgreSQL database."""
    return make_database(postgres)


def make_database(socket: Path) -> str:
    name = f"test_{uuid.uuid4().hex}"
    with psycopg.connect(host=str(socket), user="postgres", autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')
    return f"postgres://postgres@{quote(str(socket), safe='')}/{name}"


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
