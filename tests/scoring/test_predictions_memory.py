"""The most memory that reading takes, of good and wrong files of every kind."""

import subprocess
import sys

import pytest

from tests.scoring.memory import GOOD, WRONG

MOST = 6  # times the text of the file, see `tests.scoring.memory`


@pytest.mark.parametrize("case", GOOD)
def test_reading_takes_at_most_six_times_the_text(case: str) -> None:
    assert multiples(case) <= [MOST]


def test_reading_wrong_files_takes_at_most_six_times_the_text() -> None:
    found = dict(zip(WRONG, multiples(*WRONG), strict=True))
    # What earlier cases left in pieces counts for later ones: alone, a file must keep to it.
    alone = {name: multiples(name) for name, multiple in found.items() if multiple > MOST}
    assert {name: multiple for name, multiple in alone.items() if multiple > [MOST]} == {}


def multiples(*cases: str) -> list[float]:
    """What reading each takes, in a process of its own."""
    command = [sys.executable, "-m", "tests.scoring.memory", *cases]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return [float(line) for line in done.stdout.splitlines()]
