"""Run the plain way of `benchmarks.pipeline` in its own process; print seconds and megabytes."""

import resource
import sys
import time
from pathlib import Path

from benchmarks.pipeline import plain_score


def main() -> None:
    started = time.perf_counter()
    plain_score(Path(sys.argv[1]))
    seconds = time.perf_counter() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 // 10**6
    print(f"{seconds:.3f} {peak}")


if __name__ == "__main__":
    main()
