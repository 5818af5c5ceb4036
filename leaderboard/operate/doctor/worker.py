"""What a worker answers when it is asked about itself. Imported by workers when they are ready."""

import time
from typing import Any

from celery.worker.control import inspect_command

from leaderboard import vault
from leaderboard.operate.doctor.workers import QUESTION, code_version

# Of the code that was loaded, not of what lies there when somebody asks.
_code = code_version()


@inspect_command(name=QUESTION)
def about(state: Any) -> dict[str, Any]:
    """Return its code, clock and queues, and which vault its key opens: a hash of a public key."""
    queues = sorted(state.app.amqp.queues.consume_from)
    return {"code": _code, "now": time.time(), "vault": _fingerprint(), "queues": queues}


def _fingerprint() -> str | None:
    try:
        return vault.private_fingerprint()
    except Exception:  # what is wrong with the key is said where it is configured
        return None
