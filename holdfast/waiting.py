"""Waiting for a submission to be scored."""

import sys
import time

from rich.status import Status

from holdfast.client import Client, Json, competition_path
from holdfast.errors import Failure, Refused, Unreachable
from holdfast.output import console

FINAL = frozenset(("released", "rejected", "failed"))
BUSY = frozenset((429, 503))  # too many requests; the site can't work at the moment
FIRST_PAUSE = 0.25  # seconds; doubles up to the interval, as most files are scored at once
STEPS = {"queued": "Waiting for a worker", "scoring": "Scoring"}


def wait(client: Client, submission: Json, slug: str, *, seconds: float, interval: float) -> Json:
    """Ask until the submission is final, and return it; raise Failure after so many seconds.

    A server that is briefly away or busy is asked again, no sooner than it says.
    """
    number = submission["number"]
    path = competition_path(slug, "submissions", number)
    end = time.monotonic() + seconds
    pause = min(FIRST_PAUSE, interval)
    with Status("Waiting", console=console(sys.stderr)) as status:
        while (state := submission["status"]) not in FINAL:
            status.update(f"{STEPS.get(state, 'Waiting')} …")
            if time.monotonic() + pause > end:
                raise Failure(
                    f"Submission {number} is still {state} after {seconds:g} seconds.",
                    hint="It will be scored. To look at it later, run "
                    f"`holdfast submission {slug} {number}`.",
                )
            time.sleep(pause)
            pause = min(2 * pause, interval)
            try:
                submission = client.get(path)
            except Unreachable:
                continue
            except Refused as refused:
                if refused.status not in BUSY:
                    raise
                pause = max(pause, refused.retry_after)
    return submission
