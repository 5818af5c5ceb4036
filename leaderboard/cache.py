"""The cache that holds throttles' counters: with Redis away people still sign in and upload."""

from typing import Any

from django_redis.cache import RedisCache


class FailOpenRedisCache(RedisCache):  # type: ignore[misc]  # django-redis ships no types
    """Behaves as an empty cache while Redis is away.

    `add` then says that it added: rate limits take their lock with it, and a lock that nobody can
    get would lock everybody out.
    """

    def add(self, *args: Any, **kwargs: Any) -> bool:
        """False only where the key is really there already."""
        added = super().add(*args, **kwargs)
        return True if added is None else bool(added)
