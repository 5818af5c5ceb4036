"""Hold what the entries of a log come to against what the database would tell today.

`operate.log_verification` names the first contradiction. After a restore `ledger.settling` tells
the log what makes it true again, where anything does.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from leaderboard.log.entries import Leaf, utc
from leaderboard.log.leaves import OUTCOMES, became, everything, lost
from leaderboard.models import (
    Competition,
    LedgerNote,
    LogEntry,
    NoteKind,
    Status,
    Submission,
)
from scoring.chain import canonical
from scoring.transparency import leaves
from scoring.transparency.history import History
from scoring.verification.differences import Differs, shown

Named = tuple[str, int]  # a team and the number of its submission
Key = tuple[Any, ...]
Source = TypeVar("Source", int, Leaf)
_OF_ROUNDS: Final = ("deadline", "limits", "scoring")
_SUBMISSIONS: Final = (
    *("accepted", "rejected", "failed", "requeued"),
    *("released", "gated", "restored"),
)
# What can be told as often as it changes. The rest is done again, or names what can't be lost.
_STATES: Final = {
    *_OF_ROUNDS,
    *("rules", "team", "baseline", "verified", "disqualified", "hidden", "excluded"),
    *("quota", "selected", "gate"),
}
_OFF: Final[tuple[list[Any], ...]] = ([False], [0, 0], [""])


@dataclass(frozen=True)
class Contradiction:
    """Something that log and database tell differently.

    leaves: what the log has to tell for both to agree, where the database was restored; nothing
    where that would hide what somebody else has a proof of.
    """

    differs: Differs
    leaves: tuple[Leaf, ...] = ()


def compare(competition: Competition, entries: list[LogEntry]) -> Iterator[Contradiction]:
    """Yield where the database is not what the entries tell. Raises Differs for no true log."""
    history = History.of(canonical(each.document) for each in entries)
    gone = {each.index for each in history.lost}
    hold = [each for each in entries if each.index not in gone]
    yield from _compare_submissions(competition, hold, history)
    yield from _compare_state(competition, entries)


def says(logged: object, stored: object) -> str:
    """Say what each of both has."""
    return f"The log has {shown(logged)}, the database {shown(stored)}."


def of_entry(index: int | None, name: str, message: str) -> Differs:
    """Return the error that names an entry of the log."""
    return Differs(index, name, message, of="Log entry")


# --- Submissions ----------------------------------------------------------------------------------


def _compare_submissions(
    competition: Competition, entries: Iterable[LogEntry], history: History
) -> Iterator[Contradiction]:
    """Compare each accepted file with its row: owner, number, round, moment, hash and outcome."""
    rows = Submission.objects.filter(team__competition=competition)
    known = {(each.team.uid, each.number): each for each in rows.select_related("team", "round")}
    told, outcomes = set[int](), dict[int, list[LogEntry]]()
    for entry in entries:
        if entry.kind not in _SUBMISSIONS:
            continue
        named = entry.document["team"], entry.document["submission"]
        # Of a team that was merged, submissions to rounds that had ended stay where they were.
        row = known.get(named) or known.get(history.now(*named))
        if row is None:
            message = f"Submission {named[1]} of team {named[0]} is not in the database."
            differs = of_entry(entry.index, "submission", message)
            yield Contradiction(differs, (lost(entry.index),))
            continue
        if entry.kind == "accepted":
            told.add(row.pk)
            yield from map(Contradiction, _compare_accepted(entry, row))
            continue
        if entry.kind == "restored":
            yield from map(Contradiction, _compare_facts(entry, row, moment="accepted"))
            told.add(row.pk)
        outcomes.setdefault(row.pk, []).append(entry)
    for named, row in known.items():
        if row.pk not in told:
            message = "The log does not say that it was accepted."
            yield Contradiction(Differs(None, name_of(named), message))
        yield from _compare_outcome(named, row, outcomes.get(row.pk, []))


def _compare_outcome(
    named: Named, row: Submission, said: list[LogEntry]
) -> Iterator[Contradiction]:
    expected = "gated" if row.gate_answer_id else OUTCOMES.get(Status(row.status))
    kinds = (expected, "restored") if expected == "released" else (expected,)
    last = said[-1] if said else None
    if expected is None or (last is not None and last.kind in kinds):
        return
    what = "nothing" if last is None else f"“{last.kind}” (entry {last.index})"
    message = f"The database has “{row.status}”, the log {what}."
    behind = list[LogEntry]()
    while said and said[-1].kind not in kinds:
        behind.append(said.pop())
    told = tuple(lost(each.index) for each in behind) if said else ()
    if expected == "failed":
        told = (became("failed", row),)
    yield Contradiction(Differs(None, f"{name_of(named)}, status", message), told)


def _compare_accepted(entry: LogEntry, row: Submission) -> Iterator[Differs]:
    yield from _compare_facts(entry, row, moment="at")
    document = entry.document
    salt = bytes.fromhex((entry.opening or {}).get("salt", ""))
    if len(salt) != leaves.SALT_BYTES:
        yield of_entry(entry.index, "file", "The salt of its commitment is gone.")
    elif leaves.commit(salt, row.sha256) != document["file"]:
        message = f"The database has a submission of another file, {row.sha256[:16]}."
        yield of_entry(entry.index, "file", message)


def _compare_facts(entry: LogEntry, row: Submission, *, moment: str) -> Iterator[Differs]:
    facts: dict[str, Any] = {
        moment: utc(row.created_at),
        "round": row.round.number,
        "practice": row.is_practice,
    }
    for name, value in facts.items():
        if entry.document[name] != value:
            yield of_entry(entry.index, name, says(entry.document[name], value))


def name_of(named: Named) -> str:
    """Name a submission."""
    return f"submission {named[1]} of team {named[0]}"


# --- Everything else ------------------------------------------------------------------------------


def _compare_state(
    competition: Competition, entries: Iterable[LogEntry]
) -> Iterator[Contradiction]:
    """Compare what the entries come to with what the database would tell today."""
    ledgers = dict(competition.rounds.values_list("number", "ledger__uid"))
    known = set(competition.ledgers.values_list("uid", flat=True))
    said = _fold(ledgers, ((each.index, each.kind, _opened(each)) for each in entries))
    current = (
        (leaf, leaf.kind, {**leaf.fields, **leaf.hidden}) for leaf in everything(competition)
    )
    found = _fold(ledgers, current)
    notes = LedgerNote.objects.filter(
        kind=NoteKind.WRITE_OFF, holdout__ledger__competition=competition
    )
    written_off = list(
        notes.values_list("holdout__ledger__uid", "number", "document__known_number")
    )
    for key in sorted(said.keys() | found.keys(), key=str):
        index, value = said.get(key, (None, None))
        leaf, now = found.get(key, (None, None))
        if value == now:
            continue
        if key[0] in _OF_ROUNDS and key[1] not in ledgers:
            continue  # of a round that was removed before it began
        if key[0] == "sealed" and key not in found:
            continue  # the same, or taken back before it answered
        is_entry = key[0] in ("answer", "noted")
        if is_entry and now is None and _is_written_off(written_off, key):
            continue
        told = list[Leaf]()
        if key[0] in _STATES or (key[0] == "noted" and key[1] not in known):
            told += [lost(index)] if index is not None else []
            told += [leaf] if leaf is not None else []
        differs = of_entry(index, ", ".join(map(str, key)), says(value, now))
        yield Contradiction(differs, tuple(told))


def _is_written_off(notes: Iterable[tuple[str, int, int]], key: Key) -> bool:
    """Return whether a note says that the ledger has lost this entry, with a database."""
    return any(key[1] == ledger and known < key[2] < number for ledger, number, known in notes)


def _opened(entry: LogEntry) -> dict[str, Any]:
    """Return an entry with the texts of its commitments. Raises Differs where one is gone."""
    fields = {name: value for name, value in entry.document.items() if name not in ("kind", "at")}
    if hidden := {"team": "name", "selected": "choice"}.get(entry.kind):
        opening = entry.opening or {}
        text = opening.get(hidden)
        salt = bytes.fromhex(opening.get("salt", ""))
        if text is not None and leaves.commit(salt, text) != fields[hidden]:
            raise of_entry(entry.index, hidden, f"Its opening is of another {hidden}.")
        fields[hidden] = text
    return fields


def _fold(
    ledgers: Mapping[int, str | None], told: Iterable[tuple[Source, str, dict[str, Any]]]
) -> dict[Key, tuple[Source, Any]]:
    """Return the last that was told of each thing, None where it is off, and what told it."""
    state = dict[Key, tuple[Source, Any]]()
    for source, kind, fields in told:
        if kind == "lost":
            state = {key: each for key, each in state.items() if each[0] != fields["entry"]}
            continue
        for key, value in _facts(kind, fields, ledgers):
            state[key] = source, None if value in _OFF else value
        if kind == "merged":  # so was what had been merged into it; both may come in any order
            into = state.get(("merged", fields["into"]), (source, [fields["into"]]))[1]
            for key in [key for key in state if key[0] == "merged"]:
                if key[1] == fields["team"] or state[key][1] == [fields["team"]]:
                    state[key] = source, into
    return state


def _facts(
    kind: str, fields: dict[str, Any], ledgers: Mapping[int, str | None]
) -> Iterator[tuple[Key, Any]]:
    """Yield what an entry tells: of what, and its values."""
    if kind in ("accepted", "rejected", "failed", "requeued", "gated", "top_up"):
        return  # compared with submissions, and with the ledger's notes
    if kind in ("released", "restored"):
        for each in fields["entries"]:
            about = [each["board"], each["hash"], fields["team"], fields["submission"]]
            yield ("answer", fields["ledger"], each["number"]), about
    elif kind in ("sealed", "revised"):
        yield ("sealed", fields["ledger"], fields["version"]), [fields["solution"]]
    elif kind == "selected":
        ledger = ledgers.get(fields["round"])
        yield ("selected", fields["team"], ledger), [fields["choice"]]
    elif kind == "merged":
        yield ("merged", fields["team"]), [fields["into"]]
    else:
        subject = [name for name in _SUBJECTS if name in fields]
        rest = [fields[name] for name in sorted(fields) if name not in subject]
        yield (kind, *(fields[name] for name in subject)), rest


# In this order a fact is named by what it is about.
_SUBJECTS: Final = ("round", "gate", "ledger", "version", "number", "team", "submission")
