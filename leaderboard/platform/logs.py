"""Log lines: a JSON object each for machines, or plain lines for a person at a terminal.

A line names the request, the account and the submission by their ids; never a score, a name, an
address or a token. The message of an exception is left out, because it could carry a value of a
solution: a line has its type and the places it came through.
"""

import json
import logging
import logging.config
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from functools import wraps
from pathlib import Path, PurePath
from types import TracebackType
from typing import Any, ParamSpec

P = ParamSpec("P")
ROOT = Path(__file__).parents[2]
# What a record may carry besides its message; other attributes are not written.
FIELDS = (
    "request_id",
    "user_id",
    "submission_id",
    "task",
    "competition",
    "method",
    "route",
    "status",
    "duration_ms",
)
LONGEST_CHAIN = 4
LONGEST_STACK = 40

_context: ContextVar[Mapping[str, Any] | None] = ContextVar("log context", default=None)


class Broken(Exception):
    """Stand-in for an exception that must not be seen: its text is a type and a place, no more."""


@contextmanager
def context(**fields: Any) -> Iterator[None]:
    """Add these fields, and those that are bound inside, to every line logged inside."""
    token = _context.set({**(_context.get() or {}), **fields})
    try:
        yield
    finally:
        _context.reset(token)


def bind(**fields: Any) -> None:
    """Add fields to all lines from here to the end of the enclosing `context`, if there is one."""
    known = _context.get()
    if known is not None:
        _context.set({**known, **fields})


def begin(**fields: Any) -> None:
    """Begin a task: add these fields to every line from here to `end`."""
    _context.set(fields)


def end() -> None:
    """Forget all fields."""
    _context.set(None)


def bound(name: str) -> Any:
    """Return the value of a field here, or None."""
    return (_context.get() or {}).get(name)


def discreet(run: Callable[P, None]) -> Callable[P, None]:
    """Let no exception out but `Broken`: that is all that Celery can log, store or send."""

    @wraps(run)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            return run(*args, **kwargs)
        except Exception as error:
            broken = place(error)
        # Raised outside `except`, so that no other exception is its context.
        raise Broken(broken)

    return wrapped


def place(error: BaseException) -> str:
    """Return the type of an exception and the file and line that raised it."""
    last = traceback.extract_tb(error.__traceback__)[-1:]
    where = ""
    for frame in last:  # named as people look for it: a package by its folder
        path = PurePath(frame.filename)
        name = f"{path.parent.name}.py" if path.stem == "__init__" else path.name
        where = f" at {name}:{frame.lineno}"
    return f"{type(error).__name__}{where}"


def configure(config: dict[str, Any]) -> None:
    """Set up logging, as Django's hook; warnings become lines like all others."""
    logging.config.dictConfig(config)
    logging.captureWarnings(True)


class Unexpected(logging.Filter):
    """Of Django's lines on responses from 500 up, pass only those about an exception it caught.

    A refusal (503: the competition is paused) is in the access log with the request's id, which
    Django's own line, written when the request is over, would lack.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        return record.exc_info is not None or getattr(record, "status_code", 0) < 500


class LineFormatter(logging.Formatter):
    """`LEVEL logger: message`, and below it where an exception came from."""

    def format(self, record: logging.LogRecord) -> str:
        lines = [f"{record.levelname} {record.name}: {message(record)}"]
        for number, error in enumerate(_errors(record)):
            lines.append(f"  {'caused by ' if number else ''}{error['type']}")
            lines += [f"    {frame}" for frame in error["stack"]]
        return "\n".join(lines)


class JsonFormatter(logging.Formatter):
    """One JSON object: time (UTC), level, logger, message, the fields, and `errors` if any."""

    def format(self, record: logging.LogRecord) -> str:
        when = datetime.fromtimestamp(record.created, UTC)
        line: dict[str, Any] = {
            "time": when.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname,
            "logger": record.name,
            "message": message(record),
        }
        known = _context.get() or {}
        for name in FIELDS:
            value = record.__dict__.get(name, known.get(name))
            if value is not None:
                line[name] = value
        errors = _errors(record)
        if errors:
            line["errors"] = errors
        return json.dumps(line, default=lambda value: type(value).__name__)


def message(record: logging.LogRecord) -> str:
    """Return a record's message without texts of exceptions, addresses and clients."""
    text = record.msg
    if isinstance(text, BaseException):
        return type(text).__name__
    if record.name == "gunicorn.error" and str(text).startswith("Invalid request"):
        return "A request that is not HTTP was refused."
    try:
        return str(text) % _arguments(record) if record.args else str(text)
    except (TypeError, ValueError, KeyError):
        return str(text)


def _arguments(record: logging.LogRecord) -> Any:
    if isinstance(record.args, Mapping):
        # Celery's record of a failed task: both texts hold the exception's message.
        kind = record.exc_info[0] if record.exc_info else None
        hidden = {"exc": kind.__name__ if kind else "an error", "traceback": ""}
        return {name: hidden.get(name, _discreet(v)) for name, v in record.args.items()}
    request = getattr(record, "request", None)
    path = getattr(request, "path", "")
    # Django writes paths as ASCII with escapes.
    paths = (path, path.encode("unicode_escape").decode()) if path else ()
    return tuple(
        route_of(request) if argument in paths else _discreet(argument)
        for argument in record.args or ()
    )


def route_of(request: Any) -> str:
    """Return the pattern of a request's address: the address can hold an invitation's token."""
    match = getattr(request, "resolver_match", None)
    return match.route if match else "no such page"


def _discreet(argument: Any) -> Any:
    if isinstance(argument, BaseException):
        return type(argument).__name__
    if isinstance(argument, str) and argument.startswith(("/", "http://", "https://")):
        return argument.partition("?")[0]
    return argument


def _errors(record: logging.LogRecord) -> list[dict[str, Any]]:
    """Return a record's exceptions, the last raised first, each with its stack, innermost last."""
    error = record.exc_info[1] if record.exc_info else None
    found: list[dict[str, Any]] = []
    while error is not None and len(found) < LONGEST_CHAIN:
        name = type(error).__name__
        # Only texts that can't hold labels: that of our own stand-in, and those of the system.
        if isinstance(error, Broken):
            name = f"Broken: {error}"
        elif isinstance(error, OSError) and error.strerror:
            name = f"{name}: {error.strerror}"
        found.append({"type": name, "stack": _stack(error.__traceback__)})
        hidden = None if error.__suppress_context__ else error.__context__
        error = error.__cause__ or hidden
    return found


def _stack(trace: TracebackType | None) -> list[str]:
    """Return a line for each frame, its file named below the project or the installed packages."""
    lines = []
    for frame in traceback.extract_tb(trace)[-LONGEST_STACK:]:
        _, installed, below = frame.filename.rpartition("/site-packages/")
        name = below if installed else frame.filename.removeprefix(f"{ROOT}/")
        lines.append(f"{name}:{frame.lineno} {frame.name}")
    return lines
