"""What is made once is made once, however many processes run the tests."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.scheduling import unit

ROOT = Path(__file__).parent.parent
NOTES_ITS_PROCESS = """
import os
from pathlib import Path

import pytest


@pytest.mark.parametrize("number", range(8))
def test_something(number):
    with Path(__file__).with_suffix(".txt").open("a") as file:
        print(os.environ["PYTEST_XDIST_WORKER"], file=file)
"""


@pytest.mark.parametrize(
    ("nodeid", "expected"),
    [
        ("tests/browser/test_the_end.py::test_pages[phone-dark]", "tests/browser/"),
        (
            "tests/servers/test_crashes.py::test_death[sqlite-claim: after-die]",
            "tests/servers/test_crashes.py on sqlite",
        ),
        (
            "tests/servers/test_crashes.py::test_power[claim: after-postgres]",
            "tests/servers/test_crashes.py on postgres",
        ),
        ("tests/servers/test_vault.py::test_labels", "tests/servers/test_vault.py"),
        ("tests/web/test_text.py::test_it[a]", "tests/web/test_text.py::test_it[a]"),
    ],
)
def test_a_test_goes_with_those_that_share_its_installation(nodeid: str, expected: str) -> None:
    assert unit(nodeid) == expected


def test_tests_that_go_together_run_in_one_process(tmp_path: Path) -> None:
    servers = tmp_path / "tests" / "servers"
    servers.mkdir(parents=True)
    (tmp_path / "pytest.ini").touch()
    for name in ("one", "other"):
        (servers / f"test_{name}.py").write_text(NOTES_ITS_PROCESS)
    plugins = ("-p", "tests.scheduling", "-p", "no:django", "-p", "no:cacheprovider")
    subprocess.run(
        [sys.executable, "-m", "pytest", *plugins, "--numprocesses", "2"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        check=True,
    )
    seen = [(servers / f"test_{name}.txt").read_text().split() for name in ("one", "other")]
    assert [len(each) for each in seen] == [8, 8]
    assert [len(set(each)) for each in seen] == [1, 1]
