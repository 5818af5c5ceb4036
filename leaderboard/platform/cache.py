"""The cache that holds the throttles' counters."""

from collections.abc import Callable
from typing import Any

from django.core.cache.backends.locmem import LocMemCache
from django_redis.cache import RedisCache
from redis.exceptions import RedisError


def _or_here(name: str) -> Callable[..., Any]:
    def method(self: "RedisOrLocalCache", *args: Any, **kwargs: Any) -> Any:
        try:
            return getattr(super(RedisOrLocalCache, self), name)(*args, **kwargs)
        except RedisError:
            return getattr(self.local, name)(*args, **kwargs)

    return method


class RedisOrLocalCache(RedisCache):  # type: ignore[misc]  # django-redis ships no types
    """Redis, or this process's memory as long as Redis is away.

    People still sign in and upload then, and guesses at passwords are still counted, if only by
    each web process for itself.
    """

    def __init__(self, server: str, params: dict[str, Any]) -> None:
        super().__init__(server, params)
        self.local = LocMemCache("while Redis is away", params)

    get = _or_here("get")
    set = _or_here("set")
    add = _or_here("add")
    delete = _or_here("delete")
    incr = _or_here("incr")
    has_key = _or_here("has_key")
    touch = _or_here("touch")
    get_many = _or_here("get_many")
    set_many = _or_here("set_many")
    delete_many = _or_here("delete_many")
