"""One embedded start, from an empty directory to a site that answers."""

import os
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

from django.conf import settings

from durable import files
from leaderboard.operate.embedded import processes, redis, users
from leaderboard.operate.embedded.prepare import CannotStart, take_back_alone
from leaderboard.operate.embedded.supervisor import Child, Supervisor, start_child

LOOPBACK = {"127.0.0.1", "localhost"}
READY_SECONDS = 60
FINISH_SECONDS = 300
POLL_SECONDS = 0.1


@dataclass(frozen=True)
class Start:
    """What one start needs to know. Its directory is prepared and held by the caller.

    `together` says why all processes are one user of the system; where it is empty, each is one.
    """

    var_dir: Path
    private_key: Path
    host: str
    port: int
    demo: bool
    started: float
    together: str

    @property
    def site_url(self) -> str:
        """Return where people find the site: SITE_URL, else this machine."""
        name = "localhost" if self.host in LOOPBACK else socket.gethostname()
        return os.environ.get("SITE_URL") or f"http://{name}:{self.port}"

    def run(self) -> int:
        """Supervise until stopped. Return the exit code."""
        # So that commands in another terminal name the same address.
        files.write_private(self.var_dir / "site_url", self.site_url + "\n")
        own = None if os.environ.get("REDIS_URL") else redis.configure(self.var_dir / "redis")
        if not self.together:
            try:
                users.hand_out(self.var_dir)
            except OSError as error:
                raise CannotStart(f"{error.filename or self.var_dir}: {error.strerror}") from None
        everyone = processes.environment(site_url=self.site_url, var_dir=self.var_dir)
        web, worker, beat = (
            everyone | (processes.as_role(role, own.urls) if own else {})
            for role in ("web", "worker", "beat")
        )
        supervisor = Supervisor(when_started=lambda: self._open(supervisor, web))
        sealed = processes.with_vault(worker, self.private_key)
        supervisor.children = [
            *(
                Child(name, command, sealed, before_restart=self._take_back)
                for name, command in processes.workers(settings.CELERY_WORKER_CONCURRENCY).items()
            ),
            Child(
                "long",
                processes.LONG,
                sealed,
                before_restart=partial(self._take_back, is_long=True),
            ),
            Child("outbox", processes.OUTBOX, worker),
            Child("beat", processes.BEAT, beat),
            Child("web", processes.web(self.host, self.port), web, essential=True),
        ]
        if own:
            supervisor.children.insert(0, Child("redis", own.command, everyone, store=True))
        for child in supervisor.children:
            child.user = self._user(child.name)
        if self.together:
            supervisor.say(f"{users.TOGETHER} (docs/threat-model.md): {self.together}.")
        return supervisor.run()

    def _user(self, name: str) -> int | None:
        """Return which user of the system a process is, None where all are ours."""
        user = "worker" if name in ("worker-2", "long") else name
        return None if self.together else users.USERS[user]

    def _take_back(self, *, is_long: bool = False) -> None:
        """Take back what a worker held; beside a running site, root opens no database of it."""
        if self.together:
            take_back_alone(is_long=is_long)
        else:
            queue = "long" if is_long else "worker"
            again = [sys.executable, "manage.py", "run", "--take-back", queue]
            start_child(again, env=os.environ, user=self._user("worker")).communicate()

    def _open(self, supervisor: Supervisor, environment: dict[str, str]) -> None:
        """Load the demo and print where the site is, beside the running supervisor."""
        loaded, loading = self.var_dir / "demo.loaded", None
        # Once is enough: an organizer may delete it, and another start must not bring it back.
        if self.demo and not loaded.exists():
            # In a process of its own, whose memory is free again afterwards.
            loading = start_child(
                [sys.executable, "manage.py", "load_demo"], env=environment, user=self._user("web")
            )
            output, _ = loading.communicate()
            if loading.returncode:
                supervisor.say(f"The demo could not be loaded:\n{output.decode(errors='replace')}")
            else:
                loaded.touch()
        address = f"http://{'127.0.0.1' if self.host == '0.0.0.0' else self.host}:{self.port}"  # noqa: S104
        if problem := wait_until_ready(f"{address}/readyz"):
            supervisor.say(f"The site is not ready after {READY_SECONDS} s: {problem}")
            return
        seconds, accounts = time.monotonic() - self.started, self.var_dir / "demo-accounts.txt"
        lines = [f"Holdfast is ready after {seconds:.1f} s: {self.site_url}"]
        if self.demo and accounts.is_file():
            listed = accounts.read_text().splitlines()
            lines += ["", f"Demo accounts, also in {accounts}:", *listed, ""]
        supervisor.say("\n".join([*lines, "Ctrl-C stops everything."]))
        if loading:
            finish = [sys.executable, "manage.py", "load_demo", "--finish", str(FINISH_SECONDS)]
            start_child(finish, env=environment, user=self._user("web")).communicate()


def wait_until_ready(address: str) -> str:
    """Wait until an address answers 200. Otherwise return what it answered last."""
    problem = ""
    give_up = time.monotonic() + READY_SECONDS
    while time.monotonic() < give_up:
        try:
            urlopen(address, timeout=5).close()  # noqa: S310  (our own address)
        except HTTPError as error:
            problem = error.read(500).decode(errors="replace")
        except (URLError, OSError) as error:
            problem = str(error)
        else:
            return ""
        time.sleep(POLL_SECONDS)
    return problem


@contextmanager
def hold(directory: Path) -> Iterator[None]:
    """Make the directory (mode 0700) and hold it for one start alone. Raises CannotStart."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    directory.chmod(0o700)
    try:
        with files.hold(directory / "run.lock"):
            yield
    except files.Held:
        raise CannotStart(
            f"Holdfast runs already with the data in {directory}. "
            "Stop that one first, or give this one another directory: VAR_DIR=..."
        ) from None


def check_port(host: str, port: int) -> None:
    """Raise CannotStart where another program listens already."""
    try:
        redis.bind(host, port)
    except OSError as error:
        problem = f"Can't listen on port {port} of {host}: {error.strerror}."
        raise CannotStart(f"{problem} Choose another: PORT={port + 1}") from None
