"""Redis: it answers, keeps what it is given, and can do what Celery asks of it."""

import uuid
from collections.abc import Iterator
from typing import Any

from redis import Redis
from redis.exceptions import RedisError

from leaderboard.operate.doctor.report import Finding, ok, start, told, wrong
from leaderboard.platform import health

SECONDS = 3
OLDEST = (6, 0)
FULL_SHARE = 0.9


def broker() -> Iterator[Finding]:
    """Check that Redis is there, new enough, keeps messages, and can queue and broadcast."""
    try:
        with health.redis_client(SECONDS) as redis:
            info = redis.info()
            problems = [*_settings(info), *_queueing(redis)]
    except (RedisError, OSError) as error:
        yield wrong(
            f"Redis does not answer. {told(error)}",
            f"Start it ({start('redis')}), or correct REDIS_URL. Meanwhile uploads are accepted "
            "and wait.",
        )
        return
    yield from problems or [ok(f"Redis {info['redis_version']} queues, hands out and broadcasts.")]


def _settings(info: dict[str, Any]) -> Iterator[Finding]:
    version = tuple(int(part) for part in str(info["redis_version"]).split(".")[:2])
    if version < OLDEST:
        yield wrong(f"Redis {info['redis_version']} is too old.", "Upgrade Redis to 6.0 or newer.")
    if info.get("role", "master") != "master":
        yield wrong("This Redis is a read-only replica.", "Point REDIS_URL to the primary.")
    limit = int(info.get("maxmemory", 0))
    if not limit:
        return
    policy = info.get("maxmemory_policy", "noeviction")
    if policy != "noeviction":
        yield wrong(
            f"With maxmemory-policy {policy} Redis throws messages away when its memory is full.",
            "Run `redis-cli config set maxmemory-policy noeviction`, and write it into its "
            "configuration.",
        )
    if int(info.get("used_memory", 0)) > FULL_SHARE * limit:
        yield wrong(
            "Redis has used more than nine tenths of its memory.",
            "Raise maxmemory, or find out who else uses this Redis.",
        )


def _queueing(redis: Redis) -> Iterator[Finding]:
    """Try what Celery's transport uses: lists that block, sorted sets, hashes, publishing."""
    key = f"holdfast-doctor-{uuid.uuid4().hex}"
    try:
        redis.lpush(key, "message")
        taken = redis.brpop([key], timeout=1)
        with redis.pipeline() as pipe:
            pipe.zadd(key, {"message": 1})
            pipe.zrem(key, "message")
            pipe.hset(key, "tag", "message")
            pipe.hdel(key, "tag")
            pipe.sadd(key, "queue")
            pipe.delete(key)
            pipe.execute()
        heard = redis.publish(key, "message")
    except RedisError as error:
        yield wrong(
            f"Redis refuses what Celery needs. {told(error)}",
            "Give the account in REDIS_URL all commands on lists, sorted sets, hashes, sets and "
            "channels, as the user `worker` in users.acl.",
        )
        return
    if taken is None or heard is None:
        yield wrong(
            "A message that was queued was not handed out.", "Is there a proxy before Redis?"
        )
