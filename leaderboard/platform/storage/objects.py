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

    def __init__(self, **settings: Any) -> None:
        super().__init__(**{"max_memory_size": _MEMORY_BYTES} | settings)
        self.client_config = self.client_config.merge(_PATIENCE)

    exists = _reaching()(S3Storage.exists)
    size = _reaching()(S3Storage.size)
    listdir = _reaching()(S3Storage.listdir)
    delete = _reaching()(S3Storage.delete)
    _save = _reaching()(S3Storage._save)

    def _open(self, name: str, mode: str = "rb") -> "_Object":
        with _reaching():
            return _Object(self._normalize_name(clean_name(name)), mode, self)


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
