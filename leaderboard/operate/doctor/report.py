"""Findings, and how checks are run: each for itself, none waits for another that hangs."""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from threading import Thread
from typing import Literal
from urllib.parse import unquote, urlsplit

from django.conf import settings
from django.db import connections

from leaderboard.platform import logs

State = Literal["ok", "note", "wrong"]


@dataclass(frozen=True)
class Finding:
    """What a check found: all well, worth knowing, or wrong, and then how to mend it."""

    state: State
    says: str
    mend: str = ""


Check = Callable[[], Iterable[Finding]]


def ok(says: str) -> Finding:
    return Finding("ok", says)


def note(says: str, mend: str = "") -> Finding:
    return Finding("note", says, mend)


def unseen(see: str) -> Finding:
    """What can't be looked at because of something else, which is said there."""
    return Finding("note", "Can't be seen.", f"See {see}.")


def wrong(says: str, mend: str) -> Finding:
    return Finding("wrong", says, mend)


def start(service: str) -> str:
    """The command that starts a service, by how this installation runs."""
    return "`make run`" if _is_embedded() else f"`docker compose up --detach {service}`"


def more_workers() -> str:
    """The command for more of them."""
    if _is_embedded():
        return "`WORKER_CONCURRENCY=4 make run`"
    return "`docker compose up --detach --scale worker=4`"


def _is_embedded() -> bool:
    """`make run` leaves its Redis's address there."""
    return (settings.VAR_DIR / "redis" / "url").is_file()


def examine(checks: Mapping[str, Check], seconds: float) -> dict[str, list[Finding]]:
    """Runs all checks at once and waits `seconds` at most; the findings of each, in their order."""
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
            # A new list: what the thread may still find comes too late.
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
    return not any(finding.state == "wrong" for findings in found.values() for finding in findings)


def told(error: BaseException) -> str:
    """The type and first line of what a service answered, without the passwords we know."""
    text = str(error).strip().partition("\n")[0]
    for secret in _secrets():
        text = text.replace(secret, "***")
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _run(check: Check, found: list[Finding]) -> None:
    try:
        found.extend(check())  # one by one: what came before a failure stays
    except Exception as error:
        found.append(
            wrong(
                f"The check itself failed: {logs.place(error)}.",
                "That is a bug of Holdfast: please report it with this line.",
            )
        )
    finally:
        connections.close_all()


def _secrets() -> list[str]:
    given = [
        urlsplit(settings.REDIS_URL).password or "",
        urlsplit(settings.REDIS_CACHE_URL).password or "",
        str(settings.DATABASES["default"].get("PASSWORD") or ""),
        settings.EMAIL_HOST_PASSWORD or "",
    ]
    return [secret for each in given for secret in {each, unquote(each)} if secret]
