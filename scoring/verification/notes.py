"""Entries of the ledger that are no answers: corrections, and what was written off.

A correction is the first entry of each version but the first. A write-off stands where a database
had lost entries that nobody kept: it names the last entry that is known, the last one that is known
of, and how many answers between them are counted as if each had said the most it could.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from scoring.verification.differences import Differs, shown

if TYPE_CHECKING:
    from scoring.mechanisms.base import HoldoutState, TeamState

    States = tuple[HoldoutState, dict[int, TeamState]]

CORRECTION: Final = "correction"
WRITE_OFF: Final = "write_off"

_SHARED: Final = (
    *("number", "kind", "asked", "answered", "log_alphabets", "firings", "budget_left"),
    *("parameters_hash", "previous_hash", "created_at", "hash"),
)
FIELDS: Final[Mapping[str, frozenset[str]]] = {
    CORRECTION: frozenset({*_SHARED, "version", "reason", "rescore"}),
    WRITE_OFF: frozenset(
        {*_SHARED, "lost", "known_number", "known_hash", "guard_number", "guard_hash"}
    ),
}
_COUNTS: Final = ("lost", "known_number", "guard_number")

Entry = Mapping[str, Any]
States = tuple[HoldoutState, dict[str, TeamState]]


def is_note(entry: Entry) -> bool:
    """Tell whether an entry is no answer."""
    kind = entry.get("kind")
    return isinstance(kind, str) and kind in FIELDS


def place(number: int, head: str, entry: Entry) -> tuple[int, str]:
    """Return the number and the previous hash of an entry that follows `number` with the hash
    `head`.

    Raises Differs where a write-off does not say of these what it leaves out.
    """
    if entry.get("kind") != WRITE_OFF:
        return number + 1, head
    for name in _COUNTS:
        if type(entry[name]) is not int or entry[name] < 0:
            raise Differs(number + 1, name, f"{shown(entry[name])} is no count.")
    if (entry["known_number"], entry["known_hash"]) != (number, head):
        raise Differs(number + 1, "known_number", "It does not go on from the entry before it.")
    if entry["lost"] < entry["guard_number"] - number:
        raise Differs(number + 1, "lost", "More entries are missing than were written off.")
    if entry["guard_number"] > number:
        return entry["guard_number"] + 1, entry["guard_hash"]
    return number + 1, head


def after(entry: Entry, head: HoldoutState, teams: dict[str, TeamState], alphabet: int) -> States:
    """Return the states after a note, from those before it."""
    if entry["kind"] == CORRECTION:
        return books.carry_on(head), {key: books.carry_team(team) for key, team in teams.items()}
    lost = entry["lost"]
    written_off = {key: books.write_off_team(team, lost) for key, team in teams.items()}
    return books.write_off(head, lost, alphabet), written_off
