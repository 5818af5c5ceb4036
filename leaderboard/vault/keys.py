"""The files of the vault's keys: one public key for sealing, private keys for opening.

The private file has one key per line, in hex. Usually that is one; during a rotation it also has
the key that is being replaced, and the last line is the new one. Files are replaced atomically:
readers see either the old content or the new.
"""

from pathlib import Path

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from nacl.public import PrivateKey, PublicKey

from leaderboard.platform.files import write_private


class VaultClosed(Exception):
    """This process can't open the vault: it has no private key, or the key doesn't fit."""


def generate(public: Path, private: Path) -> None:
    """Write a new key pair, readable by the owner only. Refuse to overwrite one."""
    for path in (private, public):
        if path.exists():
            raise FileExistsError(f"There is a key at {path} already.")
    key = PrivateKey.generate()
    write(private, key)
    write(public, key.public_key)


def public_key() -> PublicKey:
    """Return the key to seal to. Raises ImproperlyConfigured where there is none."""
    path = settings.VAULT_PUBLIC_KEY_FILE
    if not path.is_file():
        raise ImproperlyConfigured(
            f"There is no vault public key at {path}: run `python manage.py vault_keys`."
        )
    return PublicKey(bytes.fromhex(path.read_text()))


def private_file() -> Path:
    """Return where this process finds private keys. Raises VaultClosed."""
    if not settings.VAULT_PRIVATE_KEY_FILE:
        raise VaultClosed("This process has no vault private key: VAULT_PRIVATE_KEY_FILE is empty.")
    path = Path(settings.VAULT_PRIVATE_KEY_FILE)
    if not path.is_file():
        raise VaultClosed(f"There is no vault private key at {path}.")
    return path


def private_keys() -> list[PrivateKey]:
    """Return all keys that open something, the newest last. Raises VaultClosed."""
    path = private_file()
    found = read(path)
    if not found:
        raise VaultClosed(f"The vault's private key at {path} is empty.")
    return found


def read(path: Path) -> list[PrivateKey]:
    """Return the private keys of a file, the newest last."""
    return [PrivateKey(bytes.fromhex(line)) for line in path.read_text().split()]


def stamp() -> tuple[str, int, int]:
    """Return a value that changes whenever the private file is replaced. Raises VaultClosed."""
    path = private_file()
    found = path.stat()
    return str(path), found.st_ino, found.st_mtime_ns


def write(path: Path, *keys: PrivateKey | PublicKey) -> None:
    """Replace a file of keys, durably."""
    write_private(path, "".join(key.encode().hex() + "\n" for key in keys))
