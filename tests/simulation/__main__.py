"""Play schedules: `python -m tests.simulation --seeds 0:10000`; `--seed 7` shows what happened."""

from __future__ import annotations

import argparse
import os
import sys
import time
from contextlib import nullcontext

import django


def main() -> int:
    """Return 1 where a seed breaks a promise."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--seeds", default="0:100", help="from:to, the last one not played")
    parser.add_argument("--seed", type=int, help="play this one, and show what happened")
    parser.add_argument("--fault", help="plant this fault first, and stop where it is found")
    given = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
    django.setup()
    from tests.simulation import faults
    from tests.simulation.stage import stage
    from tests.simulation.world import play

    first, last = (int(each) for each in given.seeds.split(":"))
    seeds = range(first, last) if given.seed is None else range(given.seed, given.seed + 1)
    broken, steps, played = 0, 0, 0
    fault = faults.planted(given.fault) if given.fault else nullcontext()
    with stage() as built, fault:
        began = time.perf_counter()
        for seed in seeds:
            outcome = play(built, seed, tracing=given.seed is not None)
            steps, played = steps + outcome.steps, played + 1
            _write(*outcome.trace)
            if outcome.violations:
                broken += 1
                _write(f"Seed {seed}: {outcome.violations[0]}")
                if given.fault:
                    break
        rate = played / (time.perf_counter() - began)
    _write(f"{played} schedules, {steps} steps, {rate:.2f} schedules per second, {broken} broken.")
    return 1 if broken else 0


def _write(*lines: str) -> None:
    for line in lines:
        sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
