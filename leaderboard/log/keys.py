"""The keys of the log: workers sign its heads, the web server signs receipts.

Both are Ed25519 seeds, in hex, given as any secret is (`platform/secrets.py`). The name that a key
goes by in signatures is that of the competition's log.
"""

import hashlib
import hmac
import secrets
from pathlib import Path

from django.conf import settings

from durable.files import write_private
from leaderboard.models import Competition
from leaderboard.platform.secrets import LOG_KEY, RECEIPT_KEY, Secret, SecretMissing
from scoring.transparency.notes import KEY_BYTES, Key


class NoKey(Exception):
    """This process can't sign heads. The text says why."""


def origin(competition: Competition) -> str:
    """Return the name of a competition's log, which is its own wherever it moves."""
    return f"holdfast/{competition.uid}"


def generate(path: Path) -> None:
    """Write a new key, readable by the owner only. Refuse to overwrite one."""
    if path.exists():
        raise FileExistsError(f"There is a key at {path} already.")
    write_private(path, secrets.token_bytes(KEY_BYTES).hex() + "\n")


def log_key(competition: Competition) -> Key:
    """Return the key that signs the heads of a competition's log. Raises NoKey."""
    return Key(origin(competition), _read(LOG_KEY))


def receipt_key(competition: Competition) -> Key:
    """Return the key that signs a competition's receipts.

    Where none is given it follows from SECRET_KEY, which all web servers share, and changes
    with that. Raises NoKey.
    """
    if RECEIPT_KEY.source:
        seed = _read(RECEIPT_KEY)
    else:
        secret = settings.SECRET_KEY.encode()
        seed = hmac.digest(secret, b"holdfast receipts", hashlib.sha256)
    return Key(f"{origin(competition)}/receipts", seed)


def _read(secret: Secret) -> bytes:
    try:
        seed = bytes.fromhex(secret.read())
    except SecretMissing as missing:
        raise NoKey(f"There is no key of the log here. {missing}") from None
    except ValueError:
        seed = b""
    if len(seed) != KEY_BYTES:
        raise NoKey(f"{secret.file or secret.source} holds no key of the log: 64 hex digits.")
    return seed
