"""A server on this machine that webhooks are sent to, in a thread of the test's process."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer

Answer = Callable[[BaseHTTPRequestHandler], None]


@dataclass
class Receiver:
    """What it got, and how it answers: with 200, until a test says otherwise."""

    port: int = 0
    got: list[tuple[dict[str, str], bytes]] = field(default_factory=list)
    answer: Answer = lambda request: reply(request, 200, b"thanks")

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook"


def reply(request: BaseHTTPRequestHandler, status: int, body: bytes = b"", **headers: str) -> None:
    request.send_response(status)
    for name, value in {"Content-Length": str(len(body)), **headers}.items():
        request.send_header(name, value)
    request.end_headers()
    request.wfile.write(body)


@contextmanager
def receiving() -> Iterator[Receiver]:
    receiver = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            receiver.got.append((headers, body))
            try:
                receiver.answer(self)
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True  # who asked had heard enough

        def log_message(self, *args: object) -> None:
            return

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        receiver.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield receiver
        finally:
            server.shutdown()
            thread.join()
