"""A Celery worker that obeys orders to die, and is started again each time, as in a container.

    python -m tests.servers.doomed CELERY-ARGUMENT...

Everything is imported once; each life is a fork of that, with a process group of its own.
"""

import ctypes
import gc
import os
import signal
import sys
from contextlib import suppress
from functools import partialmethod
from typing import Any, NoReturn

import django
import pandas  # noqa: F401  (pyarrow imports it for its first array)

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "leaderboard.settings")
django.setup()

# Django has to be set up before tasks can be imported.
import celery.apps.worker  # noqa: E402
import celery.bin.celery  # noqa: E402
import celery.bin.worker  # noqa: E402, F401
from celery.concurrency.asynpool import AsynPool  # noqa: E402
from celery.signals import worker_process_init  # noqa: E402
from django.core.checks import run_checks  # noqa: E402
from django.db import connections  # noqa: E402
from kombu import Connection  # noqa: E402

from leaderboard.celery import app  # noqa: E402
from tests.servers.deployment import PATIENCE_SECONDS  # noqa: E402
from tests.servers.doom import arm_worker  # noqa: E402

_PR_SET_PDEATHSIG = 1


def main() -> NoReturn:
    """Runs one worker after another until it is killed itself."""
    arm_worker()
    # Celery looks every five seconds whether it has to replace a dead child.
    setattr(AsynPool, "timers", property(lambda pool: {pool.maintain_pool: 0.1}))  # noqa: B010
    # It waits two seconds, then four, before it tries a broker again that is away.
    hasty = partialmethod(Connection._ensure_connection, interval_start=0.1, interval_step=0.1)
    setattr(Connection, "_ensure_connection", hasty)  # noqa: B010
    # Leases are short here; what waits for a test to go on must not be ended for that.
    app.conf.task_time_limit = PATIENCE_SECONDS
    worker_process_init.connect(_end_with_parent, weak=False)
    run_checks()  # as each worker does, which imports most of the site
    connections.close_all()
    gc.freeze()
    while True:
        worker = os.fork()
        if worker == 0:
            os.setpgid(0, 0)
            _end_with_parent()
            app.worker_main(sys.argv[1:])
            os._exit(0)
        _, status = os.waitpid(worker, 0)
        if not os.WIFSIGNALED(status):
            # As when it cannot replace a dead child on a full disk, where the log is full as well.
            with suppress(OSError):
                print("The worker ended by itself.", flush=True)  # noqa: T201  (for the log)
        with suppress(ProcessLookupError):
            os.killpg(worker, signal.SIGKILL)


def _end_with_parent(**_: Any) -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


if __name__ == "__main__":
    main()
