"""How gunicorn's processes talk to clients: waitress's event loop, with deadlines.

Requests are received whole, and answers sent, by one loop that waits for hundreds of clients at
once; threads only run the site. So a client that is slow keeps no thread, and one that is too slow
is cut off. What waits for them waits on the disk, at most as much as is still free there. gunicorn
starts, counts and replaces the processes.
"""

import json
import os
import resource
import shutil
import sys
import tempfile
import time
from collections import deque
from threading import Lock
from typing import Any

from gunicorn.workers.base import Worker
from waitress.adjustments import Adjustments
from waitress.buffers import OverflowableBuffer
from waitress.channel import HTTPChannel
from waitress.parser import HTTPRequestParser
from waitress.receiver import FixedStreamReceiver
from waitress.server import TcpWSGIServer
from waitress.task import ThreadedTaskDispatcher, WSGITask
from waitress.utilities import Error

from leaderboard.errors import PROBLEM_TYPE, Refused
from leaderboard.platform.event_loop import Connections
from leaderboard.platform.uploads import HEAD_ARRIVED, body_limit, is_upload

# Whole headers, and the next request on a connection that is kept, come within so many seconds. Of
# a body or an answer SLOWEST bytes a second do, in each such time: what the system takes at once
# for a client that reads nothing buys it no more than one.
PATIENCE_SECONDS = 15.0
SLOWEST = 2048
# With most places taken, whoever is slow has less time.
HURRY_SECONDS = 3.0
CONNECTIONS = 2000
LARGEST_HEADERS = 1 << 16
# What exceeds this is kept in a file, as an upload of predictions is anyway.
IN_MEMORY = 1 << 17
POLL_SECONDS = 0.5
# Requests of a process that wait for a thread, uploads not counted: some seconds' work, as long as
# people would be sent away for.
LONGEST_LINE = 100
COME_BACK_SECONDS = 5
PROBES = ("/healthz", "/readyz")
STATIC = "/static/"
CROWDED = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>Many people are here right now</title>
<body style="max-width: 30rem; margin: 20vh auto; padding: 0 1rem; font: 1.125rem/1.5 sans-serif">
<p>{}</p>
"""


class LengthRequired(Error):  # type: ignore[misc]  # waitress ships no types
    """A body of unknown length."""

    code = 411
    reason = "Length Required"


class Busy(Error):  # type: ignore[misc]  # waitress ships no types
    """More bodies in memory than there is room for."""

    code = 503
    reason = "Service Unavailable"


class Crowded(Busy):
    """More people than there is room for: whoever only looks comes back without doing anything."""

    def __init__(self, command: str, path: str) -> None:
        self.only_looks = command in ("GET", "HEAD")
        self.is_api = path.startswith("/api/")
        said = "This page loads again by itself in some seconds."
        if not self.only_looks:
            said = "What you sent was not taken. Go back in some seconds, and send it again."
        super().__init__(f"Many people are here right now. {said}")

    def to_response(self, ident: str | None = None) -> tuple[str, list[tuple[str, str]], bytes]:
        again = str(COME_BACK_SECONDS)
        status, headers = f"{self.code} {self.reason}", [("Retry-After", again)]
        if self.is_api:
            problem = Refused("unavailable", variant="crowded").problem()
            headers.append(("Content-Type", PROBLEM_TYPE))
            return status, headers, json.dumps(problem).encode()
        headers.append(("Content-Type", "text/html; charset=utf-8"))
        if self.only_looks:
            headers.append(("Refresh", again))
        return status, headers, CROWDED.format(self.body).encode()


class Nowhere(OverflowableBuffer):  # type: ignore[misc]  # waitress ships no types
    """Forget a body that is refused by its announced length, once its sender has sent it."""

    def append(self, data: bytes) -> None:
        pass


class Request(HTTPRequestParser):  # type: ignore[misc]  # waitress ships no types
    """A request whose body goes to the disk only if it may: uploads of predictions.

    An organizer's solution must not. So other bodies stay in memory, where all of one process
    together take no more than one upload of the largest size.
    """

    error: Any = None
    arrived: float | None = None
    reserved = 0
    _in_memory = 0
    _lock = Lock()

    def parse_header(self, header_plus: bytes) -> None:
        # However long the body takes: this moment decides about a deadline.
        self.arrived = time.time()
        super().parse_header(header_plus)
        if self.chunked:
            self.error, self.completed = LengthRequired("Announce the length of the body."), True
        elif self.content_length > body_limit(self.path):
            self.body_rcv = FixedStreamReceiver(self.content_length, Nowhere(IN_MEMORY))
        elif self.content_length > IN_MEMORY and not is_upload(self.path):
            self.body_rcv.getbuf().overflow = sys.maxsize
            if not self._reserve(self.content_length):
                self.error, self.completed = Busy("Too many large requests at once."), True

    def close(self) -> None:
        self._reserve(-self.reserved)
        super().close()

    def _reserve(self, count: int) -> bool:
        with Request._lock:
            if count > 0 and Request._in_memory + count > body_limit():
                return False
            Request._in_memory += count
            self.reserved += count
            return True


class Task(WSGITask):  # type: ignore[misc]  # waitress ships no types
    """A request, with the moment at which its head had arrived."""

    def get_environment(self) -> dict[str, Any]:
        environ: dict[str, Any] = super().get_environment()
        environ[HEAD_ARRIVED] = self.request.arrived
        return environ


class Channel(HTTPChannel):  # type: ignore[misc]  # waitress ships no types
    """A connection, which is as slow as it may be or is closed."""

    parser_class = Request
    task_class = Task
    sent = 0
    step = ("", 0)
    since = 0.0
    moved = 0

    def service(self) -> None:
        self.server.connections.served.add(self)
        super().service()

    def writable(self) -> bool:
        # Little of an answer, which a thread still makes, waits for the rest.
        is_part = bool(self.requests) and self.total_outbufs_len < self.adj.send_bytes
        return bool(self.will_close or (super().writable() and not is_part))

    def send(self, data: bytes, do_close: bool = True) -> int:
        count: int = super().send(data, do_close=do_close)
        self.sent += count
        return count

    def handle_close(self) -> None:
        if self.request is not None:
            self.request.close()
        super().handle_close()

    def count_spooled(self) -> int:
        """Return the bytes that wait on the disk: of a body, or of an answer that was made."""
        waiting = list(self.outbufs)
        if self.request is not None and self.request.body_rcv is not None:
            waiting.append(self.request.body_rcv.getbuf())
        made = (each for each in waiting if isinstance(each, OverflowableBuffer))
        return sum(len(each) for each in made if each.overflowed)

    def check_pace(self, now: float, patience: float) -> None:
        """Close the connection if the client moved too little since it was last looked at."""
        # By what was sent before, so that the next request has its own time.
        if self.total_outbufs_len >= (self.adj.send_bytes if self.requests else 1):
            step = ("receives an answer", 0)
        elif self.requests:
            step = ("waits for us", self.sent)
        else:
            step = ("does nothing" if self.request is None else "sends a request", self.sent)
        moved = self.request.body_bytes_received if step[0] == "sends a request" else self.sent
        if step != self.step:
            self.step, self.since, self.moved = step, now, moved
        elif step[0] != "waits for us" and now - self.since >= patience:
            if moved - self.moved < patience * SLOWEST:
                self.handle_close()
            self.since, self.moved = now, moved


class Line:
    """Requests that wait for a thread: three of four that are served are uploads, if as many wait.

    When many come at a deadline, whoever was in time is told soon. Pages take longer, and where too
    many wait for them the next ones are told at once to come back: a connection that waits keeps an
    upload from being received in time.
    """

    def __init__(self) -> None:
        self._first, self._others = deque[Channel](), deque[Channel]()
        self._served = 0

    def __len__(self) -> int:
        return len(self._first) + len(self._others)

    def append(self, channel: Channel) -> None:
        request = channel.requests[0]
        # One that could not be parsed has neither method nor path.
        if not request.error and not _goes_first(request):
            # Style and scripts belong to a page that was shown.
            if len(self._others) < LONGEST_LINE or request.path.startswith(STATIC):
                self._others.append(channel)
                return
            request.error = Crowded(request.command, request.path)
        self._first.append(channel)

    def popleft(self) -> Channel:
        self._served += 1
        both = (self._first, self._others) if self._served % 4 else (self._others, self._first)
        return next(filter(None, both)).popleft()


def _goes_first(request: Request) -> bool:
    """Return whether a request is an upload, or asks whether the site lives."""
    is_probe = request.path in PROBES
    return is_probe or (request.command == "POST" and is_upload(request.path))


class Server(TcpWSGIServer):  # type: ignore[misc]  # waitress ships no types
    """Looks at each connection's pace every second."""

    channel_class = Channel

    @property
    def connections(self) -> Connections:
        """Return what the loop looks after."""
        connections: Connections = self._map
        return connections

    def maintenance(self, now: float) -> None:
        self.connections.ask_all()
        channels = list(self.active_channels.values())
        crowded = len(channels) > CONNECTIONS / 2
        for channel in channels:
            channel.check_pace(now, HURRY_SECONDS if crowded else PATIENCE_SECONDS)
        self._spare_the_disk([each for each in channels if each.connected])

    def _spare_the_disk(self, channels: list[Channel]) -> None:
        """Cut off whoever has been here longest, if more waits on the disk than is free there."""
        spooled = {channel: channel.count_spooled() for channel in channels}
        if sum(spooled.values()) > shutil.disk_usage(tempfile.gettempdir()).free:
            holders = [channel for channel, count in spooled.items() if count]
            min(holders, key=lambda channel: channel.creation_time).handle_close()


