"""A user of the system for each process, where the start may choose: as root, and on Linux.

Then who takes the web server over reads neither the vault's private key nor what other processes
hold, and can't write the watermark. All are in one group, which has the database, the stored files
and what every process must know.
"""

import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from django.conf import settings

from leaderboard.platform import files

# Neither Debian's users nor systemd's passing ones are in this range; names they need none.
GROUP: Final = 60900
USERS: Final = {"web": 60900, "worker": 60901, "outbox": 60902, "beat": 60903, "redis": 60904}
TOGETHER: Final = (
    "Web server and worker are one user of the system here, so whoever takes the web server over "
    "could read the vault's private key"
)
# The system's own checks, by the user that is to run: program, code, directories, files, port.
_PROBE: Final = """
import os, socket, sys
host, port, *paths = sys.argv[1:]
try:
    import django, leaderboard
    for path in paths:
        os.stat(path + '/.') if os.path.isdir(path) else open(path).close()
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind((host, int(port)))
except Exception as error:
    sys.exit(f"{type(error).__name__}: {error}")
"""


def why_together(var_dir: Path, private_key: Path | None, host: str, port: int) -> str:
    """Return why the processes can't be users of their own; empty where they can."""
    if os.geteuid():
        return "only root can give each its own"
    database = settings.DATABASES["default"]
    if database["ENGINE"].endswith("sqlite3") and Path(database["NAME"]).parent != var_dir:
        return f"the database lies outside {var_dir}"
    # All that is not below VAR_DIR, whose owners are chosen by `hand_out`.
    web = [Path(files.__file__), _above(var_dir)]
    if not settings.WATERMARK_DIR.resolve().is_relative_to(var_dir):
        web.append(_above(settings.WATERMARK_DIR))
    vault = var_dir / "vault"
    web += [path for path in (settings.VAULT_PUBLIC_KEY_FILE,) if path.parent != vault]
    worker = [*web, private_key] if private_key and private_key.parent != vault else web
    for name, paths, at in (("web", web, port), ("worker", worker, 0)):
        if problem := _refusal(name, [str(path) for path in paths], host, at):
            return f"as user {USERS[name]}, {name} can't work: {problem}"
    return ""


def _above(path: Path) -> Path:
    """Return the directory that it lies in, or will lie in."""
    return next(parent for parent in path.resolve().parents if parent.is_dir())


def _refusal(name: str, paths: list[str], host: str, port: int) -> str:
    """Return what keeps a user from these paths and this port."""
    try:
        done = subprocess.run(
            [sys.executable, "-c", _PROBE, host, str(port), *paths],
            cwd=Path(__file__).parents[3],
            user=USERS[name],
            group=GROUP,
            extra_groups=[],
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError as error:
        return f"{error.strerror}: {sys.executable}"
    return done.stderr.strip().rpartition("\n")[2]


def is_separate(var_dir: Path) -> bool:
    """Return whether the last start here made each process a user of its own."""
    found = var_dir.stat()
    return found.st_gid == GROUP and bool(found.st_mode & stat.S_ISVTX)


def hand_out(var_dir: Path) -> None:
    """Give each user what it needs of the directory, and nobody else anything. Done as root.

    The group may write files into the directory, and nobody may remove or replace another's.
    """
    _give(settings.WATERMARK_DIR, USERS["worker"], 0o750, 0o640)
    _give(var_dir / "redis", USERS["redis"], 0o700, 0o600)
    _give(var_dir / "vault", USERS["worker"], 0o750, 0o640)
    _give(var_dir / "storage", 0, 0o2770, 0o660)
    _give(settings.STATIC_ROOT, 0, 0o750, 0o640)
    for name in ("private.key", "log.key"):
        for path in (var_dir / "vault").glob(name):
            _set(path, USERS["worker"], 0o600)
    for path in var_dir.glob("db.sqlite3*"):
        # Root's own, so that nobody can put something else in its place.
        _set(path, 0, 0o660)
    for name in ("secret_key", "site_url"):
        _set(var_dir / name, 0, 0o640)
    _set(var_dir, 0, 0o1770)


def _give(directory: Path, user: int, directory_mode: int, file_mode: int) -> None:
    """Give a user a directory with all that is in it, unless it has it already."""
    directory.mkdir(parents=True, exist_ok=True)
    wanted = (user, GROUP, directory_mode)
    found = directory.stat()
    if (found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)) == wanted:
        return
    for path in _below(directory):
        _set(path, user, directory_mode if path.is_dir() else file_mode)
    _set(directory, user, directory_mode)  # at the end: a start that was stopped does it again


def _below(directory: Path) -> Iterator[Path]:
    for folder, folders, names in os.walk(directory):
        yield from (Path(folder, name) for name in (*folders, *names))


def _set(path: Path, user: int, mode: int) -> None:
    """Set owner and mode of a file or directory, and of nothing that a link leads to."""
    opened = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        if os.fstat(opened).st_nlink == 1 or stat.S_ISDIR(os.fstat(opened).st_mode):
            os.fchown(opened, user, GROUP)
            os.fchmod(opened, mode)
    finally:
        os.close(opened)
