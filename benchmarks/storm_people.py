"""The people of `benchmarks.storm`: many visits at once, by a client that costs little itself."""

import asyncio
import json
import random
import re
import time
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from leaderboard.platform.web_server import COME_BACK_SECONDS

POLL_SECONDS = 1.0
PATIENCE_SECONDS = 300.0
SURE_SECONDS = 1.0  # before the deadline: by then the head of a request has arrived
CLASSES = "0123"
CHANGED = 60  # rows by which one file differs from the others
BOUNDARY = "storm-of-files"
LAST = f"\r\n--{BOUNDARY}--\r\n".encode()


@dataclass
class Visit:
    """One file of a person: when the request begins, and its body comes where that is later."""

    slug: str
    person: list[str]
    begins_at: float
    rows: int
    body_at: float | None = None


@dataclass
class Crowd:
    """Everybody, what they saw, and what it cost to be them."""

    port: int
    closes_at: float
    seconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    answers: Counter[str] = field(default_factory=Counter)
    accepted: list[tuple[str, int, str]] = field(default_factory=list)
    late_accepted: list[str] = field(default_factory=list)
    early_refused: list[str] = field(default_factory=list)
    cpu: float = 0.0
    lasted: float = 1.0
    _rest: dict[int, bytes] = field(default_factory=dict)

    async def play(self, visits: list[Visit]) -> None:
        """Let all visits happen."""
        began, cpu = time.monotonic(), time.process_time()
        async with asyncio.TaskGroup() as group:
            for visit in visits:
                group.create_task(self._visit(visit))
        self.lasted, self.cpu = time.monotonic() - began, time.process_time() - cpu

    async def _visit(self, visit: Visit) -> None:
        name, token, session = visit.person
        cookie, bearer = f"Cookie: sessionid={session}", f"Authorization: Token {token}"
        board = f"/c/{visit.slug}/leaderboard/"
        # The board is opened some seconds before: the moment is that of the upload.
        await _until(visit.begins_at - 1 - 4 * random.random())
        await self._get("pages", board, cookie)
        content = self._content(visit.rows)
        await _until(visit.begins_at)
        began = time.time()
        status, body = await self._post(visit, bearer, content)
        self.answers[f"upload {status}"] += 1
        if status != 201:
            if began < self.closes_at - SURE_SECONDS:
                self.early_refused.append(f"{name} {status} {self.closes_at - began:.3f}")
            return
        if began > self.closes_at:
            self.late_accepted.append(name)
        number = json.loads(body)["number"]
        self.accepted.append((visit.slug, number, name))
        address = f"/api/v1/competitions/{visit.slug}/submissions/{number}/"
        give_up = time.monotonic() + PATIENCE_SECONDS
        pause = POLL_SECONDS
        while time.monotonic() < give_up:
            await asyncio.sleep(pause)
            found = await self._get("API, asking", address, bearer)
            if b'"is_final":true' in found:
                break
            pause = _pause(found)
        await self._get("pages", f"/c/{visit.slug}/submissions/{number}/", cookie)
        await self._get("pages", board, cookie)

    def _content(self, rows: int) -> list[bytes]:
        """Return a file in parts: most of it is shared, so that making one costs little."""
        if rows not in self._rest:
            lines = (f"r{row},{CLASSES[row % 4]}\n" for row in range(CHANGED, rows))
            self._rest[rows] = "".join(lines).encode()
        first = "".join(f"r{row},{random.choice(CLASSES)}\n" for row in range(CHANGED))
        return [f"id,label\n{first}".encode(), self._rest[rows]]

    async def _post(self, visit: Visit, bearer: str, content: list[bytes]) -> tuple[int, bytes]:
        form = (
            f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="p.csv"\r\n'
            "Content-Type: text/csv\r\n\r\n"
        )
        parts = [form.encode(), *content, LAST]
        head = (
            f"POST /api/v1/competitions/{visit.slug}/submissions/ HTTP/1.1\r\n{bearer}\r\n"
            f"Content-Type: multipart/form-data; boundary={BOUNDARY}\r\n"
            f"Content-Length: {sum(map(len, parts))}\r\n"
        )
        status, body, seconds = await self._ask(head, parts, visit.body_at)
        if status == 201 and visit.body_at is None:
            self.seconds[f"acceptance, {visit.slug}"].append(seconds)
        return status, body

    async def _get(self, what: str, path: str, header: str) -> bytes:
        """Return what is there; who is told to come back does, as browsers and the client do."""
        give_up = time.monotonic() + PATIENCE_SECONDS
        while True:
            status, body, seconds = await self._ask(f"GET {path} HTTP/1.1\r\n{header}\r\n")
            self.seconds[what].append(seconds)
            self.answers[f"{what} {status}"] += 1
            if status != 503 or time.monotonic() > give_up:
                return body
            await asyncio.sleep(COME_BACK_SECONDS)

    async def _ask(
        self, head: str, parts: Iterable[bytes] = (), body_at: float | None = None
    ) -> tuple[int, bytes, float]:
        """Return status and body of an answer, and the seconds until then; 0 where none came."""
        began = time.monotonic()
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
            writer.write(f"{head}Host: localhost\r\nConnection: close\r\n\r\n".encode())
            if body_at is not None:
                await writer.drain()
                await _until(body_at)
            for part in parts:
                writer.write(part)
            await writer.drain()
            answer = await reader.read()
            writer.close()
        except OSError:
            answer = b""
        line, _, rest = answer.partition(b"\r\n")
        status = int(line.split(b" ")[1]) if line else 0
        return status, rest.partition(b"\r\n\r\n")[2], time.monotonic() - began


def _pause(found: bytes) -> float:
    """Return when the command-line client asks again: by how long the file still waits."""
    wait = re.search(rb'"wait":{[^}]*"seconds":(\d+)', found)
    return max(POLL_SECONDS, min(int(wait[1]) / 3 if wait else 0.0, 15.0))


async def _until(moment: float) -> None:
    await asyncio.sleep(max(0.0, moment - time.time()))
