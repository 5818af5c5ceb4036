"""The vault's keys: one public key for sealing, private keys for opening.

The public one is in a file; the private ones are given as any secret is (`platform/secrets.py`),
one key per line, in hex. Usually that is one; during a rotation there is also the key that is being
replaced, and the last line is the new one. Files are replaced atomically:
readers see either the old content or the new.
"""

from pathlib import Path

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from nacl.public import PrivateKey, PublicKey

from durable.files import write_private
from leaderboard.platform.secrets import VAULT_KEY, SecretMissing


class VaultClosed(Exception):
    """This process can't open the vault: it has no private key, or the key doesn't fit."""


def publish(public: Path) -> None:
    """Write the public key of the private one that this process was given. Raises VaultClosed."""
    write(public, private_keys()[-1].public_key)


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


def private_keys() -> list[PrivateKey]:
    """Return all keys that open something, the newest last. Raises VaultClosed."""
    try:
        return _parse(VAULT_KEY.read(), str(VAULT_KEY.file or VAULT_KEY.source))
    except SecretMissing as missing:
        raise VaultClosed(f"There is no vault private key here. {missing}") from None


def read(path: Path) -> list[PrivateKey]:
    """Return the private keys of a file, the newest last. Raises VaultClosed."""
    return _parse(path.read_text(), str(path))


def _parse(text: str, source: str) -> list[PrivateKey]:
    try:
        return [PrivateKey(bytes.fromhex(line)) for line in text.split()]
    except (ValueError, TypeError):
        raise VaultClosed(
            f"{source} holds no vault private key: that is a line of 64 hexadecimal digits."
        ) from None


def stamp() -> tuple[str, int, int]:
    """Return a value that changes whenever the private file is replaced. Raises VaultClosed."""
    try:
        return VAULT_KEY.stamp()
    except SecretMissing as missing:
        raise VaultClosed(f"There is no vault private key here. {missing}") from None


def write(path: Path, *keys: PrivateKey | PublicKey) -> None:
    """Replace a file of keys, durably; one of public keys is for everybody."""
    mode = 0o644 if all(isinstance(key, PublicKey) for key in keys) else 0o600
    write_private(path, "".join(key.encode().hex() + "\n" for key in keys), mode)
