"""Lying servers that show two people two logs: how many are found, by whom, with and without.

    python -m benchmarks.split_views [VIEWS]

A view is a season of a few minutes, simulated from its number; see `tests.holdfast.split_views`.
"""

import sys
import time
from collections import Counter

from tests.holdfast.split_views import play


def main() -> None:
    views = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    print(f"{views} split views, one for each seed from 0")
    for witnessed in (False, True):
        start = time.perf_counter()
        noticed = [play(seed, witnessed=witnessed) for seed in range(views)]
        by = Counter(each.partition(":")[0] for each in noticed if each)
        found = sum(by.values())
        who = ", ".join(f"{name} {count}" for name, count in sorted(by.items()))
        name = "with one witness" if witnessed else "without a witness"
        print(f"{name}: {found} found ({who}), {time.perf_counter() - start:.1f} s")
    false = sum(bool(play(seed, witnessed=True, lies=False)) for seed in range(views))
    print(f"honest servers accused: {false}")


if __name__ == "__main__":
    main()
