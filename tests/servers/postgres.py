"""A PostgreSQL server of our own."""

import subprocess
import tempfile
import time
import uuid
import warnings
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

import psycopg

PATIENCE_SECONDS = 180


class PostgresServer:
    """Started when it is made; its socket and its data are in `directory`."""

    def __init__(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # where XDG_RUNTIME_DIR isn't set, a dependency says so
            from pgserver.postgres_server import get_server

        self.directory = Path(tempfile.mkdtemp(prefix="holdfast-pg-"))
        self._server = get_server(self.directory, cleanup_mode="delete")

    def stop_at_once(self) -> None:
        """As if its machine had lost power: no checkpoint, open transactions end nowhere."""
        from pgserver import _commands as commands

        commands.pg_ctl(  # type: ignore[attr-defined]  # made while it is imported
            ["-m", "immediate", "-w", "stop"],
            pgdata=self.directory,
            user=self._server.system_user,
        )

    def start_again(self) -> None:
        """Start it, and wait until it has recovered from its log."""
        with suppress(subprocess.TimeoutExpired, AssertionError):  # it needs longer than is waited
            self._server.ensure_postgres_running()
        give_up = time.monotonic() + PATIENCE_SECONDS
        while not self._answers():
            assert time.monotonic() < give_up, self._server.log.read_text()
            time.sleep(0.1)
        self._server.ensure_postgres_running()

    def _answers(self) -> bool:
        try:
            psycopg.connect(host=str(self.directory), user="postgres").close()
        except psycopg.OperationalError:
            return False
        return True

    def close(self) -> None:
        self._server.cleanup()


def make_database(socket: Path, like: str = "template1") -> str:
    """The address of a new database, a copy of another."""
    name = f"test_{uuid.uuid4().hex}"
    with psycopg.connect(host=str(socket), user="postgres", autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}" TEMPLATE "{like}"')
    return f"postgres://postgres@{quote(str(socket), safe='')}/{name}"


def dump(address: str, file: Path) -> None:
    """Write the tables of a database, and their rows, as SQL."""
    _run("pg_dump", "--file", str(file), address)


def load(address: str, file: Path) -> None:
    """Fill an empty database with what another had."""
    _run("psql", "--no-psqlrc", "--set", "ON_ERROR_STOP=1", "--file", str(file), address)


def _run(program: str, *arguments: str) -> None:
    from pgserver._commands import POSTGRES_BIN_PATH

    subprocess.run([str(POSTGRES_BIN_PATH / program), *arguments], check=True, capture_output=True)
