"""Another installation in the same process: an empty database, its own vault and watermarks."""

import hashlib
import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.conf import settings
from django.db import connection

from leaderboard import queries, vault
from leaderboard.errors import Refused
from leaderboard.models import (
    Competition,
    Event,
    Ledger,
    Team,
    User,
)
from leaderboard.operate.archives import export_archive, import_archive
from leaderboard.organize.moves import move
from leaderboard.pipeline import handover
from leaderboard.tasks import carry_out_handover
from leaderboard.vault import keys
from tests.cast import (
    World,
    ledger_of,
    make_user,
)

FILES = (range(10, 20), range(10, 19), range(10, 12))


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


def exported(competition: Competition, by: User, **options: Any) -> io.BytesIO:
    with export_archive(competition, by=by, **options) as file:
        return io.BytesIO(file.read())


def moved(world: World, folder: Path, **options: Any) -> io.BytesIO:
    """Move `digits`, as a worker would, and return its archive."""
    order = move(world.digits, other_key(folder), by=world.organizer)
    carry_out_handover(handover_id=order.pk)
    return exported(world.digits, world.organizer, **options)


def arrived(competition: Competition) -> Competition:
    """Have a worker open what came along."""
    for order in handover.waiting():
        carry_out_handover(handover_id=order.pk)
    return Competition.objects.get(pk=competition.pk)


def lines(competition: Competition) -> list[dict[str, Any]]:
    """Return the published ledger, without the competition's short name."""
    published = b"".join(queries.ledger_lines(ledger_of(competition))).splitlines()
    return [{k: v for k, v in json.loads(each).items() if k != "competition"} for each in published]


def rewritten(file: io.BytesIO, change: Callable[[str, bytes], bytes | None]) -> io.BytesIO:
    """Return an archive with other contents, whose manifest is left as it was."""
    out = io.BytesIO()
    with zipfile.ZipFile(file) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            content = change(name, old.read(name))
            if content is not None:
                new.writestr(name, content)
    return out


def forged(file: io.BytesIO, table: str, change: Callable[[dict[str, Any]], Any]) -> io.BytesIO:
    """Return an archive whose rows of a table are others, with a manifest that fits."""
    changed: dict[str, str] = {}

    def rows(name: str, content: bytes) -> bytes:
        if name == f"tables/{table}.jsonl":
            found = [json.loads(line) for line in content.splitlines()]
            for row in found:
                change(row)
            content = b"".join(json.dumps(row).encode() + b"\n" for row in found)
            changed[name] = hashlib.sha256(content).hexdigest()
        elif name == "archive.json":
            document = json.loads(content)
            document["files"] |= changed
            content = json.dumps(document).encode()
        return content

    return rewritten(file, rows)


def refused(file: io.BytesIO, by: User, **options: Any) -> str:
    before = [model.objects.count() for model in (Competition, Team, Event, User, Ledger)]
    with pytest.raises(Refused) as caught:
        import_archive(file, by=by, **options)
    after = [model.objects.count() for model in (Competition, Team, Event, User, Ledger)]
    assert before == after
    return str(caught.value)
