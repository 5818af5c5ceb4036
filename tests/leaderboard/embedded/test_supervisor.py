"""What the supervisor does with processes that end."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import psutil
import pytest

from leaderboard.operate.embedded.supervisor import (
    LONGEST_WAIT_SECONDS,
    STEADY_SECONDS,
    TRIES,
    Lives,
)

PROGRAM = """
import sys
from leaderboard.operate.embedded import supervisor
supervisor.FIRST_WAIT_SECONDS = 0.01
everything = supervisor.Supervisor(when_started=lambda: None)
path = {"PATH": "/usr/bin:/bin"}
everything.children = [supervisor.Child("steady", ["sleep", "1000"], path)]
essential = sys.argv[1] == "essential"
hopeless = ["sh", "-c", "echo it lacks something; exit 3"]
everything.children.append(supervisor.Child("hopeless", hopeless, path, essential=essential))
raise SystemExit(everything.run())
"""


@contextmanager
def supervised(kind: str) -> Iterator[subprocess.Popen[str]]:
    """A steady process and a hopeless one, of a kind."""
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, kind], stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def read_until(process: subprocess.Popen[str], text: str) -> str:
    """What it prints, up to the line with the text."""
    assert process.stdout is not None
    lines = []
    for line in process.stdout:
        lines.append(line)
        if text in line:
            break
    output = "".join(lines)
    assert text in output
    return output


def test_an_essential_process_that_never_stays_stops_everything_and_is_named() -> None:
    with supervised("essential") as process:
        output, _ = process.communicate()
    assert process.returncode == 1
    assert output.count("hopeless | it lacks something") == TRIES
    assert f"hopeless ended by itself {TRIES} times in a row" in output
    assert "steady stopped (rc=-15)" in output


def test_the_rest_goes_on_without_any_other_process_and_is_told_so() -> None:
    with supervised("dispensable") as process:
        output = read_until(process, "The site goes on without hopeless")
        assert output.count("hopeless | it lacks something") == TRIES
        read_until(process, "it lacks something")  # it is tried again
        assert process.poll() is None
        assert "steady stopped" not in output
        process.send_signal(signal.SIGTERM)
        rest, _ = process.communicate()
    assert process.returncode == 0
    assert "steady stopped (rc=-15)" in rest


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_nothing_is_left_running(number: int) -> None:
    with supervised("dispensable") as process:
        read_until(process, "hopeless started")
        children = psutil.Process(process.pid).children(recursive=True)
        assert children
        os.kill(process.pid, number)
        process.communicate()
        _, alive = psutil.wait_procs(children, timeout=30)
    assert alive == []


def lives() -> Lives:
    made = Lives()
    made.begin(0.0)
    return made


def test_the_waits_double_up_to_a_minute() -> None:
    process = lives()
    waits = []
    for now in range(10):
        waits.append(process.end(float(now)))
        process.begin(float(now))
    assert waits == [0.5, 1, 2, 4, 8, 16, 32, 64, 64, 64]
    assert waits[-1] == LONGEST_WAIT_SECONDS


def test_what_ran_for_long_is_started_again_soon() -> None:
    process, now = lives(), 0.0
    for _ in range(2 * TRIES):
        now += STEADY_SECONDS
        assert process.end(now) == 0.5
        process.begin(now)


def test_nothing_is_started_before_its_time() -> None:
    process = lives()
    assert not process.is_due(1.0)
    process.end(1.0)
    assert [process.is_due(1.4), process.is_due(1.5)] == [False, True]
    process.begin(1.5)
    assert not process.is_due(2.0)
