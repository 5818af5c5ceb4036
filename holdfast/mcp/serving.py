"""How a server of tools is reached: over stdio, or over HTTP with guards at the door.

Over HTTP the SDK's check of Host and Origin is always on, so that no web page can reach a server on
this machine by a name of its own. Beyond loopback a secret is needed, too.
"""

import ipaddress
import os
import secrets
import socket
from collections.abc import Iterable
from dataclasses import dataclass

import uvicorn
from mcp.server.mcpserver import MCPServer
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from holdfast import output
from holdfast.errors import Failure

VARIABLE = "HOLDFAST_MCP_SECRET"  # of the environment
SHORTEST_SECRET = 32  # characters
LONGEST_BODY = 8_000_000  # bytes of a request; escaped text of the longest CSV fits
PATH = "/mcp"
MAKE_ONE = "python -c 'import secrets; print(secrets.token_urlsafe(32))'"


@dataclass(frozen=True)
class Address:
    """Where to listen."""

    host: str
    port: int

    @classmethod
    def read(cls, text: str) -> "Address":
        """Return the address of `HOST:PORT`, `:PORT` or `PORT`; 127.0.0.1 without a host."""
        host, _, port = text.rpartition(":")
        if not port.isdecimal() or int(port) > 65535:
            raise Failure(f"{text!r} is no address. One looks like 127.0.0.1:8765.")
        return cls(host.removeprefix("[").removesuffix("]") or "127.0.0.1", int(port))

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"

    @property
    def is_loopback(self) -> bool:
        if self.host == "localhost":
            return True
        ip = self._ip()
        return ip is not None and ip.is_loopback

    @property
    def is_everywhere(self) -> bool:
        """Return whether it means all addresses of this machine, under whatever names."""
        ip = self._ip()
        return ip is not None and ip.is_unspecified

    def _ip(self) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
        try:
            return ipaddress.ip_address(self.host)
        except ValueError:
            return None


def serve(server: MCPServer, http: str = "", names: Iterable[str] = ()) -> None:
    """Serve until the client leaves (stdio) or the process is stopped (HTTP).

    http: `HOST:PORT`; stdio where it is empty. names: more host names that requests may come by.
    Raises Failure before anything listens, where it would be open to others.
    """
    if not http:
        server.run("stdio")
        return
    address = Address.read(http)
    app = application(server, address, names)
    try:
        family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
        listening = socket.create_server((address.host, address.port), family=family)
    except OSError as error:
        raise Failure(f"{address} can't be listened on: {error.strerror or error}.") from None
    with listening:
        found = Address(address.host, listening.getsockname()[1])
        output.note(f"Serving on http://{found}{PATH}; Ctrl-C ends it.")
        settings = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=5)
        uvicorn.Server(settings).run([listening])


def application(server: MCPServer, address: Address, names: Iterable[str] = ()) -> Starlette:
    """Return the server as an ASGI application with its guards.

    Raises Failure where others could reach it and there is no secret, or nothing says by which
    names they may.
    """
    secret = _secret(address)
    hosts = list(names)
    if address.is_loopback:
        hosts += ["127.0.0.1", "localhost", "[::1]"]
    elif not address.is_everywhere:
        hosts.append(str(address).rpartition(":")[0])
    if not hosts:
        raise Failure(
            f"{address} is every address of this machine: name those that requests may come by.",
            hint="Give --host NAME, as in the address that clients are configured with.",
        )
    app = server.streamable_http_app(
        streamable_http_path=PATH,
        max_request_body_size=LONGEST_BODY,
        transport_security=TransportSecuritySettings(
            allowed_hosts=[*hosts, *(f"{host}:*" for host in hosts)],
            allowed_origins=[
                f"{scheme}://{host}{port}"
                for scheme in ("http", "https")
                for host in hosts
                for port in ("", ":*")
            ],
        ),
    )
    if secret:
        app.add_middleware(Guarded, secret=secret)
    return app


class Guarded:
    """An application that answers only who knows the secret."""

    def __init__(self, app: ASGIApp, secret: str) -> None:
        self._app, self._expected = app, f"Bearer {secret}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        given = Headers(scope=scope).get("authorization", "") if scope["type"] == "http" else ""
        if scope["type"] == "lifespan" or secrets.compare_digest(given.encode(), self._expected):
            await self._app(scope, receive, send)
            return
        reason = f"Send the secret of this server, {VARIABLE}, as `Authorization: Bearer …`."
        refusal = PlainTextResponse(reason, 401, {"WWW-Authenticate": "Bearer"})
        await refusal(scope, receive, send)


def _secret(address: Address) -> str:
    """Return what clients have to know; empty where only this machine's can come."""
    secret = os.environ.get(VARIABLE, "").strip()
    if secret and len(secret) < SHORTEST_SECRET:
        raise Failure(f"{VARIABLE} has {len(secret)} characters; expected are {SHORTEST_SECRET}.")
    if not secret and not address.is_loopback:
        raise Failure(
            f"Others can reach {address}, so clients have to know a secret: set {VARIABLE}.",
            hint=f"`{MAKE_ONE}` makes one. Nothing here encrypts: put a TLS proxy before it.",
        )
    return secret
