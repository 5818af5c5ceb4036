"""The files of the vault's keys: one public key for sealing, private keys for opening.

The private file has one key per line, in hex. Usually that is one; during a rotation it also has
the key that is being replaced, and the last line is the new one. Files are replaced atomically:
readers see either the old content or the new.
"""

from __future__ import annotations

import os
from pathlib import Path

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from nacl.public import PrivateKey, PublicKey

from leaderboard.platform.files import sync


class NoPrivateKey(Exception):
    """This process has no private key of the vault."""


def generate(public: Path, private: Path) -> None:
    """Write a new key pair, readable by the owner only. Refuse to overwrite one."""
    key = PrivateKey.generate()
    for path, material in ((private, key.encode()), (public, key.public_key.encode())):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.touch(mode=0o600, exist_ok=False)
        path.write_text(material.hex() + "\n")


def public_key() -> PublicKey:
    """Return the key to seal to. Raises ImproperlyConfigured where there is none."""
    path = settings.VAULT_PUBLIC_KEY_FILE
    if not path.is_file():
        raise ImproperlyConfigured(
            f"There is no vault public key at {path}: run `python manage.py vault_keys`."
        )
    return PublicKey(bytes.fromhex(path.read_text()))


def private_file() -> Path:
    """Return where this process finds private keys. Raises NoPrivateKey."""
    if not settings.VAULT_PRIVATE_KEY_FILE:
        raise NoPrivateKey(
            "This process has no vault private key: VAULT_PRIVATE_KEY_FILE is empty."
        )
    path = Path(settings.VAULT_PRIVATE_KEY_FILE)
    if not path.is_file():
        raise NoPrivateKey(f"There is no vault private key at {path}.")
    return path


def private_keys() -> list[PrivateKey]:
    """Return all keys that open something, the newest last. Raises NoPrivateKey."""
    path = private_file()
    found = read(path)
    if not found:
        raise NoPrivateKey(f"The vault's private key at {path} is empty.")
    return found


def read(path: Path) -> list[PrivateKey]:
    """Return the private keys of a file, the newest last."""
    return [PrivateKey(bytes.fromhex(line)) for line in path.read_text().split()]


def stamp() -> tuple[str, int, int]:
    """Return a value that changes whenever the private file is replaced. Raises NoPrivateKey."""
    path = private_file()
    found = path.stat()
    return str(path), found.st_ino, found.st_mtime_ns


def write_private(path: Path, keys: list[PrivateKey]) -> None:
    """Replace the private file, durably."""
    _replace(path, "".join(key.encode().hex() + "\n" for key in keys))


def write_public(path: Path, key: PublicKey) -> None:
    """Replace the public file, durably."""
    _replace(path, key.encode().hex() + "\n")


def _replace(path: Path, text: str) -> None:
    part = path.with_name(f".{path.name}.part")
    part.unlink(missing_ok=True)
    file = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(file, "w") as out:
        out.write(text)
        out.flush()
        os.fsync(out.fileno())
    part.replace(path)
    sync(path.parent)
