"""Verify a competition's ledger from outside, from published documents alone.

    report = verify(lines)                             # chain, books, certificates
    report = verify(lines, openings={1: file})         # and every answer, drawn again
    entries = check_since(lines_kept_earlier, lines)   # nothing was rewritten since

docs/verification.md explains what each check shows and what none can show.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from scoring.verification.differences import Difference, Differs, Report
from scoring.verification.ledgers import (
    Header,
    bounded_lines,
    check_chain,
    check_since,
    entry_line,
)

if TYPE_CHECKING:
    from scoring.verification.openings import (
        SALT_BYTES,
        Known,
        Lost,
        Opened,
        OpenedHoldout,
        Salted,
        write_opening,
    )
    from scoring.verification.replay import Replay, Witness
    from scoring.verification.run import Observer, verify, verify_with
else:

    def __getattr__(name: str) -> object:
        """Import what needs numpy once it is used: checking the chain works without."""
        if name in __all__:
            for module in ("openings", "replay", "run"):
                found = vars(import_module(f"{__name__}.{module}"))
                if name in found:
                    return found[name]
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "SALT_BYTES",
    "Difference",
    "Differs",
    "Header",
    "Known",
    "Lost",
    "Observer",
    "Opened",
    "OpenedHoldout",
    "Replay",
    "Report",
    "Salted",
    "Witness",
    "bounded_lines",
    "check_chain",
    "check_since",
    "entry_line",
    "verify",
    "verify_with",
    "write_opening",
]
