"""Starts the platform as `make run` does, and looks for what it leaves behind."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from threading import Thread
from types import MappingProxyType, TracebackType

import httpx
import psutil
import pytest

from tests.once import made_once
from tests.servers.deployment import PATIENCE_SECONDS, ROOT, without_our_own

READY = "Holdfast is ready"


class Embedded:
    """One start in `directory`, used by `with`; the process gets SIGTERM at the end."""

    def __init__(
        self,
        directory: Path,
        *options: str,
        port: int = 0,
        environment: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.directory = directory
        self.options = options
        self.environment = environment
        self.port = port or free_port()
        self._lines: list[str] = []

    def __enter__(self) -> "Embedded":
        self.process = start(self.directory, self.port, *self.options, **self.environment)
        self._reader = Thread(target=self._read, daemon=True)
        self._reader.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.process.poll() is None:
            self.end(signal.SIGTERM)

    @property
    def output(self) -> str:
        """What it has printed so far."""
        return "".join(self._lines)

    def wait_until_ready(self) -> None:
        self.wait_until_it_says(READY)

    def wait_until_it_says(self, text: str) -> None:
        give_up = time.monotonic() + PATIENCE_SECONDS
        while text not in self.output:
            assert self._reader.is_alive(), self.output
            assert time.monotonic() < give_up, self.output
            time.sleep(0.05)

    def end(self, number: int) -> int:
        """Sends a signal to the supervisor alone and waits for it. Returns its exit code."""
        self.process.send_signal(number)
        code = self.process.wait(timeout=PATIENCE_SECONDS)
        self._reader.join(timeout=PATIENCE_SECONDS)
        return code

    def pid(self, name: str) -> int:
        """The process id of a child, in its latest life."""
        found = re.findall(rf"{name} started \(pid=(\d+)\)", self.output)
        assert found, self.output
        return int(found[-1])

    def client(self) -> httpx.Client:
        return httpx.Client(base_url=f"http://127.0.0.1:{self.port}", timeout=30)

    def _read(self) -> None:
        assert self.process.stdout is not None
        self._lines.extend(iter(self.process.stdout.readline, ""))
        self.process.stdout.close()


def started_before(factory: pytest.TempPathFactory) -> Path:
    """A directory in which it has been started once before, with its demo, and ended; to copy."""
    with made_once(factory, "started") as directory:
        if not directory.exists():
            with Embedded(directory.with_name("starting")) as first:
                first.wait_until_ready()
            first.directory.rename(directory)
    return directory


def start(directory: Path, port: int, *options: str, **more: str) -> subprocess.Popen[str]:
    """Starts it without a Redis on PATH, as on a fresh machine."""
    environment = environment_of(directory) | more
    program = environment.pop("PYTHON", sys.executable)
    return subprocess.Popen(
        [program, "manage.py", "run", "--port", str(port), *options],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def environment_of(directory: Path) -> dict[str, str]:
    """What is set in a terminal where somebody works with this directory."""
    ours = ("SECRET_KEY", "SITE_URL", "DATABASE_URL", "REDIS_URL")
    found = {key: value for key, value in without_our_own(os.environ).items() if key not in ours}
    return found | {"VAR_DIR": str(directory), "PATH": str(Path(sys.executable).parent)}


def processes_of(directory: Path) -> dict[int, dict[str, str]]:
    """Every living process that was started for the directory, with its environment."""
    found = {}
    for process in psutil.process_iter():
        try:
            environment = process.environ()
            alive = process.status() != psutil.STATUS_ZOMBIE
        except psutil.Error:
            continue
        if alive and environment.get("VAR_DIR") == str(directory):
            found[process.pid] = environment
    return found


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
