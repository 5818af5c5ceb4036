"""The ledger as a document: JSON Lines that can be kept, compared and verified anywhere.

It has a segment for each version of the holdout: a line with a header, then a line for each entry,
the oldest first. Numbers and hashes continue from one segment to the next. `notes` defines the
entries that are no answers.
"""

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from typing import IO, Any, Final

from scoring.chain import canonical, document_hash
from scoring.verification import notes
from scoring.verification.differences import Differs, shown

FORMAT: Final = "holdfast ledger 1"
_LONGEST_LINE: Final = 1 << 20
_MOST_DIGITS: Final = 20
# To the second, with its offset.
_MOMENT: Final = re.compile(
    r"[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"
    r"T([01][0-9]|2[0-3])(:[0-5][0-9]){2}[+-]([01][0-9]|2[0-3]):[0-5][0-9]"
)

Document = Mapping[str, Any]
# The same in all versions of a holdout: one part of beta is shared among their answers.
_KEPT: Final = (
    *("metric", "metric_parameters", "mechanism", "mechanism_parameters"),
    *("schema", "row_ids_digest"),
)


@dataclass(frozen=True)
class Header:
    """The first line of a segment.

    scoring: everything that fixes what answers mean: facts of the `holdout`, with the commitments
        to solution and secret, and of each of the `boards`, by its id.
    parameters_hash: the hash of `scoring`.
    first, previous_hash: the number of the segment's first entry and the hash that it names.
    entries, head_hash: how many numbers follow, and the hash of the last, or `previous_hash`.
    """

    competition: str
    version: int
    scoring: Document
    parameters_hash: str
    first: int
    previous_hash: str
    entries: int
    head_hash: str

    @property
    def holdout(self) -> Document:
        """Return the facts of this version's rows, with the commitments."""
        facts: Document = self.scoring["holdout"]
        return facts

    @property
    def boards(self) -> dict[str, Document]:
        """Return everything that fixes what a board's answers mean, by the board's id."""
        boards = self.scoring["boards"].items()
        shared = {**self.holdout, **({"ledger": self.terms} if self.terms else {})}
        return {board: {**shared, **facts, "board": board} for board, facts in boards}

    @property
    def terms(self) -> Document:
        """Return the laws and limits that the ledger began with; nothing of one without laws."""
        terms: Document = self.scoring.get("ledger", {})
        return terms

    def hash_for(self, entry: Document) -> str:
        """Return the hash of everything that fixes an entry's meaning, "" for an unknown board."""
        if notes.is_note(entry):
            return document_hash(self.holdout)
        facts = self.boards.get(str(entry["board"]))
        return "" if facts is None else document_hash(facts)

    def line(self) -> bytes:
        return _line({"format": FORMAT, **asdict(self)})

    @classmethod
    def of(cls, document: Document) -> "Header":
        """Return the header of a parsed line. Raises Differs."""
        names = {field.name for field in fields(cls)}
        if document.get("format") != FORMAT:
            raise Differs(None, "format", f"This ledger is not in the format {FORMAT!r}.")
        if document.keys() - {"format"} != names:
            raise Differs(None, "header", "A header has exactly the known fields.")
        header = cls(**{name: document[name] for name in names})
        for name in names:
            kind = int if name in ("version", "first", "entries") else str
            if type(document[name]) is not (dict if name == "scoring" else kind):
                raise Differs(None, name, f"{shown(document[name])} can't be the header's {name}.")
        boards = header.scoring.get("boards")
        each_board = boards.values() if isinstance(boards, dict) else [boards]
        facts = (header.scoring.get("holdout"), header.terms, *each_board)
        known = header.scoring.keys() - {"ledger"} == {"holdout", "boards"}
        if not known or not all(isinstance(each, dict) for each in facts):
            raise Differs(None, "scoring", "It holds the facts of the holdout and of each board.")
        return header


def _whole(text: str) -> int:
    """Parse an integer that is no larger than any that is published."""
    if len(text) > _MOST_DIGITS:
        raise ValueError("too large")
    return int(text)


