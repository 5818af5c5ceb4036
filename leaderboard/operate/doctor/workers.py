"""Workers, the sweeper, and the clocks of all machines."""

import hashlib
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from celery import current_app
from django.conf import settings
from django.db import DatabaseError, connection
from redis.exceptions import RedisError

from leaderboard import vault
from leaderboard.operate.doctor.report import Finding, more_workers, ok, start, unseen, wrong
from leaderboard.platform import broker, health

ROOT = Path(__file__).parents[3]
QUESTION = "about_holdfast"
REPLY_SECONDS = 2.0
DRIFT_SECONDS = 2.0
SET_CLOCK = "Let the machines set their clocks by NTP: `timedatectl set-ntp true`."


@dataclass(frozen=True)
class Worker:
    """What a worker reports of itself, and how far its clock is from ours in seconds.

    `queues` are those that it takes from.
    """

    name: str
    code: str | None
    vault: str | None
    drift: float
    queues: tuple[str, ...]


def workers() -> Iterator[Finding]:
    """Check that workers answer, run this code, and have the key to the vault."""
    if health.redis() != "ok":
        yield unseen("redis")
        return
    found = ask_workers()
    if not any(broker.QUEUE in worker.queues for worker in found):
        yield wrong(
            "No worker answers.",
            f"Start one: {start('worker')}. Meanwhile uploads are accepted and wait. One that runs "
            "and is silent hangs: kill it, others take over what it held.",
        )
    elif not any(broker.LONG in worker.queues for worker in found):
        yield wrong(
            "No worker takes long files.",
            f"Start one: {start('long')}. Meanwhile they wait, and so do duels and final places.",
        )
    elif not any(broker.OUTBOX in worker.queues for worker in found):
        yield wrong(
            "No worker sends mails and webhooks.",
            f"Start one: {start('outbox')}. Meanwhile they wait: webhooks a day, mails three.",
        )
    code, public = code_version(), None
    with suppress(Exception):  # reported by the check of the keys
        public = vault.public_fingerprint()
    for worker in found:
        problems = list(_problems(worker, code, public))
        key = " and the vault's key" if _opens_the_vault(worker) else ""
        yield from problems or [ok(f"{worker.name} answers, with this code{key}.")]


def sweeper() -> Iterator[Finding]:
    """Check that beat asks for sweeps, which put lost submissions back, and workers do them."""
    if health.redis() != "ok":
        yield unseen("redis")
        return
    seen = health.sweeps()
    patience = 60 + 3 * settings.SWEEP_SECONDS
    if _age(seen.sent) > patience:
        yield wrong(f"Beat asked for a sweep {_ago(seen.sent)}.", f"Start it: {start('beat')}.")
    elif _age(seen.run) > patience:
        yield wrong(
            f"Beat asks for sweeps, but a worker did one {_ago(seen.run)}.",
            f"See workers. If they answer, they are busy: run more of them, {more_workers()}.",
        )
    else:
        yield ok(f"The last sweep was {_ago(seen.run)}.")


def clocks() -> Iterator[Finding]:
    """Check that all clocks agree with ours: deadlines and leases depend on it."""
    readings = read_clocks()
    if health.redis() == "ok":
        readings += [(worker.name, worker.drift) for worker in ask_workers()]
    for name, drift in readings:
        if abs(drift) > DRIFT_SECONDS:
            yield wrong(f"The clock of {name} is {drift:+.1f} s from this machine's.", SET_CLOCK)
    if readings and all(abs(drift) <= DRIFT_SECONDS for _, drift in readings):
        yield ok(f"{', '.join(name for name, _ in readings)}: the same as here.")
    if not readings:
        yield unseen("database and redis")


def code_version() -> str:
    """Return twelve hex digits of a hash over the server's source files as they are on disk now.

    By it the doctor sees whether workers were restarted after an upgrade.
    """
    digest = hashlib.sha256()
    for folder in ("leaderboard", "scoring"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            digest.update(f"{path.relative_to(ROOT)}\0".encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def ask_workers() -> list[Worker]:
    """Return all workers that answer within two seconds."""
    asked = time.time()
    replies = current_app.control.broadcast(QUESTION, reply=True, timeout=REPLY_SECONDS) or []
    return [
        Worker(
            name,
            said.get("code"),
            said.get("vault"),
            _drift(said.get("now", asked), asked),
            tuple(said.get("queues", ())),
        )
        for reply in replies
        for name, said in sorted(reply.items())
        if isinstance(said, dict)
    ]


def _problems(worker: Worker, code: str, public: str | None) -> Iterator[Finding]:
    if worker.code != code:
        yield wrong(
            f"{worker.name} runs other code than this.",
            f"Stop it and start it again: {start('--force-recreate worker')}.",
        )
    if not _opens_the_vault(worker):
        return
    if worker.vault is None:
        yield wrong(
            f"{worker.name} has no readable private key: what it takes will fail.",
            "Set VAULT_PRIVATE_KEY_FILE for it (or where else it is), and restart it.",
        )
    elif public is not None and worker.vault != public:
        yield wrong(
            f"The private key of {worker.name} is not that of our public key.",
            "Give all processes the keys of one pair, then restart them.",
        )


def _opens_the_vault(worker: Worker) -> bool:
    return not {broker.QUEUE, broker.LONG}.isdisjoint(worker.queues)


def read_clocks() -> list[tuple[str, float]]:
    """Return the servers that have clocks of their own and answer, and how far these are off."""
    found = []
    asked = time.time()
    with suppress(DatabaseError), connection.cursor() as cursor:
        if connection.vendor == "postgresql":  # SQLite has no clock of its own
            cursor.execute("SELECT extract(epoch FROM clock_timestamp())")
            found.append(("PostgreSQL", _drift(float(cursor.fetchone()[0]), asked)))
    asked = time.time()
    with suppress(RedisError, OSError), health.redis_client() as redis:
        seconds, microseconds = redis.time()
        found.append(("Redis", _drift(seconds + microseconds / 1e6, asked)))
    return found


def _drift(now: float, asked: float) -> float:
    """Return how far a clock that was read since `asked` is from ours, at least."""
    return min(0.0, now - asked) + max(0.0, now - time.time())


def _age(when: float | None) -> float:
    return float("inf") if when is None else time.time() - when


def _ago(when: float | None) -> str:
    return "at no time that Redis remembers" if when is None else f"{_age(when):.0f} s ago"
