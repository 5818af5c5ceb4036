"""The cache of the web processes: what the throttles count.

Redis is not trusted. A value is JSON, signed together with its key under SECRET_KEY, so that
nothing is read that a web process did not write there: no pickle, no value of another shape.
"""

from collections.abc import Callable
from functools import cache, partial, wraps
from typing import Any

from django.core.cache.backends.base import DEFAULT_TIMEOUT, BaseCache
from django.core.cache.backends.locmem import LocMemCache
from django.core.signing import BadSignature, Signer
from redis import Redis
from redis.exceptions import RedisError


def _or_here(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def call(self: "RedisOrLocalCache", *args: Any, **kwargs: Any) -> Any:
        try:
            return method(self, *args, **kwargs)
        except (RedisError, BadSignature):
            return getattr(self.local, method.__name__)(*args, **kwargs)

    return call


class RedisOrLocalCache(BaseCache):
    """Redis, or this process's memory while Redis is away or holds what nobody here wrote.

    People still sign in and upload then, and guesses at passwords are still counted, if only by
    each web process for itself. The methods that `BaseCache` makes of these four work as well.
    """

    def __init__(self, server: str, params: dict[str, Any]) -> None:
        super().__init__(params)
        self._redis: Redis = _client(server)
        self.local = LocMemCache("while Redis is away", params)

    @_or_here
    def get(self, key: str, default: Any = None, version: int | None = None) -> Any:
        name = self.make_and_validate_key(key, version=version)
        value: Any = self._redis.get(name)
        if value is None:
            return default
        # What is not even text is no more ours than what bears no signature.
        return _signer(name).unsign_object(str(value, "ascii", "replace"))

    @_or_here
    def set(
        self, key: str, value: Any, timeout: float | None = DEFAULT_TIMEOUT, version: Any = None
    ) -> None:
        self._store(key, value, timeout, version, only_new=False)

    @_or_here
    def add(
        self, key: str, value: Any, timeout: float | None = DEFAULT_TIMEOUT, version: Any = None
    ) -> bool:
        return self._store(key, value, timeout, version, only_new=True)

    @_or_here
    def delete(self, key: str, version: int | None = None) -> bool:
        return bool(self._redis.delete(self.make_and_validate_key(key, version=version)))

    def _store(self, key: str, value: Any, timeout: Any, version: Any, *, only_new: bool) -> bool:
        name = self.make_and_validate_key(key, version=version)
        seconds = self.default_timeout if timeout is DEFAULT_TIMEOUT else timeout
        if seconds is not None and seconds <= 0:
            return bool(self._redis.delete(name))
        # No key stays for ever: whatever got in there is gone some day.
        milliseconds = round(1000 * min(seconds or LONGEST_SECONDS, LONGEST_SECONDS))
        signed = _signer(name).sign_object(value)
        return bool(self._redis.set(name, signed, px=max(1, milliseconds), nx=only_new))


LONGEST_SECONDS = 30 * 24 * 3600.0


# The client of an address, which all threads share.
_client = cache(partial(Redis.from_url, socket_connect_timeout=1, socket_timeout=1))


def _signer(name: str) -> Signer:
    return Signer(salt=f"holdfast.cache:{name}")
