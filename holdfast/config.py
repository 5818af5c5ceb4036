"""Where the server's address and the token are stored, and which of them a command uses.

The file is JSON, readable by its owner only: `$HOLDFAST_CONFIG`, else `holdfast/config.json` below
`$XDG_CONFIG_HOME` or `~/.config`. `HOLDFAST_URL`, `HOLDFAST_TOKEN` and `HOLDFAST_COMPETITION` take
precedence over it.
"""

import json
import os
import re
import stat
import tempfile
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path

import httpx

from holdfast.errors import Failure

DEFAULT_URL = "http://127.0.0.1:8000"
HOST = re.compile(rb"[A-Za-z0-9._:-]+")
LOCAL = re.compile(r"(localhost|127\.0\.0\.1|\[::1\])(:|/|$)")
OTHERS = stat.S_IRWXG | stat.S_IRWXO


@dataclass(frozen=True)
class Settings:
    """The server's address without a trailing slash, a token (may be empty), and its owner.

    competition: the one that is meant where none is named; it is kept when signing out.
    """

    url: str = ""
    token: str = ""
    username: str = ""
    competition: str = ""


def config_path() -> Path:
    """Return the path of the configuration file, which need not exist."""
    if named := os.environ.get("HOLDFAST_CONFIG"):
        return Path(named).expanduser()
    home = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
    return Path(home).expanduser() / "holdfast" / "config.json"


def readable_by_others(path: Path) -> bool:
    """Return whether others than its owner may read the file (False where modes mean nothing)."""
    return os.name == "posix" and path.exists() and bool(path.stat().st_mode & OTHERS)


def load() -> Settings:
    """Return the stored settings, empty ones if there is no file; raise Failure if unreadable."""
    path = config_path()
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return Settings()
    except (OSError, ValueError) as error:
        raise Failure(
            f"The configuration file {path} cannot be read: {error}.",
            hint="Remove it and run `holdfast login` again.",
        ) from None
    known = raw if isinstance(raw, dict) else {}
    return Settings(*(str(known.get(field.name) or "") for field in fields(Settings)))


def current(url: str = "", token: str = "") -> Settings:
    """Return the settings to use: those given, then those of the environment, then of the file.

    A token is never sent to another server than the one it stands beside, stored or in the
    environment.
    """
    saved, named = load(), clean_url(os.environ.get("HOLDFAST_URL") or "")
    address = clean_url(url) or named or saved.url
    if not address:
        raise Failure(
            "No server is set.", hint="Run `holdfast login`, or set HOLDFAST_URL to its address."
        )
    same_server = address == saved.url
    given = os.environ.get("HOLDFAST_TOKEN", "") if named in ("", address) else ""
    token = token.strip() or given.strip() or (saved.token if same_server else "")
    return replace(saved if same_server else Settings(), url=address, token=token)


def default_competition() -> str:
    """Return the competition that is meant where none is named; it may be empty."""
    return os.environ.get("HOLDFAST_COMPETITION", "").strip() or load().competition


def save(settings: Settings) -> Path:
    """Write the file in one step, readable by its owner only from the first byte, and return it."""
    path = config_path()
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # mkstemp creates the file with mode 0600.
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".config-")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        json.dump(asdict(settings), file, indent=2)
        file.write("\n")
    Path(temporary).replace(path)
    return path


def forget() -> None:
    """Forget server, token and owner; the file is removed unless it says something else."""
    kept = Settings(competition=load().competition)
    if kept.competition:
        save(kept)
    else:
        config_path().unlink(missing_ok=True)


def clean_url(text: str) -> str:
    """Return a server's address as it is stored: no trailing slash, no `/api/v1`.

    An address without a scheme gets https, or http on this machine. Raises Failure if it is not a
    web address.
    """
    text = text.strip()
    if not text:
        return ""
    if "://" not in text:
        text = f"{'http' if LOCAL.match(text) else 'https'}://{text}"
    address = text.rstrip("/")
    try:
        url = httpx.URL(address)
    except httpx.InvalidURL:
        url = httpx.URL("")
    known = url.scheme in ("http", "https") and HOST.fullmatch(url.raw_host)
    if not known or url.userinfo or url.query:
        raise Failure(f"{text!r} is not a server's address. One looks like {DEFAULT_URL}.")
    return address.removesuffix("/api/v1")


def sent_in_clear(url: str) -> bool:
    """Return whether others could read what is sent there: http to another machine."""
    parsed = httpx.URL(url)
    return parsed.scheme == "http" and parsed.host not in ("localhost", "127.0.0.1", "::1")
