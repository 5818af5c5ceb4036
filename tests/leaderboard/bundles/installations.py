"""Another installation in the same process: an empty database, its own vault and watermarks."""

from pathlib import Path

import pytest
from django.apps import apps
from django.conf import settings
from django.db import connection

from leaderboard import vault
from leaderboard.models import User
from leaderboard.vault import keys
from tests.cast import make_user


def other_key(folder: Path) -> str:
    """Generate the keys of the other installation's vault; return the public one."""
    keys.generate(folder / "public.key", folder / "private.key")
    return (folder / "public.key").read_text().strip()


def forget_all() -> User:
    """Lose all rows, as an empty database has none; return an organizer."""
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute("PRAGMA defer_foreign_keys = ON")
        for model in apps.get_app_config("leaderboard").get_models(include_auto_created=True):
            cursor.execute(f'DELETE FROM "{model._meta.db_table}"')  # noqa: S608
    return make_user("host", is_organizer=True)


def go_elsewhere(folder: Path, monkeypatch: pytest.MonkeyPatch) -> User:
    """Leave this installation for one that knows nothing; return an organizer there."""
    if not (folder / "public.key").exists():
        other_key(folder)
    monkeypatch.setattr(settings, "VAULT_PUBLIC_KEY_FILE", folder / "public.key")
    monkeypatch.setattr(settings, "VAULT_PRIVATE_KEY_FILE", str(folder / "private.key"))
    monkeypatch.setattr(settings, "WATERMARK_DIR", folder / "watermark-elsewhere")
    vault._opened.clear()
    return forget_all()
