"""What the supervisor does with processes that end."""

import subprocess
import sys

from leaderboard.operate.embedded.supervisor import STEADY_SECONDS, TRIES, Lives

HOPELESS = """
from leaderboard.operate.embedded import supervisor
supervisor.FIRST_WAIT_SECONDS = 0.01
all = supervisor.Supervisor(when_started=lambda: None)
all.add("steady", ["sleep", "1000"], {"PATH": "/usr/bin:/bin"})
all.add("hopeless", ["sh", "-c", "echo it lacks something; exit 3"], {"PATH": "/usr/bin:/bin"})
raise SystemExit(all.run())
"""


def lives() -> Lives:
    made = Lives(lambda: None)
    made.begin(0.0)
    return made


def test_what_never_runs_for_long_stops_everything_and_is_named() -> None:
    command = [sys.executable, "-c", HOPELESS]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stdout.count("it lacks something") == TRIES
    assert f"hopeless ended by itself {TRIES} times in a row" in done.stdout
    assert "steady stopped (rc=-15)" in done.stdout


def test_the_waits_double() -> None:
    process = lives()
    waits = []
    for now in range(TRIES - 1):
        waits.append(process.end(float(now)))
        process.begin(float(now))
    assert waits == [0.5, 1, 2, 4]
    assert process.end(5.0) is None


def test_what_ran_for_long_is_started_again_soon_and_for_ever() -> None:
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
