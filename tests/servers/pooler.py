"""A pooler in transaction mode: what belongs to a connection is gone in the next transaction."""

import socket
from contextlib import ExitStack
from itertools import cycle
from pathlib import Path
from select import select
from threading import Thread

SERVERS = 2
_PART = 1 << 16
_IDLE = b"Z\x00\x00\x00\x05I"  # the server is ready for a query, in no transaction


class Pooler:
    """Between clients and the PostgreSQL whose socket is in `directory`.

    Each transaction of a client has another connection to the server than the one before.
    """

    def __init__(self, directory: Path) -> None:
        self._server = str(directory / ".s.PGSQL.5432")
        self._listening = socket.create_server(("127.0.0.1", 0))
        Thread(target=self._listen, daemon=True).start()

    def address_of(self, database: str) -> str:
        """The address of a database, by way of this pooler."""
        host, port = self._listening.getsockname()
        name = database.rpartition("/")[2]
        return f"postgres://postgres@{host}:{port}/{name}?sslmode=disable&gssencmode=disable"

    def close(self) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()

    def _listen(self) -> None:
        while True:
            try:
                client, _ = self._listening.accept()
            except OSError:  # it is closed
                return
            Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with ExitStack() as opened:
            opened.enter_context(client)
            hello = client.recv(_PART)
            servers = [opened.enter_context(self._connect()) for _ in range(SERVERS)]
            greetings = [_greet(each, hello) for each in servers]
            client.sendall(greetings[0])
            turns, said = cycle(servers), b""
            server = next(turns)
            while True:
                (ready, *_), _, _ = select((server, client), (), ())
                part = ready.recv(_PART)
                if not part:
                    return
                if ready is server:
                    said = (said + part)[-len(_IDLE) :]
                    server = next(turns) if said == _IDLE else server
                    client.sendall(part)
                else:
                    server.sendall(part)

    def _connect(self) -> socket.socket:
        server = socket.socket(socket.AF_UNIX)
        server.connect(self._server)
        return server


def _greet(server: socket.socket, hello: bytes) -> bytes:
    """Say hello as the client did; return what the server answers until it is ready."""
    server.sendall(hello)
    said = b""
    while not said.endswith(_IDLE):
        said += server.recv(_PART)
    return said
