"""Make a small installation and keep it: python -m tests.kept.make tests/kept/VERSION

It has a competition with two boards and another with Thresholdout, two teams, answers of every
kind, a rejected file and a merged team. Keep one whenever a migration is added, before it is.
"""

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]


def play() -> None:
    """Play the competitions, in the process whose settings name the directory."""
    import django

    django.setup()
    from django.core.management import call_command

    from leaderboard.participate import membership
    from tests import cast

    call_command("migrate", verbosity=0)
    call_command("vault_keys", private=Path(os.environ["VAULT_PRIVATE_KEY_FILE"]), verbosity=0)
    organizer = cast.make_user("organizer", is_organizer=True)
    alice, bob, carol = (cast.make_user(name) for name in ("alice", "bob", "carol"))
    digits = cast.make_competition("digits", organizer)
    world = cast.World(organizer, alice, bob, digits)
    columns = cast.make_competition(
        "columns", organizer, rows=cast.CHECKED_ROWS, public=cast.CHECKED_PUBLIC_ROWS
    )
    columns = cast.add_column(columns, organizer)
    for user in (alice, bob):
        team = world.join(user)
        for wrong in (range(10, 20), range(10, 15), range(10, 15)):
            world.score(team, cast.predictions(wrong))
        world.score(team, b"id,label\nr0,7\n")
        there = world.join(user, competition=columns)
        for first in (cast.CHECKED_ROWS, 20, 60):
            wrong = range(first, cast.CHECKED_ROWS)
            world.score(there, cast.predictions(wrong, rows=cast.CHECKED_ROWS))
    other = world.join(carol)
    world.score(other, cast.predictions(range(10, 12)))
    membership.merge(team=other, into=digits.teams.get(captain=bob), by=organizer)


def keep(target: Path) -> None:
    """Play in a fresh directory, and keep its files with the database as text."""
    with tempfile.TemporaryDirectory() as name:
        var = Path(name)
        settings = {
            "DJANGO_SETTINGS_MODULE": "leaderboard.settings",
            "VAR_DIR": str(var),
            "VAULT_PRIVATE_KEY_FILE": str(var / "vault" / "private.key"),
            "SECRET_KEY": "kept-for-the-tests-" + "k" * 40,
            "REDIS_URL": "redis://127.0.0.1:1/0",
        }
        command = [sys.executable, "-m", "tests.kept.make", "--play"]
        subprocess.run(command, cwd=ROOT, env={**os.environ, **settings}, check=True)
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir(parents=True)
        for part in ("storage", "vault", "watermark"):
            shutil.copytree(var / part, target / part)
        with sqlite3.connect(var / "db.sqlite3") as database:
            (target / "database.sql").write_text("\n".join(database.iterdump()) + "\n")


if __name__ == "__main__":
    if sys.argv[1] == "--play":
        play()
    else:
        keep(Path(sys.argv[1]).resolve())
