"""Findings, and how checks run: each on its own, none waiting for another that hangs."""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from threading import Thread
from typing import Literal
from urllib.parse import unquote, urlsplit

from django.conf import settings
from django.db import DatabaseError, connections

from leaderboard.platform import logs

State = Literal["ok", "note", "wrong"]


@dataclass(frozen=True)
class Finding:
    """What a check found: all well, worth knowing, or wrong, and then how to fix it."""

    state: State
    says: str
    fix: str = ""


Check = Callable[[], Iterable[Finding]]


def ok(says: str) -> Finding:
    """Report that all is well."""
    return Finding("ok", says)


def note(says: str, fix: str = "") -> Finding:
    """Report something worth knowing."""
    return Finding("note", says, fix)


def unseen(see: str) -> Finding:
    """Report that something can't be checked because of another problem, reported elsewhere."""
    return Finding("note", "Can't be seen.", f"See {see}.")


def wrong(says: str, fix: str) -> Finding:
    """Report a problem and its fix."""
    return Finding("wrong", says, fix)


def start(service: str) -> str:
    """Return the command that starts a service, by how this installation runs."""
    return "`make run`" if is_embedded() else f"`docker compose up --detach {service}`"


def more_workers() -> str:
    """Return the command for more workers."""
    more = "docker compose up --detach --scale worker=4"
    return "`WORKER_CONCURRENCY=4 make run`" if is_embedded() else f"`{more}`"


def is_embedded() -> bool:
    """Return whether `make run` was used here: it leaves the address of its Redis."""
    return (settings.VAR_DIR / "redis" / "worker.url").is_file()


def examine(checks: Mapping[str, Check], seconds: float) -> dict[str, list[Finding]]:
    """Run all checks at once, for `seconds` at most; return each one's findings, in order."""
    found: dict[str, list[Finding]] = {name: [] for name in checks}
    threads = {
        # Daemons, so that one that hangs doesn't keep the process from ending.
        name: Thread(target=_run, args=(check, found[name]), daemon=True)
        for name, check in checks.items()
    }
    for thread in threads.values():
        thread.start()
    give_up = time.monotonic() + seconds
    for name, thread in threads.items():
        thread.join(max(0.0, give_up - time.monotonic()))
        if thread.is_alive():
            # A new list: the thread may still append to the old one.
            found[name] = [
                *found[name],
                wrong(
                    f"No answer within {seconds:g} s.",
                    "What it asks hangs: see what else is wrong here, then look at the network "
                    "between this machine and that service.",
                ),
            ]
    return found


def all_well(found: Mapping[str, list[Finding]]) -> bool:
    """Return whether nothing is wrong."""
    return not any(finding.state == "wrong" for findings in found.values() for finding in findings)


def told(error: BaseException) -> str:
    """Return an error's type and first line, without the passwords we know."""
    text = str(error).strip().partition("\n")[0]
    given = (
        urlsplit(settings.REDIS_URL).password,
        urlsplit(settings.REDIS_CACHE_URL).password,
        settings.DATABASES["default"].get("PASSWORD"),
        settings.EMAIL_HOST_PASSWORD,
    )
    for secret in filter(None, given):
        for form in (str(secret), unquote(str(secret))):
            text = text.replace(form, "***")
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _run(check: Check, found: list[Finding]) -> None:
    try:
        found.extend(check())  # one by one: what came before a failure stays
    except DatabaseError:
        found.append(unseen("database and migrations"))
    except Exception as error:
        found.append(
            wrong(
                f"The check itself failed: {logs.place(error)}.",
                "That is a bug of Holdfast: please report it with this line.",
            )
        )
    finally:
        connections.close_all()
