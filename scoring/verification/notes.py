"""Entries of the ledger that are no answers: revisions, merged teams, and what was written off.

A revision is the first entry of each version but the first. A write-off stands where a database
lost entries that nobody kept: it names the last entry that is known, the last one known to have
existed, and how many answers between them are counted as if each had been maximally informative.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from scoring.verification.differences import Differs, shown

if TYPE_CHECKING:
    from scoring.mechanisms.base import HoldoutState, TeamState

REVISION: Final = "revision"
MERGE: Final = "merge"
WRITE_OFF: Final = "write_off"

_SHARED: Final = (
    *("number", "kind", "asked", "answered", "log_alphabets", "boards"),
    *("parameters_hash", "previous_hash", "created_at", "hash"),
)
FIELDS: Final[Mapping[str, frozenset[str]]] = {
    REVISION: frozenset({*_SHARED, "version", "reason", "rescore"}),
    MERGE: frozenset({*_SHARED, "team", "into", "offset"}),
    WRITE_OFF: frozenset(
        {*_SHARED, "lost", "known_number", "known_hash", "watermark_number", "watermark_hash"}
    ),
}
RESCORES: Final = ("best", "all", "none")
_COUNTS: Final = ("lost", "known_number", "watermark_number")

Entry = Mapping[str, Any]
# Each board's head and its teams' states; what heads say of the ledger as a whole is the same.
Heads = dict[str, "HoldoutState"]
Teams = dict[tuple[str, str], "TeamState"]


def is_note(entry: Entry) -> bool:
    """Return whether an entry is no answer."""
    kind = entry.get("kind")
    return isinstance(kind, str) and kind in FIELDS


def place(number: int, head: str, entry: Entry) -> tuple[int, str]:
    """Return the number and the previous hash that an entry has after `number` with hash `head`.

    Raises Differs where a write-off contradicts them.
    """
    if entry.get("kind") != WRITE_OFF:
        return number + 1, head
    for name in _COUNTS:
        if type(entry[name]) is not int or entry[name] < 0:
            raise Differs(number + 1, name, f"{shown(entry[name])} is no count.")
    if (entry["known_number"], entry["known_hash"]) != (number, head):
        raise Differs(number + 1, "known_number", "It does not continue from the entry before it.")
    if entry["lost"] < entry["watermark_number"] - number:
        raise Differs(number + 1, "lost", "More entries are missing than were written off.")
    if entry["watermark_number"] > number:
        return entry["watermark_number"] + 1, entry["watermark_hash"]
    return number + 1, head


def after(entry: Entry, heads: Heads, teams: Teams, alphabet: int) -> tuple[Heads, Teams]:
    """Return the states after a note, from those before it.

    alphabet: the most values that an answer of any board can have. Raises Differs where a merge
    names no two teams.
    """
    from scoring.mechanisms import books  # so that a chain is checked without numpy

    if entry["kind"] == MERGE:
        team, into = entry["team"], entry["into"]
        if type(team) is not str or type(into) is not str or team == into:
            raise Differs(entry["number"], "team", "It names no two teams.")
        merged = dict(teams)
        for board, name in teams:
            if name == team:
                state = merged.pop((board, team))
                known = merged.get((board, into))
                merged[board, into] = books.merge_teams(known, state) if known else state
        return heads, merged
    if entry["kind"] == REVISION:
        return (
            {board: books.carry_on(head) for board, head in heads.items()},
            {key: books.carry_team(team) for key, team in teams.items()},
        )
    lost = entry["lost"]
    return (
        {board: books.write_off(head, lost, alphabet) for board, head in heads.items()},
        {key: books.write_off_team(team, lost) for key, team in teams.items()},
    )
