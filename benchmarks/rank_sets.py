"""Paired tests of all pairs of entries, beside one pass of numpy over the same pairs.

    python -m benchmarks.rank_sets [--entries K] [--rows N]

Ours: from the losses of all entries to rank sets, as the finals do it once. The baseline takes each
pair's two rows of losses and adds up their difference, which anything that compares them has to do.
Betting takes 16 products over the same differences. Each case runs in its own process, so that its
memory is its own.

The target is 200 entries on 100,000 rows in 60 seconds and 1 GB. On two cores that had other work
besides, betting took 36 seconds of processor time on both together, the binomial 2, and 1,000
groups 12; memory stayed below 0.32 GB.
"""

import argparse
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scoring.guarantees.rank_sets import Rows, rank_entries

SECONDS, MEGABYTES = 60.0, 1000.0
GROUP = 100  # rows
CASES = ("binomial", "three classes", "losses", "weights", "groups")
BASELINE = "numpy"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--entries", type=int, default=200)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--case", choices=(BASELINE, *CASES), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.case is not None:
        print(*_measure(options.case, options.entries, options.rows))
        return
    print(f"{'case':<14} {'wall s':>7} {'cpu s':>7} {'peak MB':>8} {'x numpy':>8}")
    baseline = 0.0
    for case in (BASELINE, *CASES):
        wall, cpu, peak = _run(case, options.entries, options.rows)
        baseline = baseline or cpu
        missed = "" if wall < SECONDS and peak < MEGABYTES else "  over the target"
        print(f"{case:<14} {wall:>7.1f} {cpu:>7.1f} {peak:>8.0f} {cpu / baseline:>8.1f}{missed}")


def _run(case: str, entries: int, rows: int) -> tuple[float, ...]:
    sizes = ["--entries", str(entries), "--rows", str(rows)]
    command = [sys.executable, "-m", "benchmarks.rank_sets", "--case", case, *sizes]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return tuple(map(float, done.stdout.split()))


def _measure(case: str, entries: int, rows: int) -> tuple[float, float, float]:
    """Wall and processor seconds, and the most memory that the process had, in megabytes."""
    losses, codes, known, units = _contest(case, entries, rows)
    wall, cpu = time.perf_counter(), time.process_time()
    if case == BASELINE:
        for a in range(entries):
            for b in range(a + 1, entries):
                np.subtract(losses[a], losses[b]).sum()
    else:
        rank_entries(losses, codes, known, units=units, level=0.025)
    return time.perf_counter() - wall, time.process_time() - cpu, _peak_mb()


def _contest(case: str, entries: int, rows: int) -> tuple[NDArray[Any], NDArray[Any], Rows, int]:
    """Entries within eight points, and their predictions."""
    random = np.random.default_rng(0)
    chances = np.linspace(0.16, 0.24, entries)
    if case in {"binomial", "three classes"}:
        classes = 2 if case == "binomial" else 3
        codes = np.array(
            [(random.random(rows) < each) * random.integers(1, classes, rows) for each in chances],
            dtype=np.int8,
        )
        return (codes > 0).astype(np.int8), codes, Rows(two_classes=classes == 2), 1
    losses = np.array(
        [10**6 * random.beta(2, 2 / each - 2, rows) for each in chances], dtype=np.int32
    )
    known = {
        "weights": Rows(weights=random.random(rows)),
        "groups": Rows(groups=np.arange(rows) // GROUP),
    }
    return losses, losses, known.get(case, Rows()), 10**6


def _peak_mb() -> float:
    """Of this process since it began (Linux)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) * 1024 / 1e6


if __name__ == "__main__":
    main()
