"""Starts and stops the platform's processes for a test."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from random import Random
from typing import IO, Any
from urllib.parse import urlsplit

import psutil

from leaderboard.operate.embedded import processes, redis
from tests.servers.doom import Orders

ROOT = Path(__file__).parent.parent.parent
PATIENCE_SECONDS = 180  # a busy machine is slow, and only what fails waits so long
PRIVATE_KEY = "vault/private.key"
LOG_KEY = "vault/log.key"
# One worker for all queues: it is not told which.
WORKER = processes.WORKER


class Deployment:
    """One installation in `directory`. Whatever it starts, `close` ends."""

    def __init__(self, directory: Path, database_url: str, **settings: str) -> None:
        self.directory = directory
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._stage: subprocess.Popen[str] | None = None
        self._redis = redis.configure(directory / "redis")
        self.redis_urls = self._redis.urls | _add_tester(directory, self._redis)
        self.orders = Orders(directory)
        self.environment = {
            **without_our_own(os.environ),
            "VAR_DIR": str(directory),
            "DATABASE_URL": database_url,
            **self.redis("web"),
            "TESTER_REDIS_URL": self.redis_urls["tester"],
            "SECRET_KEY": "for-tests-only-" + "0123456789" * 5,
            "SITE_URL": "http://localhost:8000",
            "WORKER_CONCURRENCY": "1",
            "SWEEP_SECONDS": "0.5",
            "REQUEUE_SECONDS": "3",
            "LEASE_SECONDS": "5",
            "UPLOAD_SECONDS": "0",
            "BOARD_SECONDS": "0",
            **settings,
        }

    def redis(self, role: str) -> dict[str, str]:
        """Redis as a kind of process knows it."""
        return processes.as_role(role, self.redis_urls)

    def prepare(self) -> None:
        """Keys and tables."""
        self.manage("vault_keys")
        self.migrate()

    def migrate(self) -> None:
        """Tables."""
        self.manage("migrate", "--no-input", "--verbosity", "0")

    def manage(self, *arguments: str) -> str:
        """Runs a management command and returns what it printed."""
        command = [sys.executable, "manage.py", *arguments]
        done = subprocess.run(
            command,
            cwd=ROOT,
            env=self.environment | self.redis("worker"),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def start_redis(self) -> None:
        self.start("redis", self._redis.command)

    def start_worker(self, name: str = "worker") -> None:
        """A worker: the only process that is told where the vault's private key is."""
        self.start(name, (*WORKER, "--hostname", f"{name}@%h"), self._vault)

    def start_doomed(self, name: str = "doomed") -> None:
        """A worker that obeys orders at its boundaries, and is started again when it dies."""
        arguments = (*WORKER[5:], "--hostname", f"{name}@%h")
        self.start(name, (sys.executable, "-m", "tests.servers.doomed", *arguments), self._vault)

    @property
    def _vault(self) -> dict[str, str]:
        paths = {"VAULT_PRIVATE_KEY_FILE": PRIVATE_KEY, "LOG_KEY_FILE": LOG_KEY}
        found = {name: str(self.directory / path) for name, path in paths.items()}
        return self.redis("worker") | {"REDIS_CACHE_URL": ""} | found

    def start_beat(self) -> None:
        self.start("beat", processes.BEAT, self.redis("beat") | {"REDIS_CACHE_URL": ""})

    def start_web(self, port: int) -> None:
        self.start("web", processes.web("127.0.0.1", port))

    def start(self, name: str, command: Sequence[str], more: Mapping[str, str] = {}) -> None:
        """Starts a process whose output goes to `<name>.log` in the directory."""
        with (self.directory / f"{name}.log").open("ab") as log:
            self._running[name] = subprocess.Popen(
                command,
                cwd=ROOT,
                env={**self.environment, **more},
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def process(self, name: str) -> psutil.Process:
        """A process that was started and has not been stopped."""
        return psutil.Process(self._running[name].pid)

    def send(self, name: str, number: int) -> None:
        """Sends a signal to a process and its children."""
        os.killpg(self._running[name].pid, number)

    @contextmanager
    def full_disk(self, name: str, *, free: int = 0) -> Iterator[None]:
        """The system lets a process and its children write no file beyond `free` bytes."""
        parent = psutil.Process(self._pid(name))
        soft, hard = parent.rlimit(psutil.RLIMIT_FSIZE)
        _limit_files(parent, free, hard)
        try:
            yield
        finally:
            _limit_files(parent, soft, hard)

    def _pid(self, name: str) -> int:
        if name == "stage":
            self._stage = self._stage or self._open_stage()
            return self._stage.pid
        return self._running[name].pid

    def kill_any_worker(self, chance: Random) -> None:
        """Kills a process of the doomed worker: the child that works, or the parent."""
        launcher = psutil.Process(self._running["doomed"].pid)
        living = launcher.children(recursive=True)
        if living:
            with suppress(psutil.NoSuchProcess):
                chance.choice(living).kill()

    def stop(self, name: str, number: int = signal.SIGTERM) -> None:
        """Sends a signal to a process and its children, and waits for the process to end."""
        process = self._running.pop(name)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        try:
            process.wait(timeout=PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def ask(self, do: str, **request: Any) -> Any:
        """Has the stage play a part; see `tests/servers/stage.py`."""
        stage = self._stage = self._stage or self._open_stage()
        _pipe(stage.stdin).write(json.dumps({"do": do, **request}) + "\n")
        _pipe(stage.stdin).flush()
        answer = _pipe(stage.stdout).readline()
        if not answer:
            self._stage = None
            raise AssertionError(self.logs("stage"))
        return json.loads(answer)

    def wait_for(self, submission: int, status: str) -> dict[str, Any]:
        """Waits until a submission has a status. Returns what is then known of it."""
        seen: dict[str, Any] = self.eventually(
            lambda: self.ask("seen", submission=submission),
            lambda seen: bool(seen["status"] == status),
        )
        return seen

    def wait_until_obeyed(self) -> None:
        """Waits until a process has done what was ordered."""
        self.eventually(self.orders.is_obeyed, bool)

    def wait_until_obeyed_or_released(self, submission: int) -> bool:
        """Waits until an order is obeyed, or a submission released without. Returns which."""
        seen: tuple[bool, str] = self.eventually(
            lambda: (self.orders.is_obeyed(), self.ask("seen", submission=submission)["status"]),
            lambda seen: seen[0] or seen[1] == "released",
        )
        return seen[0]

    def violations(self) -> list[str]:
        """Waits until no work is left, and says which invariants don't hold."""
        self.eventually(lambda: self.ask("unfinished"), lambda left: left == 0)
        found: list[str] = self.ask("violations")
        return found

    def eventually(self, look: Callable[[], Any], is_it: Callable[[Any], bool]) -> Any:
        """Looks until it is so, and returns what was seen then. Fails with the logs otherwise."""
        give_up = time.monotonic() + PATIENCE_SECONDS
        while not is_it(seen := look()):
            assert time.monotonic() < give_up, f"Still {seen}\n{self.logs(*self._running)}"
            time.sleep(0.1)
        return seen

    def logs(self, *names: str) -> str:
        """The logs of the named processes."""
        paths = [self.directory / f"{name}.log" for name in names]
        return "\n".join(f"--- {path.name}\n{path.read_text()}" for path in paths if path.exists())

    def leave_stage(self) -> None:
        """Ends the stage; the next part opens it again."""
        if self._stage:
            _pipe(self._stage.stdin).close()
            self._stage.wait(timeout=PATIENCE_SECONDS)
            _pipe(self._stage.stdout).close()
        self._stage = None

    def close(self) -> None:
        """Ends everything."""
        self.leave_stage()
        for name in [name for name in self._running if name != "redis"]:
            self.stop(name, signal.SIGKILL)
        if "redis" in self._running:
            self.stop("redis")

    def _open_stage(self) -> subprocess.Popen[str]:
        with (self.directory / "stage.log").open("a") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "tests.servers.stage"],
                cwd=ROOT,
                env=self.environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )


def _add_tester(directory: Path, server: redis.RedisServer) -> dict[str, str]:
    """Add a user of Redis who may do anything. Return its address, and that of nobody special."""
    with (directory / "redis" / "redis.conf").open("a") as configuration:
        configuration.write("user tester reset on >all-is-allowed ~* &* +@all\n")
    place = f"127.0.0.1:{urlsplit(server.urls['web']).port}/0"
    return {"tester": f"redis://tester:all-is-allowed@{place}", "default": f"redis://{place}"}


def _limit_files(process: psutil.Process, soft: int, hard: int) -> None:
    """Limit a process before its children: those that it forks from then on inherit the limit."""
    with suppress(psutil.NoSuchProcess):
        process.rlimit(psutil.RLIMIT_FSIZE, (soft, hard))
        for child in process.children():
            _limit_files(child, soft, hard)


def _pipe(pipe: IO[str] | None) -> IO[str]:
    assert pipe is not None
    return pipe


def without_our_own(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment without what this test process set for itself."""
    ours = {"DJANGO_SETTINGS_MODULE", "ALLOWED_HOSTS", "DEBUG", "EMAIL_URL"}
    return {name: value for name, value in environment.items() if name not in ours}
