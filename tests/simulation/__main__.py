"""Play schedules: `python -m tests.simulation --seeds 0:10000`; `--seed 7` shows what happened."""

from __future__ import annotations

import argparse
import logging
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
    parser.add_argument(
        "--seconds", type=float, default=float("inf"), help="begin none after these"
    )
    parser.add_argument("--fault", help="plant this fault first, and stop where it is found")
    given = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
    django.setup()
    logging.getLogger("leaderboard").setLevel(logging.CRITICAL)  # schedules have it in their trace
    from tests.simulation import faults
    from tests.simulation.stage import stage
    from tests.simulation.world import play

    first, last = (int(each) for each in given.seeds.split(":"))
    seeds = range(first, last) if given.seed is None else range(given.seed, given.seed + 1)
    broken, steps, played = 0, 0, 0
    fault = faults.planted(given.fault) if given.fault else nullcontext()
    with stage() as built, fault:
        began, worked = time.perf_counter(), time.process_time()
        for seed in seeds:
            if time.perf_counter() - began > given.seconds:
                break
            outcome = play(built, seed, tracing=given.seed is not None)
            steps, played = steps + outcome.steps, played + 1
            _write(*outcome.trace)
            if outcome.broken:
                broken += 1
                _write(outcome.broken)
                if given.fault:
                    break
        seconds, worked = time.perf_counter() - began, time.process_time() - worked
    _write(
        f"{played} schedules, {steps} steps, {broken} broken; {played / seconds:.2f} schedules "
        f"per second, {played / worked:.2f} per second of processor time."
    )
    return 1 if broken else 0


def _write(*lines: str) -> None:
    for line in lines:
        sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
