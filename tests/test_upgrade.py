"""An installation that an earlier version left is carried on by this one."""

import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
KEPT = sorted(path.parent for path in (ROOT / "tests" / "kept").glob("*/database.sql"))


@pytest.fixture(params=KEPT, ids=lambda path: path.name)
def installation(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, str]:
    """A copy of a kept installation; returns the environment that names it."""
    var = tmp_path / "var"
    shutil.copytree(request.param, var)
    with sqlite3.connect(var / "db.sqlite3") as database:
        database.executescript((var / "database.sql").read_text())
    return {
        **{name: value for name, value in os.environ.items() if name != "DATABASE_URL"},
        "DJANGO_SETTINGS_MODULE": "leaderboard.settings",
        "VAR_DIR": str(var),
        "VAULT_PRIVATE_KEY_FILE": str(var / "vault" / "private.key"),
        "SECRET_KEY": "kept-for-the-tests-" + "k" * 40,
        "REDIS_URL": "redis://127.0.0.1:1/0",
    }


CARRY_ON = """
import django

django.setup()
from django.core.management import call_command

from leaderboard.models import Competition, User
from tests import cast

call_command("migrate", interactive=False, verbosity=0)
for slug in ("digits", "columns"):
    call_command("verify", slug)
digits = Competition.objects.get(slug="digits")
people = [User.objects.get(username=name) for name in ("organizer", "alice", "bob")]
world = cast.World(*people, digits)
team = digits.teams.get(captain=people[1])
repeat = world.score(team, cast.predictions(range(10, 15)))
assert repeat.release.repeat_of is not None, repeat.status
print("answered", world.score(team, cast.predictions(range(10, 11))).release.kind)
call_command("verify", "digits")
"""


def test_a_kept_installation_is_upgraded_verified_and_goes_on(
    installation: dict[str, str],
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", CARRY_ON],
        cwd=ROOT,
        env=installation,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("Verified") == 3
    assert "answered improved" in done.stdout