class BufferingWorker(Worker):  # type: ignore[misc]  # gunicorn ships no types
    """A process of gunicorn's in which waitress serves."""

    def run(self) -> None:
        adjustments = Adjustments(
            asyncore_use_poll=True,
            cleanup_interval=1,
            # The site itself knows how many proxies there are.
            clear_untrusted_proxy_headers=False,
            connection_limit=_connection_limit(),
            ident=None,
            inbuf_overflow=IN_MEMORY,
            max_request_body_size=sys.maxsize,  # `Request` has the limit
            max_request_header_size=LARGEST_HEADERS,
            outbuf_high_watermark=sys.maxsize,  # no thread waits for a client
            recv_bytes=LARGEST_HEADERS,
        )
        dispatcher = ThreadedTaskDispatcher()
        dispatcher.queue = Line()
        dispatcher.set_thread_count(self.cfg.threads)
        connections = Connections()
        for listener in self.sockets:
            found = (listener.family, listener.type, listener.proto, listener.getsockname())
            connections.servers.append(
                Server(
                    self.wsgi,
                    connections,
                    _sock=listener.sock,
                    dispatcher=dispatcher,
                    adj=adjustments,
                    bind_socket=False,
                    sockinfo=found,
                )
            )
        while self.alive and os.getppid() == self.ppid:
            self.notify()
            connections.handle(POLL_SECONDS)
        for server in connections.servers:
            server.accepting = False
        give_up = time.monotonic() + self.cfg.graceful_timeout
        while time.monotonic() < give_up and any(
            isinstance(each, Channel) and (each.requests or each.total_outbufs_len)
            for each in connections.values()
        ):
            self.notify()
            connections.handle(POLL_SECONDS / 5)


def _connection_limit() -> int:
    """Return how many clients a process has at once: it opens files for them and their bodies."""
    soft, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 3 * CONNECTIONS
    limit = wanted if most == resource.RLIM_INFINITY else min(wanted, most)
    if soft != resource.RLIM_INFINITY and soft < limit:
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, most))
    return limit // 3
