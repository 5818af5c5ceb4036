"""How gunicorn is configured."""

import os
import runpy
from collections.abc import Iterator
from pathlib import Path
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
