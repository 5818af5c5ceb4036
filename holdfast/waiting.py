"""Waiting for a file to be scored."""

import sys
import time

from rich.status import Status

from holdfast.connection import Connection, Json
from holdfast.errors import Refused, StillWaiting, Unreachable
from holdfast.output import console

WAIT_SECONDS = 600.0
FINAL = frozenset(("released", "rejected", "failed"))
BUSY = frozenset((429, 503))  # too many requests; the site can't work at the moment
FIRST_PAUSE = 0.05  # seconds; grows up to the interval, as most files are scored at once
GROWTH = 1.5
ASKED = 3  # times while a file waits in a long queue
LONGEST_PAUSE = 15.0
STEPS = {"queued": "Waiting for a worker", "scoring": "Scoring"}


def wait(
    client: Connection,
    sent: Json,
    path: str,
    name: str,
    hint: str,
    *,
    seconds: float,
    interval: float,
) -> Json:
    """Ask for what is at the path until it is final, and return it.

    Raises StillWaiting after a time.

    A server that is briefly away or busy is asked again, no sooner than it says. name, hint: what
    it is called where it takes too long, and what to do then.
    """
    end = time.monotonic() + seconds
    pause = min(FIRST_PAUSE, interval)
    with Status("Waiting", console=console(sys.stderr)) as status:
        while (state := sent["status"]) not in FINAL:
            status.update(f"{STEPS.get(state, 'Waiting')} …")
            if time.monotonic() + pause > end:
                raise StillWaiting(
                    f"{name} is still {state} after {seconds:g} seconds.",
                    hint=f"It will be scored. {hint}",
                )
            time.sleep(pause)
            pause = min(GROWTH * pause, interval)
            try:
                sent = client.get(path)
                pause = max(pause, min(_wait_of(sent) / ASKED, LONGEST_PAUSE))
            except Unreachable:
                continue
            except Refused as refused:
                if refused.status not in BUSY:
                    raise
                pause = max(pause, refused.retry_after)
    return sent


def _wait_of(sent: Json) -> float:
    """Return about how many seconds a file still waits for a worker; 0 where nobody knows."""
    return float((sent.get("wait") or {}).get("seconds") or 0)
