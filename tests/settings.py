"""The server's settings for tests: their own environment, a database in memory, quick hashing.

Set `DATABASE_URL` to run the suite on another database.
"""

import atexit
import os
import shutil
import tempfile
import uuid
from pathlib import Path

# Only a name: whoever writes there makes it, and mypy, which reads this file too, leaves nothing.
_var_dir = str(Path(tempfile.gettempdir()) / f"holdfast-tests-{uuid.uuid4().hex}")
atexit.register(shutil.rmtree, _var_dir, ignore_errors=True)

os.environ.update(
    VAR_DIR=_var_dir,
    SECRET_KEY="for-tests-only-" + "0123456789" * 5,
    SITE_URL="http://testserver",
    CONFIRM_TO_JOIN="false",
    ALLOWED_HOSTS="testserver,localhost,127.0.0.1",
    DEBUG="false",
    EMAIL_URL="console:",
    # So that finals can start once a competition is closed.
    UPLOAD_SECONDS="0",
    # So that a page shows what was done just before.
    BOARD_SECONDS="0",
    REDIS_URL="redis://127.0.0.1:1/0",
    # So that test clients, who all come from this machine, are as far away as participants are.
    METRICS_TOKEN="for-tests-only-0123456789",
)
os.environ.setdefault("DATABASE_URL", "sqlite://:memory:")

from leaderboard.settings import *  # noqa: E402, F403  (reads the environment that is set above)

if DATABASES["default"]["ENGINE"].endswith("sqlite3"):  # noqa: F405
    # pytest-django would give each process a file of an engine that it does not know.
    DATABASES["default"]["TEST"] = {"NAME": ":memory:"}  # noqa: F405
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}
CELERY_BROKER_URL = "memory://"
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.InMemoryStorage"},
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}
