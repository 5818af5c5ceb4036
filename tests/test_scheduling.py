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
    with Path("seen.txt").open("a") as file:
        print(os.environ["PYTEST_XDIST_WORKER"], Path(__file__).stem, file=file)
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


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> list[list[str]]:
    """Which of two processes ran the tests of which file, in order."""
    directory = tmp_path_factory.mktemp("scheduling")
    (directory / "pytest.ini").touch()
    for name in ("servers/test_one", "servers/test_other", "test_alone"):
        file = directory / "tests" / f"{name}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(NOTES_ITS_PROCESS)
    plugins = ("-p", "tests.scheduling", "-p", "no:django", "-p", "no:cacheprovider")
    subprocess.run(
        [sys.executable, "-m", "pytest", *plugins, "--numprocesses", "2"],
        cwd=directory,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        check=True,
    )
    return [line.split() for line in (directory / "seen.txt").read_text().splitlines()]


def test_tests_that_go_together_run_in_one_process(seen: list[list[str]]) -> None:
    for name in ("test_one", "test_other"):
        processes = [process for process, file in seen if file == name]
        assert len(processes) == 8
        assert len(set(processes)) == 1


def test_one_process_begins_with_tests_that_go_alone(seen: list[list[str]]) -> None:
    firsts = dict(reversed(seen))
    assert firsts == {"gw0": "test_one", "gw1": "test_alone"}