def _number(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("not finite")
    return number


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object that names nothing twice: readers would differ in which one counts."""
    document = dict(pairs)
    if len(document) != len(pairs):
        raise ValueError("a name twice")
    return document


_STRICT: Final[dict[str, Any]] = {
    "parse_int": _whole,
    "parse_float": _number,
    "parse_constant": _number,
    "object_pairs_hook": _once,
}


def entry_line(entry: Document, digest: str) -> bytes:
    """Return an entry as it is published; `digest` is its hash."""
    return _line({**entry, "hash": digest})


def read_lines(lines: Iterable[bytes]) -> Iterator[Header | dict[str, Any]]:
    """Yield headers and entries, in order, checking only their form. Raises Differs."""
    for place, line in enumerate(lines, start=1):
        try:
            document = json.loads(line, **_STRICT) if len(line) <= _LONGEST_LINE else None
        except (ValueError, RecursionError):
            document = None
        if not isinstance(document, dict):
            raise Differs(None, f"line {place}", "It is not a JSON object of one line.")
        yield Header.of(document) if "format" in document or place == 1 else document


def check_chain(lines: Iterable[bytes]) -> Iterator[Header | dict[str, Any]]:
    """Yield headers and entries, checking the chain and the length of each segment.

    Raises Differs at the first entry that is not chained to the one before it.
    """
    header: Header | None = None
    number, head = 0, ""
    for item in read_lines(lines):
        if isinstance(item, Header):
            _check_end(header, number, head)
            _check_header(item, header, number, head)
            header = item
        else:
            assert header is not None  # noqa: S101  (the first line is a header)
            number = _check_link(item, number, head, header)
            if item["parameters_hash"] != header.hash_for(item):
                raise Differs(
                    number,
                    "parameters_hash",
                    "The entry was made under other parameters than its header says.",
                )
            head = item["hash"]
        yield item
    if header is None:
        raise Differs(None, "header", "The ledger has no header.")
    _check_end(header, number, head)


def check_since(earlier: Iterable[bytes], now: Iterable[bytes]) -> int:
    """Check that an earlier copy is the beginning of the ledger now; return its number of entries.

    Both are checked as chains. Raises Differs at the first entry that was changed or left out.
    """
    entries = 0
    today = check_chain(now)
    for kept in check_chain(earlier):
        found = next(today, None)
        if isinstance(kept, Header):
            _same_facts(kept, found)
            continue
        entries += 1
        if found is None or isinstance(found, Header):
            raise Differs(kept["number"], "number", "The earlier copy has it, the ledger doesn't.")
        for name in kept:
            # An answer may have become a note, which has other fields.
            if name not in found or found[name] != kept[name]:
                raise Differs(
                    kept["number"],
                    name,
                    f"It is {shown(found.get(name))} and was {shown(kept[name])} in the earlier "
                    "copy.",
                )
    for _ in today:
        pass
    return entries


# What the fields of an answer may be, besides those of the chain itself.
TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    **dict.fromkeys(("submission", "steps", "asked", "answered", "firings"), (int,)),
    **dict.fromkeys(("level", "reference_level", "budget_left", "share_left"), (int, type(None))),
    **dict.fromkeys(("board", "team", "kind", "bound", "question"), (str,)),
    **dict.fromkeys(("predictions_tag", "created_at"), (str,)),
    **dict.fromkeys(("width", "tolerance", "log_alphabets"), (float, int)),
    **dict.fromkeys(("certificate", "low", "high"), (float, int, type(None))),
    "repeat": (bool,),
}
LAW_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "length": (int, type(None)),
    "public_loss": (str,),
    "baseline": (bool,),
}
ENTRY_FIELDS: Final = frozenset({*TYPES, "number", "parameters_hash", "previous_hash", "hash"})


def _check_link(entry: dict[str, Any], before: int, head: str, header: Header) -> int:
    """Check an entry against the number and hash of the one before it; return its own number."""
    known = notes.FIELDS[entry["kind"]] if notes.is_note(entry) else ENTRY_FIELDS
    if header.terms and not notes.is_note(entry):
        known = known | LAW_TYPES.keys()
    if wrong := sorted(entry.keys() ^ known):
        raise Differs(before + 1, "fields", f"Missing or unknown: {', '.join(wrong)[:200]}.")
    number, previous = notes.place(before, head, entry)
    if entry["number"] != number or type(entry["number"]) is not int:
        raise Differs(number, "number", f"Here stands the entry {shown(entry['number'])}.")
    if entry["previous_hash"] != previous:
        raise Differs(number, "previous_hash", "It does not name the hash of the entry before it.")
    moment = entry["created_at"]
    if not isinstance(moment, str) or not _MOMENT.fullmatch(moment):
        raise Differs(number, "created_at", f"{shown(moment)} is no moment.")
    body = {name: value for name, value in entry.items() if name != "hash"}
    try:
        digest = document_hash(body)
    except ValueError:
        raise Differs(number, "hash", "It holds a number that is not finite.") from None
    if digest != entry["hash"]:
        raise Differs(number, "hash", "The entry's own hash is another: it was changed.")
    return number


def _check_header(header: Header, before: Header | None, number: int, head: str) -> None:
    if document_hash(header.scoring) != header.parameters_hash:
        raise Differs(None, "parameters_hash", "It is not the hash of the header's facts.")
    if (header.first, header.previous_hash) != (number + 1, head):
        raise Differs(
            number + 1, "header", "The segment does not continue where the one before it ends."
        )
    if before is None:
        return
    for holds, name, message in (
        (header.competition == before.competition, "competition", "It is of another competition."),
        (header.terms == before.terms, "ledger", "A revision changes no laws and no limits."),
        (header.version > before.version, "version", "The versions of the holdout do not rise."),
    ):
        if not holds:
            raise Differs(None, name, message)
    for board, facts in before.boards.items():
        now = header.boards.get(board, {})
        if changed := [name for name in _KEPT if now.get(name) != facts.get(name)]:
            raise Differs(None, changed[0], "A revision changes the solution, not what is asked.")


def _check_end(header: Header | None, number: int, head: str) -> None:
    if header is None:
        return
    last = header.first - 1 + header.entries
    if number != last:
        raise Differs(number + 1, "number", f"The ledger ends here; its header promises {last}.")
    if head != header.head_hash:
        raise Differs(None, "head_hash", "The last entry is not the head that the header names.")


def _same_facts(kept: Header, found: Header | dict[str, Any] | None) -> None:
    names = ("competition", "version", "first", "previous_hash")
    if (
        not isinstance(found, Header)
        or any(getattr(kept, name) != getattr(found, name) for name in names)
        or kept.terms != found.terms
        # A later round may bring boards; those that were there stay as they were.
        or kept.boards != {board: found.boards.get(board) for board in kept.boards}
    ):
        raise Differs(kept.first, "header", "The earlier copy has another header here.")


def bounded_lines(file: IO[bytes]) -> Iterator[bytes]:
    """Yield the lines of an untrusted file, cutting those that are too long."""
    while line := file.readline(_LONGEST_LINE + 1):
        yield line


def _line(document: Document) -> bytes:
    return canonical(document) + b"\n"
