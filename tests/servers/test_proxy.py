"""The proxy's file, by a real Caddy: what it passes on, what it keeps, what it adds."""

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import httpx
import pytest
import yaml

from leaderboard.platform import web_server
from leaderboard.platform.uploads import PUBLIC_DATA, body_limit
from tests.servers.deployment import PATIENCE_SECONDS, ROOT
from tests.servers.embedded import free_port

CADDY = str(Path(sys.executable).parent / "caddy")
FILE = ROOT / "deploy" / "Caddyfile"


class Web(BaseHTTPRequestHandler):
    """A web server that tells what it was sent, and when the first part of a body came."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.answer(dict(self.headers))

    def do_POST(self) -> None:
        first = self.rfile.read(1).decode()
        ARRIVED.append(first)
        self.rfile.read(int(self.headers["Content-Length"]) - 1)
        self.answer({"first": first})

    def answer(self, what: dict[str, str]) -> None:
        body = json.dumps(what).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: Any) -> None:
        pass


ARRIVED: list[str] = []


def adapted(site_url: str) -> dict[str, Any]:
    """What Caddy makes of the file."""
    command = [CADDY, "adapt", "--config", str(FILE), "--adapter", "caddyfile", "--validate"]
    environment = {**os.environ, "SITE_URL": site_url}
    found: dict[str, Any] = json.loads(subprocess.check_output(command, env=environment))
    return found


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    home = tmp_path_factory.mktemp("caddy")
    (home / "app.1234.css").write_text("body {}")
    (home / "app.1234.css.gz").write_bytes(b"packed")
    web = ThreadingHTTPServer(("127.0.0.1", 0), Web)
    Thread(target=web.serve_forever, daemon=True).start()
    port = free_port()
    environment = os.environ | {
        "SITE_URL": f"http://localhost:{port}",
        "WEB_ADDRESS": f"127.0.0.1:{web.server_address[1]}",
        "STATIC_ROOT": str(home),
        "PROXY_BODY_BYTES": "1000",
        "XDG_DATA_HOME": str(home),
        "XDG_CONFIG_HOME": str(home),
    }
    command = [CADDY, "run", "--config", str(FILE), "--adapter", "caddyfile"]
    with (
        (home / "log").open("wb") as log,
        subprocess.Popen(command, env=environment, stdout=log, stderr=log) as caddy,
    ):
        try:
            with httpx.Client(base_url=f"http://localhost:{port}") as client:
                wait_for(client, home / "log")
                yield client
        finally:
            caddy.terminate()
            web.shutdown()
            web.server_close()


def wait_for(client: httpx.Client, log: Path) -> None:
    give_up = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            client.get("/")
        except httpx.TransportError:
            assert time.monotonic() < give_up, log.read_text()
            time.sleep(0.05)
        else:
            return


def test_what_a_client_says_of_its_address_is_replaced(proxy: httpx.Client) -> None:
    made_up = {"X-Forwarded-For": "192.0.2.1", "X-Forwarded-Proto": "https"}
    seen = proxy.get("/c/digits/", headers=made_up).json()
    assert seen["X-Forwarded-For"] in ("127.0.0.1", "::1")
    assert seen["X-Forwarded-Proto"] == "http"
    assert seen["Host"] == proxy.base_url.netloc.decode()


def test_only_a_board_that_is_embedded_may_be_framed(proxy: httpx.Client) -> None:
    pages = (
        "/c/digits/embed/",
        "/c/digits/",
        "/c/digits/leaderboard/",
        "/embed/",
        "/static/no.css",
    )
    framed = {path: proxy.get(path).headers.get("X-Frame-Options") for path in pages}
    assert framed.pop("/c/digits/embed/") is None
    assert set(framed.values()) == {"DENY"}


def test_static_files_are_compressed_and_kept_and_pages_are_left_as_they_are(
    proxy: httpx.Client,
) -> None:
    with proxy.stream("GET", "/static/app.1234.css", headers={"Accept-Encoding": "gzip"}) as file:
        assert b"".join(file.iter_raw()) == b"packed"
    assert file.headers["Content-Encoding"] == "gzip"
    assert "immutable" in file.headers["Cache-Control"]
    assert "Content-Encoding" not in proxy.get("/account/").headers
    assert proxy.get("/static/nothing.css").status_code == 404


def test_a_body_goes_on_as_it_comes(proxy: httpx.Client) -> None:
    ARRIVED.clear()
    address = (proxy.base_url.host, proxy.base_url.port or 80)
    with socket.create_connection(address, timeout=PATIENCE_SECONDS) as sender:
        head = f"POST /c/digits/submit/ HTTP/1.1\r\nHost: localhost:{address[1]}\r\n"
        sender.sendall(f"{head}Content-Length: 2\r\nConnection: close\r\n\r\na".encode())
        give_up = time.monotonic() + PATIENCE_SECONDS
        while not ARRIVED:
            assert time.monotonic() < give_up
            time.sleep(0.01)
        sender.sendall(b"b")
        assert sender.recv(100).startswith(b"HTTP/1.1 200")


def test_what_is_too_large_is_refused(proxy: httpx.Client) -> None:
    assert proxy.post("/c/digits/submit/", content=bytes(1001)).status_code == 413


def test_its_limits_are_wider_than_the_web_server_s() -> None:
    file = adapted("http://localhost")
    (server,) = file["apps"]["http"]["servers"].values()
    assert server["read_header_timeout"] == web_server.PATIENCE_SECONDS * 1e9
    assert server["max_header_bytes"] == web_server.LARGEST_HEADERS
    data = "/organize/new/files/"
    assert PUBLIC_DATA.fullmatch(data)
    sizes = sorted(int(each) for each in found(file, "max_size"))
    assert sizes[0] >= body_limit()
    assert sizes[1] >= body_limit(data)
    (kept,) = found(file, "idle_timeout", within="keep_alive")
    assert kept < web_server.HURRY_SECONDS * 1e9


def found(tree: Any, key: str, within: str = "") -> Iterator[Any]:
    """All values of a key in a tree of dicts and lists."""
    whole = isinstance(tree, dict | list)
    pairs = tree.items() if isinstance(tree, dict) else enumerate(tree) if whole else ()
    for name, value in pairs:
        if name == key and not within:
            yield value
        yield from found(value, key, "" if name == within else within)


def test_an_https_address_gets_a_certificate_and_a_redirection() -> None:
    (server,) = adapted("https://holdfast.example")["apps"]["http"]["servers"].values()
    assert server["listen"] == [":443"]
    assert server["routes"][0]["match"] == [{"host": ["holdfast.example"]}]
    assert "automatic_https" not in server


def test_the_composition_shows_the_proxy_alone_to_the_world() -> None:
    services = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
    assert [name for name, each in services.items() if "ports" in each] == ["proxy"]
    assert services["web"]["environment"]["BEHIND_PROXY"] == "true"
    assert services["proxy"]["build"]["target"] == "proxy"
    dockerfile = (ROOT / "Dockerfile").read_text()
    assert f"COPY {FILE.relative_to(ROOT)} /etc/caddy/Caddyfile" in dockerfile
