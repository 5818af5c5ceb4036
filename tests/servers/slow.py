"""Clients that send and read as slowly as they can, from one host: this one, over loopback only."""

import socket
import time
from collections.abc import Callable
from threading import Event, Thread

TRICKLE_SECONDS = 4.0
LOOK_SECONDS = 0.2
HEADERS = b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: "
BODY = (
    b"POST /api/v1/auth/login/ HTTP/1.1\r\nHost: localhost\r\n"
    b"Content-Type: application/json\r\nContent-Length: 4000\r\n\r\n{"
)


def large_answer(path: str) -> bytes:
    """A request for something larger than what the system keeps for a connection."""
    return f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()


class SlowClient:
    """One connection: sends `opening` at once, then `trickle` byte by byte, and reads as slowly."""

    def __init__(self, port: int, opening: bytes, trickle: bytes) -> None:
        self.trickle = trickle
        self.closed = False
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.socket.settimeout(2)
        try:
            self.socket.connect(("127.0.0.1", port))
            self.socket.sendall(opening)
            self.socket.setblocking(False)
        except OSError:
            self.close()

    def go_on(self) -> None:
        """Sends a byte, and reads one; notices that the server has closed the connection."""
        try:
            if self.trickle:
                self.socket.send(self.trickle)
            self.closed = self.socket.recv(1) == b""
        except BlockingIOError:
            pass
        except OSError:
            self.closed = True

    def close(self) -> None:
        self.closed = True
        self.socket.close()


class SlowClients:
    """So many at once, of each kind as many; `again` opens another for each that was closed."""

    def __init__(self, port: int, count: int, large: str, *, again: bool = False) -> None:
        kinds = [(HEADERS, b"x"), (BODY, b" "), (large_answer(large), b"")]
        self._open: list[Callable[[], SlowClient]] = [
            lambda kind=kinds[number % 3]: SlowClient(port, *kind)  # type: ignore[misc]
            for number in range(count)
        ]
        self._again = again
        self._end = Event()
        self.clients: list[SlowClient] = []
        self.cut_off = 0

    def __enter__(self) -> "SlowClients":
        self.clients = [open_one() for open_one in self._open]
        self._thread = Thread(target=self._run, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()
        for client in self.clients:
            client.close()

    def _run(self) -> None:
        while not self._end.wait(LOOK_SECONDS):
            due = time.monotonic() + TRICKLE_SECONDS
            for number, client in enumerate(self.clients):
                if not client.closed:
                    client.go_on()
                    self.cut_off += client.closed
                elif self._again:
                    client.socket.close()
                    self.clients[number] = self._open[number]()
            self._end.wait(max(0.0, due - time.monotonic()))
