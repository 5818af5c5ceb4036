"""Brings database, keys and static files to the state that this version of the code needs."""

import hashlib
import io
import logging
from collections.abc import Callable, Iterator
from pathlib import Path

from django.conf import settings
from django.contrib.staticfiles.finders import get_finders
from django.core.management import call_command
from django.db import OperationalError, connection, connections
from django.db.migrations.executor import MigrationExecutor

from leaderboard.apps import HoldfastStaticFilesConfig
from leaderboard.operate.embedded.home import ensure_secret_key, write_private
from leaderboard.pipeline.queue import take_back

logger = logging.getLogger(__name__)


class OtherVersion(Exception):
    """The database was made by another version of Holdfast, which this one can't carry on."""


def prepare(private_key: Path, say: Callable[[str], object]) -> None:
    """Do what is missing, reporting it, and be quick where nothing is.

    Raises OtherVersion, having changed nothing, for a database that has migrations of which this
    version has no file.
    """
    executor = MigrationExecutor(connection)
    unknown = executor.loader.applied_migrations.keys() - executor.loader.disk_migrations.keys()
    if any(app == "leaderboard" for app, _ in unknown):
        raise OtherVersion
    ensure_secret_key(settings.VAR_DIR / "secret_key")
    if not settings.VAULT_PUBLIC_KEY_FILE.is_file():
        say(f"Drawing the vault's key pair; the private key is {private_key}.")
        call_command("vault_keys", private=private_key, stdout=io.StringIO())
    if executor.migration_plan(executor.loader.graph.leaf_nodes()):
        say("Bringing the database up to date.")
        call_command("migrate", interactive=False, verbosity=0)
    _collect_static(say)
    take_back_alone()


def take_back_alone() -> None:
    """Queue what a worker that is gone held, without waiting for its lease: no other machine works
    on a database in a file. Where the database is away, the sweeper does it later."""
    try:
        if connection.vendor == "sqlite":
            take_back()
    except OperationalError:
        logger.warning("What the worker held waits for its lease to end.")
    finally:
        connections.close_all()


def _collect_static(say: Callable[[str], object]) -> None:
    """Collect, hash and compress the static files unless they are those of the last time."""
    stamp = settings.VAR_DIR / "static.stamp"
    digest = hashlib.sha256("\n".join(_static_files()).encode()).hexdigest()
    if stamp.is_file() and stamp.read_text() == digest:
        return
    say("Collecting and compressing the static files, which takes some seconds.")
    call_command("collectstatic", interactive=False, clear=True, verbosity=0)
    write_private(stamp, digest)


def _static_files() -> Iterator[str]:
    """Yield one line for each static file of the project and its packages: place, size, age."""
    for finder in get_finders():
        for name, storage in finder.list(HoldfastStaticFilesConfig.ignore_patterns):
            stat = Path(storage.path(name)).stat()
            yield f"{name} {stat.st_size} {stat.st_mtime_ns}"
