"""How an oracle is reached: HTTP over a local socket, or over loopback.

A body is refused by its announced length, before any of it is read. Whoever comes by a web page of
a browser is refused by Host and Origin.
"""

import json
import math
import os
import socket
import stat
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import BaseServer, TCPServer, ThreadingMixIn, UnixStreamServer
from typing import Any, Final, cast
from urllib.parse import parse_qs, unquote, urlsplit

from holdfast import output
from holdfast.errors import REFUSALS, Failure, Rejected
from holdfast.oracle.engine import Engine, problem_of
from holdfast.oracle.ledger import Json
from holdfast.oracle.private import peer

PREFIX: Final = "/api/v1/"
PROBLEM: Final = "application/problem+json"
NAMES: Final = ("127.0.0.1", "localhost", "[::1]")
PACE_SECONDS: Final = 0.02  # answers leave at multiples of it, counted from when a file is read
SILENT_SECONDS: Final = 30
LONGEST_PATH: Final = 100  # bytes of a local socket's
_BACKLOG: Final = 64
_DISCARDED_SECONDS: Final = 2.0
_STATUS: Final[dict[type[Failure], int]] = {
    kind: status for status, kind in reversed(REFUSALS.items())
}

# uid of who asks, None where nobody knows -> why it may not ask, "" where it may
Admit = Callable[[int | None], str]


