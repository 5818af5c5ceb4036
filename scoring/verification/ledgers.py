"""The ledger as a document: JSON Lines that can be kept, compared and verified anywhere.

One segment for each version of the holdout: a line with a header, then a line for each entry, the
oldest first. Numbers and hashes go on from one segment to the next. Entries that are no answers are
those of `notes`.
"""

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from typing import IO, Any, Final

from scoring.chain import canonical, document_hash
from scoring.verification import notes
from scoring.verification.differences import Differs, shown

FORMAT: Final = "holdfast ledger 1"
_LONGEST_LINE: Final = 1 << 20
_MOST_DIGITS: Final = 20

Document = Mapping[str, Any]
# What all versions of a holdout have in common: one part of beta is shared among their answers.
_KEPT: Final = (
    *("metric", "metric_parameters", "mechanism", "mechanism_parameters"),
    *("schema", "row_ids_digest"),
)

# What a header says whenever it is published; entries are added.
_FIXED: Final = ("competition", "version", "parameters_hash", "first", "previous_hash")


@dataclass(frozen=True)
class Header:
    """The first line of a segment.

    scoring: all that fixes what an answer means, `parameters_hash` its hash; the commitments to
    solution and secret are in it. first: the number of the segment's first entry, previous_hash the
    hash that it names. entries: how many numbers follow. head_hash: of the last one, or
    `previous_hash`.
    """

    competition: str
    version: int
    scoring: Document
    parameters_hash: str
    first: int
    previous_hash: str
    entries: int
    head_hash: str

    def line(self) -> bytes:
        """Return the header as it is published."""
        return _line({"format": FORMAT, **asdict(self)})

    @classmethod
    def of(cls, document: Document) -> "Header":
        """Read the header of a parsed line. Raises Differs."""
        names = {field.name for field in fields(cls)}
        if document.get("format") != FORMAT:
            raise Differs(None, "format", f"This ledger is not in the format {FORMAT!r}.")
        if document.keys() - {"format"} != names:
            raise Differs(None, "header", "A header has exactly the known fields.")
        header = cls(**{name: document[name] for name in names})
        for name, kind in _KINDS.items():
            if type(document[name]) is not kind:
                raise Differs(None, name, f"{shown(document[name])} can't be the header's {name}.")
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


_STRICT: Final[dict[str, Any]] = {
    "parse_int": _whole,
    "parse_float": _number,
    "parse_constant": _number,
}
_KINDS: Final[Mapping[str, type]] = {
    "competition": str,
    "version": int,
    "scoring": dict,
    "parameters_hash": str,
    "first": int,
    "previous_hash": str,
    "entries": int,
    "head_hash": str,
}


def entry_line(entry: Document, digest: str) -> bytes:
    """Return an entry as it is published; `digest` is its hash."""
    return _line({**entry, "hash": digest})


def read_lines(lines: Iterable[bytes]) -> Iterator[Header | dict[str, Any]]:
    """Yield headers and entries, in order; nothing but their form is checked. Raises Differs."""
    for place, line in enumerate(lines, start=1):
        try:
            document = json.loads(line, **_STRICT) if len(line) <= _LONGEST_LINE else None
        except (ValueError, RecursionError):
            document = None
        if not isinstance(document, dict):
            raise Differs(None, f"line {place}", "It is not a JSON object of one line.")
        yield Header.of(document) if "format" in document or place == 1 else document


def check_chain(lines: Iterable[bytes]) -> Iterator[Header | dict[str, Any]]:
    """Yield the same, each entry chained to the one before it, each segment as long as it says.

    Raises Differs at the first that is not.
    """
    header: Header | None = None
    number, head = 0, ""
    for item in read_lines(lines):
        if isinstance(item, Header):
            _check_end(header, number, head)
            _check_header(item, header, number, head)
            header = item
        else:
            number = _check_link(item, number, head)
            assert header is not None  # noqa: S101  (the first line is a header)
            if item["parameters_hash"] != header.parameters_hash:
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
    """Check that an earlier copy is the beginning of the ledger as it is now; count its entries.

    Both are checked as chains. Raises Differs at the first entry that was changed or left out.
    """
    entries = 0
    today = check_chain(now)
    for kept in check_chain(earlier):
        found = next(today, None)
        if isinstance(kept, Header):
            if not isinstance(found, Header) or any(
                getattr(kept, name) != getattr(found, name) for name in _FIXED
            ):
                raise Differs(kept.first, "header", "The earlier copy has another header here.")
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


ENTRY_FIELDS: Final = frozenset(
    {
        *("number", "board", "team", "submission", "kind", "level", "reference_level", "steps"),
        *("width", "tolerance", "certificate", "asked", "answered", "log_alphabets", "firings"),
        *("budget_left", "share_left", "predictions_tag", "question", "repeat"),
        *("parameters_hash", "previous_hash", "created_at", "hash"),
    }
)


def _check_link(entry: dict[str, Any], before: int, head: str) -> int:
    """Check an entry against the number and hash of the one before it; return its own number."""
    known = notes.FIELDS[entry["kind"]] if notes.is_note(entry) else ENTRY_FIELDS
    if entry.keys() != known:
        wrong = sorted(entry.keys() ^ known)
        raise Differs(before + 1, "fields", f"Missing or unknown: {', '.join(wrong)[:200]}.")
    number, previous = notes.place(before, head, entry)
    if entry["number"] != number or type(entry["number"]) is not int:
        raise Differs(number, "number", f"Here stands the entry {shown(entry['number'])}.")
    if entry["previous_hash"] != previous:
        raise Differs(number, "previous_hash", "It does not name the hash of the entry before it.")
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
            number + 1, "header", "The segment does not go on from where the one before it ends."
        )
    if before is None:
        return
    if header.competition != before.competition:
        raise Differs(None, "competition", "The segments are of two competitions.")
    if header.version <= before.version:
        raise Differs(None, "version", "The versions of the holdout do not rise.")
    for name in _KEPT:
        if header.scoring.get(name) != before.scoring.get(name):
            raise Differs(None, name, "A correction changes the solution, not what is asked.")


def _check_end(header: Header | None, number: int, head: str) -> None:
    if header is None:
        return
    last = header.first - 1 + header.entries
    if number != last:
        raise Differs(number + 1, "number", f"The ledger ends here; its header promises {last}.")
    if head != header.head_hash:
        raise Differs(None, "head_hash", "The last entry is not the head that the header names.")


def bounded_lines(file: IO[bytes]) -> Iterator[bytes]:
    """Yield the lines of a file from anybody; of one that is too long, only enough to show that it
    is.
    """
    while line := file.readline(_LONGEST_LINE + 1):
        yield line


def _line(document: Document) -> bytes:
    return canonical(document) + b"\n"
