"""How `holdfast mcp` is reached: as a process over stdio, and over HTTP with its guards."""

import asyncio
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.server.mcpserver import MCPServer
from starlette.applications import Starlette

from holdfast.errors import Failure
from holdfast.mcp import serving
from holdfast.mcp.serving import Address, application
from holdfast.mcp.tools import tool
from tests.cast import World, predictions
from tests.holdfast.conftest import Run

ROOT = Path(__file__).parents[2]
SECRET = "a-secret-that-is-long-enough-for-this"
HELLO: dict[str, Any] = {
    "jsonrpc": "2.0", "id": 1, "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    },
}  # fmt: skip


def double(number: int) -> int:
    """Double it."""
    return 2 * number


@pytest.fixture
def doubling(signed_in: None) -> MCPServer:
    return MCPServer("doubling", tools=[tool(double, "Double")], log_level="ERROR")


def knock(app: Starlette, url: str, body: Any = HELLO, **headers: str) -> httpx.Response:
    """Send one request to an application."""
    headers = {"accept": "application/json, text/event-stream", **headers}

    async def send() -> httpx.Response:
        async with (
            app.router.lifespan_context(app),
            httpx.AsyncClient(transport=httpx.ASGITransport(app)) as client,
        ):
            return await client.post(f"{url}/mcp", json=body, headers=headers)

    return asyncio.run(send())


def test_an_agent_starts_it_as_a_process_and_gets_a_score(alice: World, environment: Path) -> None:
    known = ("HOLDFAST_URL", "HOLDFAST_TOKEN", "HOLDFAST_CONFIG")
    process = StdioServerParameters(
        command=sys.executable,
        args=["-m", "holdfast", "mcp", "-c", "digits"],
        env={**{name: os.environ[name] for name in known}, "PYTHONPATH": str(ROOT)},
        cwd=environment,
    )

    async def session() -> Any:
        async with Client(process) as client:
            arguments = {"csv": predictions({20}).decode()}
            found = await client.call_tool("submit", arguments)
            assert found.structured_content, found
            return found.structured_content

    assert asyncio.run(session())["release"]["score"] == 0.95


def test_over_http_it_answers_this_machine(doubling: MCPServer) -> None:
    app = application(doubling, Address("127.0.0.1", 8765))

    async def session() -> Any:
        http = httpx2.AsyncClient(transport=httpx2.ASGITransport(app))
        transport = streamable_http_client("http://127.0.0.1:8765/mcp", http_client=http)
        async with app.router.lifespan_context(app), Client(transport) as client:
            return (await client.call_tool("double", {"number": 21})).structured_content

    assert asyncio.run(session()) == {"result": 42}


@pytest.mark.parametrize(
    ("url", "headers", "status"),
    [
        ("http://127.0.0.1:8765", {}, 200),
        ("http://localhost:8765", {"origin": "http://localhost:8765"}, 200),
        ("http://rebound.example:8765", {}, 421),
        ("http://127.0.0.1:8765", {"origin": "https://evil.example"}, 403),
    ],
)
def test_web_pages_can_not_reach_it_by_names_of_their_own(
    url: str, headers: dict[str, str], status: int, doubling: MCPServer
) -> None:
    app = application(doubling, Address("127.0.0.1", 8765))
    assert knock(app, url, **headers).status_code == status


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 401),
        ({"authorization": "Bearer wrong"}, 401),
        ({"authorization": f"Token {SECRET}"}, 401),
        ({"authorization": f"Bearer {SECRET}"}, 200),
    ],
)
def test_beyond_this_machine_it_takes_the_secret(
    headers: dict[str, str],
    status: int,
    doubling: MCPServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(serving.VARIABLE, SECRET)
    app = application(doubling, Address("0.0.0.0", 8765), ["agents.example"])  # noqa: S104
    assert knock(app, "http://agents.example", **headers).status_code == status


@pytest.mark.parametrize(
    ("address", "secret", "reason"),
    [
        ("192.0.2.1:80", "", "clients have to know a secret: set HOLDFAST_MCP_SECRET"),
        ("192.0.2.1:80", "short", "HOLDFAST_MCP_SECRET has 5 characters"),
        ("127.0.0.1:80", "short", "HOLDFAST_MCP_SECRET has 5 characters"),
        ("0.0.0.0:80", SECRET, "every address of this machine"),
        ("[::]:80", SECRET, "every address of this machine"),
        ("host", "", "'host' is no address"),
        ("127.0.0.1:99999", "", "is no address"),
    ],
)
def test_it_does_not_listen_where_it_would_be_open(
    address: str,
    secret: str,
    reason: str,
    doubling: MCPServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(serving.VARIABLE, secret)
    with pytest.raises(Failure, match=reason):
        serving.serve(doubling, address)


def test_an_address_that_is_taken_is_a_plain_reason(doubling: MCPServer) -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as taken,
        pytest.raises(Failure, match="can't be listened on"),
    ):
        serving.serve(doubling, f"127.0.0.1:{taken.getsockname()[1]}")


def test_a_body_beyond_the_limit_is_not_read(doubling: MCPServer) -> None:
    app = application(doubling, Address("127.0.0.1", 8765))
    large = {**HELLO, "params": {"x": "x" * serving.LONGEST_BODY}}
    assert knock(app, "http://127.0.0.1:8765", large).status_code == 413


def test_without_the_extra_the_command_says_what_to_install() -> None:
    program = "import sys; sys.modules['mcp'] = None; from holdfast.cli import main; main()"
    ran = subprocess.run(
        [sys.executable, "-c", program, "mcp"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    assert ran.returncode == 1
    assert 'pip install ".[mcp]"' in ran.stderr
    assert "Traceback" not in ran.stderr


def test_it_starts_for_no_impossible_competition_and_no_missing_folder(
    signed_in: None, run: Run
) -> None:
    assert "is no competition's short name" in run("mcp", "-c", "a/b").err
    assert run("mcp", "-p", "nowhere").code == 2
