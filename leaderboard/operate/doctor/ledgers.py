"""Whether ledgers answer, and agree with their watermarks."""

from collections.abc import Iterator

from django.conf import settings

from leaderboard.ledger import watermark
from leaderboard.models import Pause
from leaderboard.operate.doctor.report import Finding, note, ok, wrong
from leaderboard.platform.secrets import VAULT_KEY
from leaderboard.queries import operation
from leaderboard.queries.operation import Ledger


def ledgers() -> Iterator[Finding]:
    """Check that no ledger is paused and that the database knows all that its watermark knows."""
    # The watermarks first: meanwhile the database may only get ahead.
    written = {ledger.uid: _written(ledger.uid) for ledger in operation.ledgers()}
    found = operation.ledgers()
    problems = [
        problem for ledger in found for problem in _problems(ledger, written.get(ledger.uid))
    ]
    yield from problems or [ok(f"{len(found)} found: each agrees with its watermark.")]


def _written(uid: str) -> watermark.Head | Finding | None:
    try:
        return watermark.read(uid)
    except watermark.Rewound as damaged:
        return wrong(str(damaged), "Restore that file, or see docs/operations.md, Restoring.")
    except watermark.WatermarkAway as away:
        return wrong(
            f"{away}. Nothing is released until it can be read.",
            f"Workers must be able to write below {settings.WATERMARK_DIR} (WATERMARK_DIR).",
        )


def _problems(ledger: Ledger, written: watermark.Head | Finding | None) -> list[Finding]:
    go_on = f"`python manage.py rewind {ledger.competition}` shows what is lost and how to go on."
    if ledger.paused_for in (Pause.MOVED, Pause.ARCHIVED):
        return [note(f"{ledger.competition} answers nobody here. {ledger.paused_because}", "")]
    if ledger.paused_for:
        revise = "The organizer has to revise the solution so that Public rows stay Public."
        fix = go_on if ledger.paused_for == Pause.REWOUND else revise
        return [wrong(f"{ledger.competition} answers nobody. {ledger.paused_because}", fix)]
    if isinstance(written, Finding):
        return [written]
    if written is None and not VAULT_KEY.source:
        hidden = f"The watermark of {ledger.competition} can't be seen here."
        return [note(hidden, "Look in a worker.")]
    if written is None:
        missing = f"The watermark's file {watermark.file_of(ledger.uid)} is missing."
        return [wrong(missing, go_on)] if ledger.watermarked else []
    known = watermark.Head(ledger.entries, ledger.hash)
    if written.number < known.number or written == known:
        return []
    says = (
        f"{ledger.competition}: the watermark is at entry {written}, the database at entry {known}."
    )
    return [wrong(says, go_on)]
