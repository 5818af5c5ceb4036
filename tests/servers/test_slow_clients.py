"""One host can't keep the site from others, however slowly it sends and reads."""

import shutil
import socket
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import psutil
import pytest

from leaderboard.platform.uploads import body_limit, head_arrived, is_upload
from leaderboard.platform.web_server import IN_MEMORY, Channel, Request, Server, Task
from tests.cast import predictions
from tests.servers.conftest import Deploy
from tests.servers.deployment import Deployment
from tests.servers.embedded import free_port
from tests.servers.slow import SlowClients

CONNECTIONS = 200
LARGE = "large.bin"
LIMIT = 2**21


@pytest.fixture(scope="module")
def port() -> int:
    return free_port()


@pytest.fixture(scope="module")
def site(deploy: Deploy, port: int, static_files: Path) -> Deployment:
    """The web server alone, with a large file to read slowly."""
    site = deploy(MAX_UPLOAD_BYTES=str(LIMIT))
    shutil.copytree(static_files, site.directory / "static")
    (site.directory / "static" / LARGE).write_bytes(bytes(32 * 2**20))
    site.start_redis()
    site.start_web(port)
    return site


@pytest.fixture
def client(site: Deployment, port: int) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=30) as client:
        site.eventually(lambda: is_up(client), bool)
        yield client


def is_up(client: httpx.Client) -> bool:
    try:
        return client.get("/healthz").is_success
    except httpx.TransportError:
        return False


def test_every_probe_is_answered_beside_two_hundred_slow_clients(
    site: Deployment, client: httpx.Client, port: int
) -> None:
    with SlowClients(port, CONNECTIONS, f"/static/{LARGE}"):
        site.eventually(lambda: connections(site), lambda count: count > CONNECTIONS / 2)
        while connections(site) > 1:  # each of them is cut off in the end
            for page in ("/healthz", "/", "/account/login/"):
                answer = client.get(page, headers={"Connection": "close"})
                assert answer.status_code == 200
    assert "Traceback" not in site.logs("web")


def connections(site: Deployment) -> int:
    """How many clients the web server is connected with."""
    processes = site.process("web").children()
    kept = [each for process in processes for each in process.net_connections("tcp")]
    return sum(each.status == psutil.CONN_ESTABLISHED for each in kept)


def test_a_large_answer_comes_whole_to_who_reads_it(client: httpx.Client) -> None:
    assert len(client.get(f"/static/{LARGE}").content) == 32 * 2**20


def test_an_upload_that_is_too_large_is_refused_in_words(client: httpx.Client) -> None:
    for path in ("/api/v1/competitions/digits/submissions/", "/account/login/"):
        answer = client.post(path, content=bytes(LIMIT + 2**20))
        assert answer.status_code == 413
    answer = client.post("/api/v1/auth/login/", content=bytes(LIMIT + 2**20))
    assert answer.json()["code"] == "file_too_large"


def test_an_upload_is_taken_whole(site: Deployment, client: httpx.Client) -> None:
    token = site.ask("set_up")
    content = predictions([30]) + b"\n" * 2**20  # more than what is kept in memory
    answer = client.post(
        "/api/v1/competitions/digits/submissions/",
        files={"file": ("mine.csv", content)},
        headers={"Authorization": f"Token {token}"},
    )
    assert answer.status_code == 201, answer.text


def test_a_body_of_unknown_length_is_refused(client: httpx.Client) -> None:
    answer = client.post("/api/v1/auth/login/", content=iter([b"{}"]))
    assert answer.status_code == 411


def test_two_lengths_or_a_broken_request_are_refused(site: Deployment, port: int) -> None:
    for head in ("Content-Length: 1\r\nContent-Length: 2", "Transfer-Encoding: x", "Bad\x00: 1"):
        with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
            connection.sendall(f"POST / HTTP/1.1\r\nHost: localhost\r\n{head}\r\n\r\n".encode())
            assert connection.recv(12)[9:] in (b"400", b"501")


class Adjustments:
    """Those that `Request` reads."""

    url_scheme = "http"
    inbuf_overflow = IN_MEMORY
    max_request_header_size = 1 << 16
    max_request_body_size = 2**40


def receive(path: str, length: int) -> Request:
    request = Request(Adjustments())
    request.received(f"POST {path} HTTP/1.1\r\nContent-Length: {length}\r\n\r\n".encode())
    return request


def is_on_disk(request: Request) -> bool:
    for _ in range(3):
        request.received(bytes(IN_MEMORY))
    return bool(request.body_rcv.getbuf().overflowed)


@pytest.mark.parametrize(
    ("path", "on_disk"),
    [
        ("/c/digits/submit/", True),
        ("/api/v1/competitions/digits/submissions/", True),
        ("/organize/digits/data/solution/", False),
        ("/c/digits/submit/../../../admin/", False),
        ("/anything/", False),
    ],
)
def test_only_predictions_wait_on_the_disk(path: str, on_disk: bool) -> None:
    request = receive(path, 4 * IN_MEMORY)
    assert (is_upload(path), is_on_disk(request)) == (on_disk, on_disk)
    request.close()


def test_what_stays_in_memory_is_bounded_for_all_together() -> None:
    one = receive("/admin/", body_limit())
    assert receive("/admin/", body_limit()).error.code == 503
    assert receive("/c/digits/submit/", body_limit()).error is None
    one.close()
    again = receive("/admin/", body_limit())
    assert again.error is None
    again.close()


def test_what_is_too_large_is_kept_nowhere() -> None:
    request = receive("/c/digits/submit/", body_limit() + 1)
    request.received(bytes(4 * IN_MEMORY))
    assert len(request.body_rcv.getbuf()) == 0


def test_the_site_is_told_when_the_head_of_a_request_was_there() -> None:
    request = receive("/c/digits/submit/", 1)
    began = request.arrived
    request.received(b"x")
    task = Task.__new__(Task)
    task.request, task.environ = request, {"HTTP_HOLDFAST_HEAD_ARRIVED": "0"}
    found = head_arrived(task.get_environment())
    assert began is not None
    assert found is not None
    assert found.timestamp() == pytest.approx(began, abs=1e-5)


def connect(since: float, closed: list[float], request: Request) -> Any:
    """A connection that has received a part of a request since a moment."""
    channel = Channel.__new__(Channel)
    channel.outbufs, channel.request, channel.creation_time = [], request, since
    setattr(channel, "handle_close", lambda: closed.append(since))  # noqa: B010
    return channel


@pytest.mark.parametrize(("free", "cut_off"), [(2**40, []), (IN_MEMORY, [1.0])])
def test_whoever_holds_the_disk_longest_is_cut_off_when_it_fills(
    monkeypatch: pytest.MonkeyPatch, free: int, cut_off: list[float]
) -> None:
    requests = [receive("/c/digits/submit/", 8 * IN_MEMORY) for _ in range(3)]
    assert [is_on_disk(each) for each in requests[1:]] == [True, True]
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=free))
    closed = list[float]()
    channels = [connect(float(since), closed, each) for since, each in enumerate(requests)]
    Server._spare_the_disk(Server.__new__(Server), channels)
    assert closed == cut_off
    for request in requests:
        request.close()
