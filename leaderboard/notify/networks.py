"""Connections to addresses that strangers named: never into a private network.

A name is resolved and its addresses are checked at each connection, which then goes to the very
address that was checked: what the name means a moment later changes nothing. Redirects are not
followed. Operators allow networks of their own by WEBHOOK_NETWORKS.
"""

import socket
import ssl
import time
from collections.abc import Iterable
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Any, Final

import httpcore
from django.conf import settings

Address = IPv4Address | IPv6Address
# Not private by the registries' word, and yet not what anybody means by a server on the internet:
# IPv6 addresses that lead to an IPv4 one inside, or into a site as they once did, and what clouds
# keep for their own machines.
_OTHERS: Final = tuple(
    map(
        ip_network,
        (
            *("::/96", "64:ff9b::/32", "2001::/32", "2002::/16", "fec0::/10"),
            *("168.63.129.16/32", "192.0.0.0/24", "192.88.99.0/24"),
        ),
    )
)


class AddressRefused(Exception):
    """A name leads to no address that anything may be sent to; the text says why."""


def resolve(host: str, port: int) -> list[str]:
    """Return the addresses of a name. Raises OSError where there are none."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(each[4][0]) for each in found))


def choose_address(host: str, port: int, *, is_encrypted: bool) -> str:
    """Return an address of this name that may be connected to.

    Without encryption only one in WEBHOOK_NETWORKS may. Raises AddressRefused, and OSError where
    the name is unknown.
    """
    try:
        found = resolve(host, port)
    except UnicodeError:  # a name that no name server could know
        raise AddressRefused("It is not the name of a server.") from None
    for text in found:
        if _is_allowed(address := _unmapped(text)) or (is_encrypted and _is_public(address)):
            return text
    if any(_is_public(_unmapped(text)) for text in found):
        raise AddressRefused("Only https is allowed.")
    raise AddressRefused(f"{host} is on a private network, which this site doesn't send to.")


def _unmapped(text: str) -> Address:
    address = ip_address(text.partition("%")[0])
    return getattr(address, "ipv4_mapped", None) or address


def _is_allowed(address: Address) -> bool:
    return _is_in(address, settings.WEBHOOK_NETWORKS)


def _is_public(address: Address) -> bool:
    special = address.is_multicast or address.is_reserved or address.is_unspecified
    return address.is_global and not special and not _is_in(address, _OTHERS)


def _is_in(address: Address, networks: Iterable[Any]) -> bool:
    return any(address.version == each.version and address in each for each in networks)


class _Stream(httpcore.NetworkStream):
    """A connection that ends at a deadline, however slowly the other side goes on."""

    def __init__(self, stream: httpcore.NetworkStream, deadline: float) -> None:
        self._stream, self._deadline = stream, deadline

    def _left(self) -> float:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise httpcore.ReadTimeout("The answer takes too long.")
        return left

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, self._left())

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, self._left())

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.NetworkStream:
        inner = self._stream.start_tls(ssl_context, server_hostname, self._left())
        return _Stream(inner, self._deadline)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


class CheckedBackend(httpcore.NetworkBackend):
    """Opens connections to checked addresses only, for one request that ends at a deadline."""

    def __init__(self, *, is_encrypted: bool, seconds: float) -> None:
        """Begin to count the seconds."""
        self._is_encrypted = is_encrypted
        self._deadline = time.monotonic() + seconds
        self._backend = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        """Connect to the address that was checked. The certificate is still the name's."""
        address = choose_address(host, port, is_encrypted=self._is_encrypted)
        left = max(0.001, self._deadline - time.monotonic())
        return _Stream(self._backend.connect_tcp(address, port, left), self._deadline)
