"""S3-compatible object storage, whose failures are distinguished from this site's own.

Only imported where `STORAGE_BUCKET` is set: boto takes its time.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from errno import ENOENT
from http import HTTPStatus
from typing import IO, Any

from boto3.exceptions import Boto3Error
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from storages.backends.s3 import S3File, S3Storage
from storages.utils import clean_name

from leaderboard.platform.outages import StorageAway

# Requests are answered within half a minute, whatever the storage does.
_PATIENCE = Config(
    connect_timeout=4, read_timeout=20, retries={"mode": "standard", "total_max_attempts": 2}
)
# The most of a file that is read into memory; larger ones go through a temporary file.
_MEMORY_BYTES = 16 * 2**20
_CHUNK = 2**16
_SIGNED_SECONDS = 300


@contextmanager
def _reaching() -> Iterator[None]:
    try:
        yield
    except ClientError as error:
        if error.response["ResponseMetadata"]["HTTPStatusCode"] == HTTPStatus.NOT_FOUND:
            raise FileNotFoundError(ENOENT, "The storage has no such file") from error
        raise StorageAway from error
    except (BotoCoreError, Boto3Error) as error:
        raise StorageAway from error


class ObjectStorage(S3Storage):  # type: ignore[misc]  # django-storages ships no types
    """Raise StorageAway where the storage can't be reached or refuses.

    Raise FileNotFoundError where it has no such file.
    """

    client_config: Config

    def __init__(self, *, public_url: str = "", **settings: Any) -> None:
        """Keep files as `settings` say; `public_url` is where browsers reach the same storage."""
        super().__init__(**{"max_memory_size": _MEMORY_BYTES} | settings)
        self.client_config = self.client_config.merge(_PATIENCE)
        signed = {"endpoint_url": public_url, "signature_version": "s3v4"}
        self._public = S3Storage(**settings | signed) if public_url else None

    def signed(self, name: str, disposition: str | None) -> str:
        """Return an address that gives a file to whoever has it, for some minutes; "" without."""
        if self._public is None:
            return ""
        asked = {
            "ResponseContentDisposition": disposition or "attachment",
            "ResponseContentType": "application/octet-stream",
        }
        return str(self._public.url(name, parameters=asked, expire=_SIGNED_SECONDS))

    def part(self, name: str, first: int, count: int) -> Iterator[bytes]:
        """Return a part of a file, which is asked for now and read as it is sent on."""
        if not count:
            return iter(())
        key = self._normalize_name(clean_name(name))
        with _reaching():
            found = self.bucket.Object(key).get(Range=f"bytes={first}-{first + count - 1}")
        return _chunks(found["Body"])

    exists = _reaching()(S3Storage.exists)
    size = _reaching()(S3Storage.size)
    listdir = _reaching()(S3Storage.listdir)
    delete = _reaching()(S3Storage.delete)
    _save = _reaching()(S3Storage._save)

    def _open(self, name: str, mode: str = "rb") -> "_Object":
        with _reaching():
            return _Object(self._normalize_name(clean_name(name)), mode, self)


def _chunks(body: Any) -> Iterator[bytes]:
    with _reaching():
        yield from body.iter_chunks(_CHUNK)


class _Object(S3File):  # type: ignore[misc]  # django-storages ships no types
    """An object that is fetched when it is read, or opened again, for the first time."""

    def _get_file(self) -> IO[bytes]:
        try:
            with _reaching():
                found: IO[bytes] = super()._get_file()
        except OSError:
            # Otherwise a partial download would be taken for the whole.
            self.close()
            raise
        return found

    file = property(_get_file, S3File._set_file)
