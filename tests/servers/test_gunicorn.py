"""How gunicorn is configured."""

import os
import runpy
import socket
import struct
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

CONFIGURATION = Path(__file__).parents[2] / "gunicorn.conf.py"


@pytest.fixture
def configuration(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    """What gunicorn reads; the environment that it changes is put back."""
    monkeypatch.setenv("PROMETHEUS_MULTIPROC_DIR", "another gunicorn's")
    configuration = runpy.run_path(str(CONFIGURATION))
    yield configuration
    configuration["on_exit"](None)


def test_each_gunicorn_counts_in_a_directory_of_its_own_until_it_ends(
    configuration: dict[str, Any],
) -> None:
    counts = Path(os.environ["PROMETHEUS_MULTIPROC_DIR"])
    assert counts.is_dir()
    runpy.run_path(str(CONFIGURATION))
    assert Path(os.environ["PROMETHEUS_MULTIPROC_DIR"]) == counts
    configuration["on_exit"](None)
    assert not counts.exists()


@pytest.mark.parametrize("limit", [socket.SO_RCVTIMEO, socket.SO_SNDTIMEO])
def test_a_client_that_falls_silent_does_not_keep_a_thread(
    configuration: dict[str, Any], limit: int
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = SimpleNamespace(LISTENERS=[SimpleNamespace(sock=listener)])
        configuration["when_ready"](server)
        with socket.create_connection(listener.getsockname()):
            accepted, _ = listener.accept()
            with accepted:
                wait = accepted.getsockopt(socket.SOL_SOCKET, limit, 16)
    assert struct.unpack("ll", wait) == (configuration["SILENCE_SECONDS"], 0)
    assert configuration["sendfile"] is False  # it heeds no limit
