"""Hold the database against the public log of a competition, which it can't change unseen.

The log's entries are those that were signed and copied; what they come to is what the database has;
every stored file is the one that was accepted. So whatever was changed past the product's own
functions is named: a file, a time, an owner, a team's name or mark, a limit, a final place.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, Final

from django.db import transaction

from leaderboard.ledger.sanctions import is_ranked
from leaderboard.log import journal
from leaderboard.log.entries import Leaf, agrees, utc
from leaderboard.log.leaves import OUTCOMES, everything
from leaderboard.models import (
    Competition,
    EventCount,
    LedgerNote,
    LogEntry,
    LogHead,
    NoteKind,
    Standing,
    Status,
    Submission,
)
from leaderboard.platform.files import FileDamaged, open_whole
from scoring.chain import canonical
from scoring.transparency import leaves, merkle, notes
from scoring.transparency.history import History
from scoring.verification.differences import Differs, shown

Named = tuple[str, int]  # a team and the number of its submission
_OF_ROUNDS: Final = ("deadline", "limits", "scoring")
_SUBMISSIONS: Final = (
    *("accepted", "rejected", "failed", "requeued"),
    *("released", "gated", "restored"),
)
_OFF: Final[tuple[list[Any], ...]] = ([False], [0, 0], [""])


def verify_log(competition: Competition, *, files: bool = True) -> int:
    """Check a competition's log, and that the database is what it tells; return its length.

    files: whether every stored file is read. Raises Differs at the first difference, JournalAway
    where the copy outside the database can't be read.
    """
    with transaction.atomic():
        count = EventCount.objects.filter(competition=competition).first()
        entries = list(LogEntry.objects.filter(competition=competition).order_by("index"))
    _check_tree(count or EventCount(), entries)
    _check_heads(competition, entries)
    _check_copy(competition, entries)
    if not entries:
        return 0  # it was opened by an earlier version, and no worker has looked since
    history = History.of(canonical(each.document) for each in entries)
    _check_submissions(competition, entries, history)
    _check_state(competition, entries)
    _check_places(competition)
    if files:
        _check_files(competition)
    return len(entries)


# --- The log itself -------------------------------------------------------------------------------


def _check_tree(count: EventCount, entries: Iterable[LogEntry]) -> None:
    frontier = merkle.Frontier()
    for entry in entries:
        if entry.index != frontier.size:
            raise _differs(frontier.size, "index", "The database does not have it any more.")
        digest = merkle.leaf_hash(canonical(entry.document))
        if digest.hex() != entry.hash:
            raise _differs(entry.index, "hash", "The database has another entry under its hash.")
        frontier = frontier.append(digest)
    if not agrees(count, frontier):
        message = f"The database counts {count.log_size} entries, and other hashes."
        raise Differs(None, "log", message)


def _check_heads(competition: Competition, entries: list[LogEntry]) -> None:
    """Check that every head that is kept was signed over these entries."""
    hashes = [bytes.fromhex(each.hash) for each in entries]
    node = merkle.nodes_of(hashes)
    for head in LogHead.objects.filter(competition=competition).order_by("size"):
        verifier = notes.Verifier.parse(head.verifier)
        checkpoint, _ = notes.open_checkpoint(head.note, verifier)
        if checkpoint.size > len(hashes) or checkpoint.root != merkle.root_at(
            checkpoint.size, node
        ):
            message = f"The head of {checkpoint.size} entries was signed over others."
            raise Differs(None, "head", message)


def _check_copy(competition: Competition, entries: list[LogEntry]) -> None:
    for line in journal.read(competition.uid):
        if line.index >= len(entries):
            message = "The copy outside the database has it, the database doesn't."
            raise _differs(line.index, "journal", message)
        if line.hash != entries[line.index].hash:
            raise _differs(line.index, "journal", "The copy outside the database has another one.")


# --- What it tells --------------------------------------------------------------------------------


def _check_submissions(
    competition: Competition, entries: Iterable[LogEntry], history: History
) -> None:
    """Compare each accepted file with its row: owner, number, round, moment, hash and outcome."""
    rows = Submission.objects.filter(team__competition=competition)
    known = {(each.team.uid, each.number): each for each in rows.select_related("team", "round")}
    told, outcomes = set[int](), dict[int, LogEntry]()
    for entry in entries:
        if entry.kind not in _SUBMISSIONS:
            continue
        named = entry.document["team"], entry.document["submission"]
        # Of a team that was merged, submissions to rounds that had ended stay where they were.
        row = known.get(named) or known.get(history.now(*named))
        if row is None:
            message = f"Submission {named[1]} of team {named[0]} is not in the database."
            raise _differs(entry.index, "submission", message)
        if entry.kind == "accepted":
            told.add(row.pk)
            _check_accepted(entry, row)
            continue
        if entry.kind == "restored":
            _check_facts(entry, row, moment="accepted")
            told.add(row.pk)
        outcomes[row.pk] = entry
    for named, row in known.items():
        if row.pk not in told:
            raise Differs(None, _name(named), "The log does not say that it was accepted.")
        _check_outcome(named, row, outcomes.get(row.pk))


def _check_outcome(named: Named, row: Submission, said: LogEntry | None) -> None:
    expected = "gated" if row.gate_answer_id else OUTCOMES.get(Status(row.status))
    kinds = (expected, "restored") if expected == "released" else (expected,)
    if expected is not None and (said is None or said.kind not in kinds):
        what = "nothing" if said is None else f"“{said.kind}” (entry {said.index})"
        message = f"The database has “{row.status}”, the log {what}."
        raise Differs(None, f"{_name(named)}, status", message)


def _check_facts(entry: LogEntry, row: Submission, *, moment: str) -> None:
    document = entry.document
    facts: dict[str, Any] = {
        moment: utc(row.created_at),
        "round": row.round.number,
        "practice": row.is_practice,
    }
    for name, value in facts.items():
        if document[name] != value:
            raise _differs(entry.index, name, _says(document[name], value))


def _check_accepted(entry: LogEntry, row: Submission) -> None:
    _check_facts(entry, row, moment="at")
    document = entry.document
    salt = bytes.fromhex((entry.opening or {}).get("salt", ""))
    if len(salt) != leaves.SALT_BYTES:
        raise _differs(entry.index, "file", "The salt of its commitment is gone.")
    if leaves.commit(salt, row.sha256) != document["file"]:
        message = f"The database has a submission of another file, {row.sha256[:16]}."
        raise _differs(entry.index, "file", message)


def _check_state(competition: Competition, entries: Iterable[LogEntry]) -> None:
    """Compare what the entries come to with what the database would tell today."""
    ledgers = dict(competition.rounds.values_list("number", "ledger__uid"))
    said = _fold(ledgers, map(_opened, entries))
    found = _fold(ledgers, ((-1, leaf.kind, _plain(leaf)) for leaf in everything(competition)))
    notes = LedgerNote.objects.filter(
        kind=NoteKind.WRITE_OFF, holdout__ledger__competition=competition
    )
    written_off = list(
        notes.values_list("holdout__ledger__uid", "number", "document__known_number")
    )
    lost = set(
        Submission.objects.filter(team__competition=competition, file="").values_list(
            "team__uid", "number"
        )
    )
    for key in sorted(said.keys() | found.keys(), key=str):
        index, value = said.get(key, (None, None))
        if key[0] in _OF_ROUNDS and key[1] not in ledgers:
            continue  # of a round that was removed before it began
        if key[0] == "sealed" and key not in found:
            continue  # the same, or taken back before it answered
        now = found.get(key, (None, None))[1]
        is_entry = key[0] in ("answer", "noted")
        if is_entry and now is None and _is_written_off(written_off, key):
            continue
        there = _still_there(value, key[1], lost) if key[0] == "selected" else None
        if there is not None and there == _still_there(now):
            continue
        if value != now:
            where = ", ".join(map(str, key))
            raise _differs(index, where, _says(value, now))


def _is_written_off(notes: Iterable[tuple[str, int, int]], key: tuple[Any, ...]) -> bool:
    """Return whether a note says that the ledger has lost this entry, with a database."""
    return any(key[1] == ledger and known < key[2] < number for ledger, number, known in notes)


def _still_there(
    choice: list[str | None] | None, team: str = "", lost: Collection[Named] = ()
) -> list[str] | None:
    """Return the numbers of a choice without those whose files a restore has lost.

    None where it can't be read any more.
    """
    numbers = (choice or [""])[0]
    if numbers is None:
        return None
    return [each for each in numbers.split() if (team, int(each)) not in lost]


def _opened(entry: LogEntry) -> tuple[int, str, dict[str, Any]]:
    """Return an entry with the texts of its commitments. Raises Differs where one is gone."""
    fields = {name: value for name, value in entry.document.items() if name not in ("kind", "at")}
    if hidden := {"team": "name", "selected": "choice"}.get(entry.kind):
        opening = entry.opening or {}
        text = opening.get(hidden)
        salt = bytes.fromhex(opening.get("salt", ""))
        if text is not None and leaves.commit(salt, text) != fields[hidden]:
            raise _differs(entry.index, hidden, f"Its opening is of another {hidden}.")
        fields[hidden] = text
    return entry.index, entry.kind, fields


def _plain(leaf: Leaf) -> dict[str, Any]:
    return {**leaf.fields, **leaf.hidden}


def _fold(
    ledgers: Mapping[int, str | None], told: Iterable[tuple[int, str, dict[str, Any]]]
) -> dict[tuple[Any, ...], tuple[int | None, Any]]:
    """Return the last that was told of each thing, with the index of the entry that told it."""
    state = dict[tuple[Any, ...], tuple[int | None, Any]]()
    for index, kind, fields in told:
        for key, value in _facts(kind, fields, ledgers):
            if value in _OFF:
                state.pop(key, None)
            else:
                state[key] = index, value
        if kind == "merged":  # so was what had been merged into it
            for key in [key for key in state if key[0] == "merged"]:
                if state[key][1] == [fields["team"]]:
                    state[key] = index, [fields["into"]]
    return state


def _facts(
    kind: str, fields: dict[str, Any], ledgers: Mapping[int, str | None]
) -> Iterator[tuple[tuple[Any, ...], Any]]:
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


# --- What follows from it -------------------------------------------------------------------------


def _check_places(competition: Competition) -> None:
    """Check what orders the boards: who was first on a score, and who is ranked at all."""
    standings = Standing.objects.filter(board__round__competition=competition)
    for row in standings.select_related("board", "team", "best__submission").order_by("pk"):
        where = f"standing of team {row.team.uid} on board {row.board.uid}"
        if row.best is not None and row.reached_at != row.best.submission.created_at:
            reached: datetime = row.best.submission.created_at
            raise Differs(None, f"{where}, reached_at", _says(utc(reached), utc(row.reached_at)))
        if row.board.round.revealed_at is None and row.is_ranked != is_ranked(row.team):
            raise Differs(None, f"{where}, is_ranked", _says(is_ranked(row.team), row.is_ranked))


def _check_files(competition: Competition) -> None:
    rows = Submission.objects.filter(team__competition=competition).exclude(file="")
    for row in rows.select_related("team").order_by("pk").iterator():
        where = f"{_name((row.team.uid, row.number))}, stored file"
        try:
            with open_whole(row.file, row.sha256):
                pass
        except FileNotFoundError:
            raise Differs(None, where, "It is gone.") from None
        except FileDamaged:
            raise Differs(None, where, "It is not what was accepted.") from None


def _name(named: Named) -> str:
    return f"submission {named[1]} of team {named[0]}"


def _says(logged: object, stored: object) -> str:
    return f"The log has {shown(logged)}, the database {shown(stored)}."


def _differs(index: int | None, name: str, message: str) -> Differs:
    return Differs(index, name, message, of="Log entry")
