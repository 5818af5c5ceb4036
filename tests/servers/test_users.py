"""A start by root, where each process is a user of its own; started by others, it says so."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import psutil
import pytest

from leaderboard.operate.embedded.users import GROUP, TOGETHER, USERS
from tests.servers.deployment import ROOT
from tests.servers.embedded import Embedded, environment_of
from tests.servers.test_embedded_start import is_ready, wait_until

IS_ROOT: Final = os.geteuid() == 0
# As some user: print which of these paths it can read, and which it can write.
LOOK: Final = """
import os, sys
for path in sys.argv[1:]:
    print(os.path.basename(path), int(os.access(path, os.R_OK)), int(os.access(path, os.W_OK)))
"""
# What the web server does with an upload and a form, and what the worker does with both.
DJANGO: Final = """
import os, sys
os.environ["DJANGO_SETTINGS_MODULE"] = "leaderboard.settings"
import django
django.setup()
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from leaderboard.models import User
"""
STORE: Final = (
    DJANGO
    + """
print(default_storage.save("submissions/1/sent", ContentFile(b"sent")))
print(User.objects.create_user("anonymous").username)
"""
)
READ: Final = (
    DJANGO
    + """
file, name = sys.argv[1:]
print(default_storage.open(file).read().decode(), name, end=" ")
default_storage.delete(file)
User.objects.filter(username=name).delete()
print(User.objects.filter(username=name).count(), end="")
"""
)


@pytest.fixture(scope="module")
def site() -> Iterator[Embedded]:
    """A start in a directory that everybody may reach, with a Python that everybody may run."""
    with TemporaryDirectory(prefix="holdfast-users-") as name:
        Path(name).chmod(0o755)
        environment = python_for_all(Path(name)) if IS_ROOT else {}
        with Embedded(Path(name) / "var", "--no-demo", environment=environment) as site:
            site.wait_until_ready()
            yield site


def python_for_all(directory: Path) -> dict[str, str]:
    """This Python, or a copy of it where it lies below a directory that is root's alone."""
    packages = {"PYTHONPATH": str(Path(psutil.__file__).parents[1])}
    try:
        subprocess.run([sys.executable, "-c", ""], user=GROUP, check=True)
    except (OSError, subprocess.CalledProcessError):
        unneeded = shutil.ignore_patterns("test", "site-packages", "*.a", "config-3*", "share")
        copy = directory / "python"
        shutil.copytree(sys.base_prefix, copy, symlinks=True, ignore=unneeded)
        program = copy / "bin" / Path(sys.executable).resolve().name
        return packages | {"PYTHON": str(program), "LD_LIBRARY_PATH": str(copy / "lib")}
    return packages


def run_as(site: Embedded, name: str, code: str, *arguments: object) -> str:
    """What some Python prints as the user of a process; as ours where all are one."""
    environment = environment_of(site.directory) | dict(site.environment)
    environment["REDIS_URL"] = "redis://localhost:1/0"  # the start tells each its own; not needed
    command = [environment.pop("PYTHON", sys.executable), "-c", code, *map(str, arguments)]
    user: dict[str, Any] = {}
    if IS_ROOT:
        user = {"user": USERS[name], "group": GROUP, "extra_groups": []}
    printed: str = subprocess.check_output(command, cwd=ROOT, env=environment, text=True, **user)
    return printed


def access(site: Embedded, name: str, *paths: Path) -> dict[str, str]:
    """What the user of a process can read and write, "11" for both, by the path's last part."""
    rows = (line.split() for line in run_as(site, name, LOOK, *paths).splitlines())
    return {path: reads + writes for path, reads, writes in rows}


def test_processes_are_users_of_their_own_or_it_is_told_that_they_are_not(site: Embedded) -> None:
    users = {name: psutil.Process(site.pid(name)).uids().effective for name in USERS}
    assert users == (USERS if IS_ROOT else dict.fromkeys(USERS, os.geteuid()))
    assert (TOGETHER in site.output) is not IS_ROOT


def test_worker_and_web_share_files_and_database(site: Embedded) -> None:
    with site.client() as client:
        wait_until(lambda: is_ready(client))
        assert client.get("/account/login/").status_code == 200
    stored = run_as(site, "web", STORE).split()
    assert run_as(site, "worker", READ, *stored) == "sent anonymous 0"
    before = site.pid("worker")
    psutil.Process(before).kill()  # another user takes back what it held
    wait_until(lambda: site.pid("worker") != before)


def test_web_reads_no_private_key_even_where_root_has_just_written_it(site: Embedded) -> None:
    rotate = [sys.executable, "manage.py", "vault_rotate"]
    environment = environment_of(site.directory)
    subprocess.run(rotate, cwd=ROOT, env=environment, check=True, capture_output=True)
    vault = site.directory / "vault"
    assert vault.stat().st_mode & 0o007 == 0
    paths = [vault / "private.key", vault / "log.key", vault / "public.key", vault]
    shared = ("watermark", "redis", "secret_key", "db.sqlite3", "storage")
    paths += [site.directory / name for name in shared]
    if IS_ROOT:
        names = [path.name for path in paths]
        for user, expected in (
            ("web", ["00", "00", "10", "10", "10", "00", "10", "11", "11"]),
            ("worker", ["11", "11", "11", "11", "11", "00", "10", "11", "11"]),
        ):
            assert access(site, user, *paths) == dict(zip(names, expected, strict=True))
        worker = Path("/proc", str(site.pid("worker")), "environ")
        assert access(site, "web", worker) == {"environ": "00"}
