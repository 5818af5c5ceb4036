"""Ledgers that answer, and the rewind guard that watches them."""

from collections.abc import Iterator

from django.conf import settings
from django.db import DatabaseError

from leaderboard.ledger import watermark
from leaderboard.models import Halt
from leaderboard.operate.doctor.report import Finding, note, ok, unseen, wrong
from leaderboard.queries import operation
from leaderboard.queries.operation import Ledger


def ledgers() -> Iterator[Finding]:
    """No holdout is halted, and the database knows all that the rewind guard knows."""
    try:
        # The guard first: meanwhile the database may only get ahead.
        written = {ledger.name: _written(ledger.name) for ledger in operation.ledgers()}
        found = operation.ledgers()
    except DatabaseError:
        yield unseen("database and migrations")
        return
    problems = [
        problem
        for ledger in found
        for problem in (_halted(ledger) or _unlike(ledger, written.get(ledger.name)))
    ]
    yield from problems or [ok(f"Each of the {len(found)} in force agrees with the guard.")]


def _written(name: str) -> watermark.Head | Finding | None:
    try:
        return watermark.read(name)
    except watermark.Rewound as damaged:
        return wrong(str(damaged), "Restore that file, or see docs/operations.md, Restoring.")
    except watermark.GuardAway as away:
        return wrong(
            f"{away}. Nothing is released until it can be read.",
            f"Workers must be able to write below {settings.GUARD_DIR} (GUARD_DIR).",
        )


def _halted(ledger: Ledger) -> list[Finding]:
    if not ledger.halted_for:
        return []
    mend = (
        _how_to_go_on(ledger)
        if ledger.halted_for == Halt.REWOUND
        else "The organizer has to correct the solution so that Public rows stay Public."
    )
    return [wrong(f"{ledger.competition} answers nobody. {ledger.halted_because}", mend)]


def _unlike(ledger: Ledger, written: watermark.Head | Finding | None) -> list[Finding]:
    if isinstance(written, Finding):
        return [written]
    if written is None and not settings.VAULT_PRIVATE_KEY_FILE:
        return [note(f"The guard of {ledger.competition} can't be seen here.", "Look in a worker.")]
    if written is None:
        missing = f"The guard's file {watermark.file_of(ledger.name)} is missing."
        return [wrong(missing, _how_to_go_on(ledger))] if ledger.guarded else []
    known = watermark.Head(ledger.releases, ledger.hash)
    if written.number < known.number or written == known:
        return []
    says = f"{ledger.competition}: the guard knows entry {written}, the database entry {known}."
    return [wrong(says, _how_to_go_on(ledger))]


def _how_to_go_on(ledger: Ledger) -> str:
    return f"`python manage.py rewind {ledger.competition}` says what is lost and how to go on."
