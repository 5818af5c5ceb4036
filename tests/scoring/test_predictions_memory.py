"""The most memory that reading takes, of good files of every kind."""

import subprocess
import sys

import pytest

from tests.scoring.memory import CASES

MOST = 6  # times the text of the file, see `tests.scoring.memory`


@pytest.mark.parametrize("case", CASES)
def test_reading_takes_at_most_six_times_the_text(case: str) -> None:
    command = [sys.executable, "-m", "tests.scoring.memory", case]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert float(done.stdout) <= MOST
