"""Waiting for a submission to be scored."""

import sys
import time

from rich.status import Status

from holdfast.client import Client, Json, competition_path
from holdfast.errors import Failure, Refused, Unreachable
from holdfast.output import console

FINAL = frozenset(("released", "rejected", "failed"))
PATIENCE = frozenset((429, 503))  # too many requests; the site can't work at the moment
FIRST_PAUSE = 0.25  # seconds; doubles up to the interval, as most files are scored at once
STEPS = {"queued": "Waiting for a worker", "scoring": "Scoring"}


def wait(client: Client, submission: Json, slug: str, *, seconds: float, interval: float) -> Json:
    """Ask until the submission is final, for so many seconds at most; Failure after that.

    A server that is away for a moment, or asks for patience, is asked again.
    """
    path = competition_path(slug, "submissions", submission["number"])
    end = time.monotonic() + seconds
    pause = min(FIRST_PAUSE, interval)
    with Status("Waiting", console=console(sys.stderr)) as status:
        while submission["status"] not in FINAL:
            status.update(f"{STEPS.get(submission['status'], 'Waiting')} …")
            if time.monotonic() + pause > end:
                raise _gave_up(slug, submission, seconds)
            time.sleep(pause)
            submission, patience = _ask(client, path, submission)
            pause = max(patience, min(2 * pause, interval))
    return submission


def _ask(client: Client, path: str, last: Json) -> tuple[Json, float]:
    """The submission as it is now, and how many seconds of patience the server asks for."""
    try:
        return client.get(path), 0
    except Unreachable:
        return last, 0
    except Refused as refused:
        if refused.status not in PATIENCE:
            raise
        return last, refused.retry_after or 0


def _gave_up(slug: str, submission: Json, seconds: float) -> Failure:
    number = submission["number"]
    return Failure(
        f"Submission {number} is still {submission['status']} after {seconds:g} seconds.",
        hint=f"It will be scored. Look later with `holdfast submission {slug} {number}`.",
    )
