"""A bundle between its plan and its draft: it may hold plain labels, so it is stored sealed.

The key is in the page that shows the plan and nowhere else; what nobody comes back for is deleted
when the next one is kept.
"""

import secrets
from datetime import timedelta
from io import BytesIO
from typing import Final

from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.utils import timezone
from nacl.exceptions import CryptoError
from nacl.secret import SecretBox

from leaderboard.errors import Refused
from leaderboard.models import User
from leaderboard.platform.files import open_stored

FOLDER: Final = "waiting"
KEPT_FOR: Final = timedelta(hours=2)
_KEY_BYTES: Final = SecretBox.KEY_SIZE


def keep(content: bytes, *, by: User) -> str:
    """Store a bundle; return what opens it again, for this person alone."""
    _forget_old()
    name, key = secrets.token_hex(16), secrets.token_bytes(_KEY_BYTES)
    sealed = bytes(SecretBox(key).encrypt(by.uid.encode() + content))
    default_storage.save(f"{FOLDER}/{name}", ContentFile(sealed))
    return f"{name}.{key.hex()}"


def take(token: str, *, by: User) -> BytesIO:
    """Return a bundle that the person has left. Raises Refused where it is not there any more."""
    name, _, key = token.partition(".")
    try:
        if int(name, 16) < 0 or not default_storage.exists(path_of(token)):
            raise ValueError
        with open_stored(path_of(token)) as file:
            content = bytes(SecretBox(bytes.fromhex(key)).decrypt(file.read()))
    except (ValueError, TypeError, CryptoError):
        raise Refused("invalid", field="bundle", variant="bundle_gone") from None
    owner = by.uid.encode()
    if not content.startswith(owner):
        raise Refused("invalid", field="bundle", variant="bundle_gone")
    return BytesIO(content[len(owner) :])


def forget(token: str) -> None:
    """Delete a bundle that became a draft."""
    default_storage.delete(path_of(token))


def path_of(token: str) -> str:
    """Return where a bundle is stored."""
    return f"{FOLDER}/{token.partition('.')[0]}"


def _forget_old() -> None:
    if not default_storage.exists(FOLDER):
        return
    before = timezone.now() - KEPT_FOR
    for name in default_storage.listdir(FOLDER)[1]:
        if default_storage.get_modified_time(f"{FOLDER}/{name}") < before:
            default_storage.delete(f"{FOLDER}/{name}")
