"""Time and peak memory of the experiments.

    python -m benchmarks.experiments [NAME ...] [--runs R] [--literal]

Each experiment runs in its own process, so that peak memory is its own; without names, those that
have a target: figure1, figure2 and boosting with 100 runs under 10 s, and under 200 MB.
"""

import argparse
import os
import resource
import subprocess
import sys
import time

TARGETS = ("figure1", "figure2", "boosting")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", default=TARGETS)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--literal", action="store_true")
    options = parser.parse_args()
    print(f"{'experiment':<14} {'runs':>5} {'wall s':>7} {'cpu s':>7} {'peak MB':>8}  agreement")
    for name in options.names:
        _measure(name, options.runs, literal=options.literal)


def _measure(name: str, runs: int, *, literal: bool) -> None:
    command = [sys.executable, "-m", "research.experiments", name, "--runs", str(runs)]
    before = _cpu()
    start = time.perf_counter()
    process = subprocess.Popen(command + ["--literal"] * literal, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    text = process.stdout.read()
    _, status, usage = _wait(process)
    wall = time.perf_counter() - start
    assert status == 0, text
    agreement = next((line for line in text.splitlines() if line.startswith("largest")), "-")
    peak = usage.ru_maxrss / 1024
    print(f"{name:<14} {runs:>5} {wall:>7.2f} {_cpu() - before:>7.2f} {peak:>8.0f}  {agreement}")


def _wait(process: subprocess.Popen[str]) -> tuple[int, int, resource.struct_rusage]:
    """The child's own peak memory: getrusage would give the largest of all children so far."""
    pid, status, usage = os.wait4(process.pid, 0)
    process.returncode = status
    return pid, status, usage


def _cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    main()
