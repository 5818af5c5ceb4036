"""Bring database, keys and static files to the state that this version of the code needs."""

import hashlib
import io
import logging
import secrets
from collections.abc import Callable
from pathlib import Path

from django.conf import settings
from django.contrib.staticfiles.finders import get_finders
from django.core.management import call_command
from django.db import OperationalError, connection, connections
from django.db.migrations.executor import MigrationExecutor

from durable.files import write_private
from leaderboard.apps import HoldfastStaticFilesConfig
from leaderboard.log import keys as log_keys
from leaderboard.pipeline.queue import take_back
from leaderboard.platform.secrets import LOG_KEY, VAULT_KEY

logger = logging.getLogger(__name__)


class CannotStart(Exception):
    """Nothing was changed; the text names what is in the way, and what can be done."""


def prepare(private_key: Path, say: Callable[[str], object]) -> None:
    """Do what is missing, reporting it, and be quick where nothing is.

    Raises CannotStart for a database that has migrations of which this version has no file.
    """
    executor = MigrationExecutor(connection)
    unknown = executor.loader.applied_migrations.keys() - executor.loader.disk_migrations.keys()
    if any(app == "leaderboard" for app, _ in unknown):
        raise CannotStart(
            f"The data in {settings.VAR_DIR} was made by another version of Holdfast, which this "
            "one can't carry on. Nothing was changed. Start that version again, or move the "
            "directory away to begin anew, or give this one another: VAR_DIR=..."
        )
    ensure_secret_key(settings.VAR_DIR / "secret_key")
    if not settings.VAULT_PUBLIC_KEY_FILE.is_file():
        if VAULT_KEY.source and not VAULT_KEY.file:
            say(f"Writing the public key that belongs to {VAULT_KEY.source}.")
        else:
            say(f"Drawing the vault's key pair; the private key is {private_key}.")
        call_command("vault_keys", private=private_key, stdout=io.StringIO())
    if not LOG_KEY.source and not private_key.with_name("log.key").is_file():
        say("Drawing the key that signs the public log.")
        log_keys.generate(private_key.with_name("log.key"))
    if executor.migration_plan(executor.loader.graph.leaf_nodes()):
        say("Bringing the database up to date.")
        call_command("migrate", interactive=False, verbosity=0)
    collect_static(say)
    take_back_alone()


def take_back_alone(*, is_long: bool | None = None) -> None:
    """Queue what a worker that is gone held, without waiting for its lease.

    is_long: that of one queue alone. No other machine works on a database in a file. Where the
    database is away, the sweeper does it later.
    """
    try:
        if connection.vendor == "sqlite":
            take_back(is_long=is_long)
    except OperationalError:
        logger.warning("What the worker held waits for its lease to end.")
    finally:
        connections.close_all()


def ensure_secret_key(path: Path) -> None:
    """Draw the key that signs sessions, unless there is one."""
    if not path.is_file():
        write_private(path, secrets.token_urlsafe(64) + "\n")


def collect_static(say: Callable[[str], object]) -> None:
    """Collect, hash and compress the static files unless they are those of the last time."""
    stamp, digest = settings.VAR_DIR / "static.stamp", hashlib.sha256()
    for finder in get_finders():
        for name, storage in finder.list(HoldfastStaticFilesConfig.ignore_patterns):
            stat = Path(storage.path(name)).stat()
            digest.update(f"{name} {stat.st_size} {stat.st_mtime_ns}\n".encode())
    if stamp.is_file() and stamp.read_text() == digest.hexdigest():
        return
    say("Collecting and compressing the static files, which takes some seconds.")
    call_command("collectstatic", interactive=False, clear=True, verbosity=0)
    write_private(stamp, digest.hexdigest())
