"""The result of a verification: all is as it should be, or the first thing that is not."""

from dataclasses import dataclass
from typing import Any, Final

from scoring.errors import HoldfastError

_LONGEST_VALUE: Final = 120


@dataclass(frozen=True)
class Difference:
    """The first thing that is not as it should be.

    number: of the ledger's entry, None where it is no entry's. field: what differs, in the
    document's own words. message: a sentence on how. of: what is numbered, where it is not the
    ledger.
    """

    number: int | None
    field: str
    message: str
    of: str = "Entry"

    def __str__(self) -> str:
        where = "" if self.number is None else f"{self.of} {self.number}, "
        return f"{where}{self.field}: {self.message}"


class Differs(HoldfastError):
    """Raised where a check fails, with the `difference`."""

    def __init__(self, number: int | None, field: str, message: str, of: str = "Entry") -> None:
        """Describe the difference; the arguments are its own."""
        self.difference = Difference(number, field, message, of)
        super().__init__(str(self.difference))


@dataclass(frozen=True)
class Report:
    """What was verified, up to the first difference, if there is one.

    entries: checked entries of the ledger. recomputed: those whose answer was drawn again from a
    published secret and a measurement. lost: those whose predictions are lost, so that their answer
    was taken as said. measured: those whose measurement was made again from the predictions.
    versions: of the holdout, in the ledger's order. head_hash: of the last entry that was checked;
    `notes` is what could not be checked, and why.
    """

    competition: str = ""
    versions: tuple[int, ...] = ()
    entries: int = 0
    recomputed: int = 0
    lost: int = 0
    measured: int = 0
    head_hash: str = ""
    notes: tuple[str, ...] = ()
    difference: Difference | None = None


def shown(value: Any) -> str:
    """Write a value as a sentence has it, of one line and not too long."""
    text = "nothing" if value is None else repr(value)
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}…"
