"""The process that a custom metric runs in. A script: it imports nothing of Holdfast.

It reads its task from standard input, answers with one JSON object on the pipe that was its
standard output, and has neither output nor files of its own: what the metric prints is discarded.
"""

import json
import os
import resource
import signal
import sys
import traceback
from importlib import import_module
from pathlib import PurePath
from typing import Any, BinaryIO

VISIBLE = "ParticipantVisibleError"
MEBIBYTE = 2**20


def main() -> None:
    """Run the metric on the task from standard input, and answer on standard output."""
    with os.fdopen(os.dup(1), "wb") as answers:
        process = os.getpid()
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        task = json.loads(sys.stdin.buffer.readline())
        limits = {
            resource.RLIMIT_AS: task["megabytes"] * MEBIBYTE,
            resource.RLIMIT_CPU: task["seconds"],
            resource.RLIMIT_FSIZE: 0,
            resource.RLIMIT_CORE: 0,
        }
        for name, limit in limits.items():
            resource.setrlimit(name, (limit, limit))
        signal.alarm(task["waits"])  # in case the parent is gone by then
        try:
            answer = {"score": _run(task, sys.stdin.buffer)}
        except BaseException as error:
            answer = _failure(error, may_speak=task["step"] == "check")
        if os.getpid() == process:  # not in a child that the metric forked
            answers.write(json.dumps(answer).encode())
    os._exit(0)  # without waiting for threads that the metric started


def _run(task: dict[str, Any], source: BinaryIO) -> float | None:
    sys.path[:] = task["path"]
    from pyarrow import ipc

    frames = [ipc.open_stream(source).read_all().to_pandas() for _ in range(task["frames"])]
    metric: Any = import_module(task["module"])
    for name in filter(None, task["attribute"].split(".")):
        metric = getattr(metric, name)
    if task["step"] == "check":
        metric.check(*frames)
        return None
    return float(metric.score(*frames, task["row_id_column_name"]))


def _failure(error: BaseException, *, may_speak: bool) -> dict[str, Any]:
    """Return type and place, and the message only where the participant may read it."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    failure = f"{type(error).__name__} at {PurePath(last.filename).name}:{last.lineno}"
    is_visible = any(kind.__name__ == VISIBLE for kind in type(error).__mro__)
    return {"failure": failure, "says": str(error) if may_speak and is_visible else None}


if __name__ == "__main__":
    main()
