"""The watermark of this site (`durable.watermark`), in WATERMARK_DIR.

The line "moved" is written before the secrets of a ledger leave for another installation: a
database restored from before that must not answer beside it.

The line "ended" is written before the first exact score is measured: a database restored from
before the finals must not answer questions about what everybody may know by then.
"""

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings

from durable.watermark import Head, Rewound, Watermark, WatermarkAway

__all__ = ["EndUndone", "Head", "MoveUndone", "Rewound", "WatermarkAway", "Written"]

_ENDED = b"ended"
_MOVED = b"moved"


class EndUndone(Rewound):
    """The database doesn't know of the finals, whose exact scores were measured."""

    def __str__(self) -> str:
        return "The watermark knows that the final scores were measured; the database does not."


class MoveUndone(Rewound):
    """The database doesn't know that the ledger went to another installation."""

    def __str__(self) -> str:
        return "The watermark knows that this ledger was moved away; the database does not."


@dataclass(frozen=True)
class Written:
    """What a ledger's file says: its highest entry, None without a line, and the words."""

    head: Head | None
    has_moved: bool
    has_ended: bool


def _files() -> Watermark:
    return Watermark(Path(settings.WATERMARK_DIR))


def file_of(ledger: str) -> Path:
    """Return where the lines of a ledger are."""
    return _files().file_of(ledger)


def read(ledger: str, *, only_look: bool = False) -> Head | None:
    """Return the highest entry that was written down, as `read_all` does."""
    return read_all(ledger, only_look=only_look).head


def read_all(ledger: str, *, only_look: bool = False) -> Written:
    """Return what was written down, as `Watermark.read` does."""
    found = _files().read(ledger, only_look=only_look)
    return Written(found.head, _MOVED in found.lines, _ENDED in found.lines)


def history(ledger: str) -> list[Head]:
    """Return the heads of all lines, the highest number first."""
    return _files().history(ledger)


def append(ledger: str, head: Head) -> None:
    """Write an entry down, durably. Raises WatermarkAway."""
    _files().append(ledger, head)


def append_where_writable(ledger: str, head: Head) -> None:
    """Write a committed entry down, or leave it to the next worker that locks the ledger.

    Where web servers only read the watermark, what an organizer orders is done all the same.
    """
    with suppress(WatermarkAway):
        append(ledger, head)


def end(ledger: str) -> None:
    """Note that exact scores are measured from now on. Raises WatermarkAway."""
    if not has_ended(ledger):
        _files().write(ledger, _ENDED)


def has_ended(ledger: str, *, only_look: bool = False) -> bool:
    """Return whether the end was noted. Raises WatermarkAway."""
    return _files().has(ledger, _ENDED, only_look=only_look)


def move(ledger: str) -> None:
    """Note that the ledger is another installation's from now on. Raises WatermarkAway."""
    if not has_moved(ledger):
        _files().write(ledger, _MOVED)


def has_moved(ledger: str, *, only_look: bool = False) -> bool:
    """Return whether that was noted. Raises WatermarkAway."""
    return _files().has(ledger, _MOVED, only_look=only_look)