class _Server(ThreadingMixIn, BaseServer):
    daemon_threads = True
    engine: Engine
    admit: Admit
    names: tuple[str, ...] = ()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Keep quiet of clients that went away; their answers are kept."""


class UnixServer(_Server, UnixStreamServer):
    """Listens on a local socket."""

    request_queue_size = _BACKLOG


class LoopbackServer(_Server, TCPServer):
    """Listens on 127.0.0.1."""

    request_queue_size = _BACKLOG
    allow_reuse_address = True


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "holdfast"
    sys_version = ""
    timeout = SILENT_SECONDS
    disable_nagle_algorithm = False

    def do_GET(self) -> None:
        self._handle(
            {"": self._facts, "sample": self._sample, "guarantee": self._guarantee}
            | {"history": self._history, "ledger": self._ledger}
        )

    def do_POST(self) -> None:
        self._handle({"questions": self._ask, "gates": self._pass})

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Log nothing: times of requests are nobody's."""

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Refuse what is no request, or one of another method."""
        status = HTTPStatus(code)
        self._refuse(status, "not_understood", message or status.phrase)

    def handle_expect_100(self) -> bool:
        """Let the length be looked at first; `_body` asks for the rest."""
        return True

    @property
    def _engine(self) -> Engine:
        return cast(_Server, self.server).engine

    def _handle(self, routes: dict[str, Callable[[], None]]) -> None:
        server = cast(_Server, self.server)
        url = urlsplit(self.path)
        parts = url.path.removeprefix(PREFIX).strip("/").split("/")
        self._rest = [unquote(part) for part in parts[1:]]
        self._query = parse_qs(url.query, keep_blank_values=True)
        host = self.headers.get("Host", "").rpartition(":")[0] or self.headers.get("Host", "")
        why = server.admit(peer(self.connection))
        if server.names and (host not in server.names or "Origin" in self.headers):
            why = why or "This oracle takes no requests of web pages."
        if why:
            self._refuse(HTTPStatus.FORBIDDEN, "not_allowed", why)
            return
        route = routes.get(parts[0]) if url.path.startswith(PREFIX) else None
        if route is None:
            text = f"There is no {self.command} {url.path[:100]} here."
            self._refuse(HTTPStatus.NOT_FOUND, "not_found", text)
            return
        try:
            route()
        except Failure as failure:
            status = HTTPStatus.UNPROCESSABLE_ENTITY
            if not isinstance(failure, Rejected):
                status = HTTPStatus(_STATUS.get(type(failure), HTTPStatus.BAD_REQUEST))
            self._send(status, problem_of(failure))
        except (BrokenPipeError, ConnectionResetError, TimeoutError):
            self.close_connection = True
        except Exception as error:  # a bug, or a full disk: its kind alone is said
            text = f"Something failed here ({type(error).__name__}); what was asked may be counted."
            output.warn(text)
            self._refuse(HTTPStatus.INTERNAL_SERVER_ERROR, "failed", text)

    def _facts(self) -> None:
        self._send(HTTPStatus.OK, self._engine.facts())

    def _sample(self) -> None:
        self._send(HTTPStatus.OK, self._engine.sample())

    def _guarantee(self) -> None:
        self._send(HTTPStatus.OK, self._engine.guarantee())

    def _history(self) -> None:
        self._send(HTTPStatus.OK, self._engine.history())

    def _ledger(self) -> None:
        self._reply(HTTPStatus.OK, self._engine.lines(), "application/x-ndjson")

    def _ask(self) -> None:
        claim = self._one("claim")
        try:
            claimed = float(claim) if claim else None
        except ValueError:
            claimed = math.nan
        campaign, body = self._one("campaign"), self._body()
        if body is not None:
            self._answer(lambda: self._engine.ask(body, claim=claimed, campaign=campaign))

    def _pass(self) -> None:
        name, campaign = "/".join(self._rest), self._one("campaign")
        body = self._body()
        if body is not None:
            self._answer(lambda: self._engine.pass_gate(name, body, campaign=campaign))

    def _answer(self, ask: Callable[[], Json]) -> None:
        """Send an answer, at a time that tells little of how long it took."""
        started = time.monotonic()
        try:
            found = ask()
        finally:
            time.sleep(-(time.monotonic() - started) % PACE_SECONDS)
        self._send(HTTPStatus.OK, found)

    def _one(self, name: str) -> str:
        return self._query.get(name, [""])[-1]

    def _body(self) -> bytes | None:
        """Return the body; None where it was refused, before any of it was read."""
        length, most = self.headers.get("Content-Length", ""), self._engine.limits.max_bytes
        if not length.isdecimal():
            text = "A file comes with its Content-Length. Nothing was counted."
            self._refuse(HTTPStatus.LENGTH_REQUIRED, "length_required", text)
            return None
        if int(length) > most:
            text = (
                f"The file has {output.size(int(length))}; at most {output.size(most)} are taken. "
                "It was not read, and nothing was counted."
            )
            self._refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "file_too_large", text)
            return None
        if self.headers.get("Expect", "").lower() == "100-continue":
            self.send_response_only(HTTPStatus.CONTINUE)
            self.end_headers()
        body = self.rfile.read(int(length))
        if len(body) < int(length):
            raise ConnectionResetError
        return body

    def _refuse(self, status: HTTPStatus, code: str, text: str) -> None:
        """Refuse a request whose body was not read, and let go of the rest of it."""
        self.close_connection = True
        self._send(status, {"code": code, "title": status.phrase, "detail": text})
        with suppress(OSError):
            self.wfile.flush()
            self.connection.shutdown(socket.SHUT_WR)
            # What is still on its way would reset the connection, and the reason be lost.
            self.connection.settimeout(_DISCARDED_SECONDS)
            until = time.monotonic() + _DISCARDED_SECONDS
            while time.monotonic() < until and self.connection.recv(1 << 16):
                pass

    def _send(self, status: HTTPStatus, document: Json) -> None:
        kind = "application/json" if status < HTTPStatus.MULTIPLE_CHOICES else PROBLEM
        if kind == PROBLEM:
            document = {"type": "about:blank", "status": int(status), **document}
        self._reply(status, json.dumps(document).encode(), kind)

    def _reply(self, status: HTTPStatus, body: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)


def listen_locally(path: Path, mode: int = 0o600, group: int | None = None) -> UnixServer:
    """Listen on a local socket. Raises Failure where somebody else does, or nobody may."""
    if len(os.fsencode(path)) > LONGEST_PATH:
        raise Failure(f"{path} is too long for a local socket: at most {LONGEST_PATH} bytes.")
    _take_away(path)
    # The mode comes with the socket: the path may be another file's a moment later.
    before = os.umask(0o777 & ~mode)
    try:
        server = UnixServer(str(path), _Handler)
    except OSError as error:
        raise Failure(f"{path} can't be listened on: {error.strerror or error}.") from None
    finally:
        os.umask(before)
    if group is not None:
        os.chown(path, -1, group, follow_symlinks=False)
    return server


def listen_on_loopback(port: int) -> LoopbackServer:
    """Listen on 127.0.0.1. Raises Failure."""
    try:
        server = LoopbackServer(("127.0.0.1", port), _Handler)
    except OSError as error:
        text = f"127.0.0.1:{port} can't be listened on: {error.strerror or error}."
        raise Failure(text) from None
    server.names = NAMES
    return server


def serve(server: _Server, engine: Engine, admit: Admit) -> threading.Thread:
    """Answer in a thread of its own, until `shutdown`."""
    server.engine, server.admit = engine, admit
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.daemon = True
    thread.start()
    return thread


def _take_away(path: Path) -> None:
    """Remove the socket that a dead oracle left. Raises Failure where one is alive."""
    try:
        if not stat.S_ISSOCK(path.lstat().st_mode):
            raise Failure(f"{path} is there and no socket; it was left as it is.")
    except FileNotFoundError:
        return
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(str(path))
        except OSError:
            path.unlink(missing_ok=True)
            return
    raise Failure(
        f"Another oracle answers at {path}.", hint="End it first, or name another --socket."
    )
