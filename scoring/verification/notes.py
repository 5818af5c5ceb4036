"""Entries of the ledger that are no answers: revisions, mergers, raised budgets, write-offs.

A revision is the first entry of each version but the first. A write-off stands where a database
lost entries that nobody kept: it names the last entry that is known, the last one known to have
existed, and how many answers between them are counted as if each had been maximally informative.
A duel names the entries of the two files that it compares, and says whether the first is surely
better: null where one of them could not be read any more. A gate's note says what was asked, of
which predictions of which submission, and the bit.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from scoring.verification.differences import Differs, shown

if TYPE_CHECKING:
    from scoring.mechanisms.base import HoldoutState, TeamState

REVISION: Final = "revision"
MERGE: Final = "merge"
WRITE_OFF: Final = "write_off"
TOP_UP: Final = "top_up"
DUEL: Final = "duel"
GATE: Final = "gate"

_SHARED: Final = (
    *("number", "kind", "asked", "answered", "log_alphabets", "boards"),
    *("parameters_hash", "previous_hash", "created_at", "hash"),
)
FIELDS: Final[Mapping[str, frozenset[str]]] = {
    REVISION: frozenset({*_SHARED, "version", "reason", "rescore"}),
    MERGE: frozenset({*_SHARED, "team", "into", "offset"}),
    TOP_UP: frozenset({*_SHARED, "board", "team", "amount"}),
    WRITE_OFF: frozenset(
        {*_SHARED, "lost", "known_number", "known_hash", "watermark_number", "watermark_hash"}
    ),
    DUEL: frozenset(
        {*_SHARED, *("board", "entry", "team", "against", "against_team"), "form", "length", "yes"}
    ),
    GATE: frozenset(
        {*_SHARED, *("gate", "board", "asks", "against", "team", "submission")}
        | {"predictions_tag", "length", "yes"}
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


def after(
    entry: Entry, heads: Heads, teams: Teams, alphabet: int, *, by_team: bool = False
) -> tuple[Heads, Teams]:
    """Return the states after a note, from those before it.

    alphabet: the most values that an answer of any board can have. Raises Differs where a merge
    names no two teams, or a top-up no board and team that can have it.
    """
    from scoring.mechanisms import books  # so that a chain is checked without numpy

    if entry["kind"] in (DUEL, GATE):
        return heads, teams
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
    if entry["kind"] == TOP_UP:
        return _after_top_up(entry, heads, teams)
    if entry["kind"] == REVISION:
        return (
            {board: books.carry_on(head) for board, head in heads.items()},
            {key: books.carry_team(team) for key, team in teams.items()},
        )
    lost = entry["lost"]
    return (
        {
            board: books.write_off(head, lost, alphabet, by_team=by_team)
            for board, head in heads.items()
        },
        {key: books.write_off_team(team, lost) for key, team in teams.items()},
    )


def _after_top_up(entry: Entry, heads: Heads, teams: Teams) -> tuple[Heads, Teams]:
    from scoring.mechanisms import books

    board, team, amount = entry["board"], entry["team"], entry["amount"]
    if type(amount) is not int or amount < 1:
        raise Differs(entry["number"], "amount", f"{shown(amount)} is no number of answers.")
    if board not in heads or (team and (board, team) not in teams):
        raise Differs(entry["number"], "team", "This board, or this team, has no budget.")
    if team:
        return heads, teams | {(board, team): books.top_up_team(teams[board, team], amount)}
    return heads | {board: books.top_up(heads[board], amount)}, teams
