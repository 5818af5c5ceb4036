"""The class list: people with names, addresses and aliases from a CSV file, all or nothing."""

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from django.db import transaction

from leaderboard.access import Right, check_right
from leaderboard.errors import Refused
from leaderboard.models import Competition, Invitee, User
from leaderboard.organize.invitations import (
    add_invitees,
    ask_for_mails,
    is_address,
    listed_addresses,
    lock,
    record,
)
from leaderboard.participate.membership import clean_team_name

MOST_ROWS: Final = 10_000
MOST_BYTES: Final = 2_000_000
SHOWN_PROBLEMS: Final = 100
NAME_LENGTH: Final = 150
# How the columns may be called, in any case.
_COLUMNS: Final = {
    "name": ("name", "full name", "student"),
    "mail": ("mail", "email", "e-mail", "mail address", "email address"),
    "alias": ("alias", "pseudonym", "nickname"),
}
_DELIMITERS: Final = (",", ";", "\t")


@dataclass(frozen=True)
class Person:
    """A row of the file."""

    line: int
    name: str
    mail: str
    alias: str


@dataclass(frozen=True)
class ListProblem:
    """What is wrong in a line, or with the file where `line` is 0."""

    line: int
    message: str


@dataclass(frozen=True)
class ClassList:
    """What a file says: who would be added, and all that keeps it from being applied.

    `known` people are on the list already, just as the file has them; `ignored` columns are not
    read. Of `problems` some are kept, `problem_count` counts all.
    """

    new: tuple[Person, ...] = ()
    known: int = 0
    ignored: tuple[str, ...] = ()
    problems: tuple[ListProblem, ...] = ()
    problem_count: int = 0


@dataclass
class _Problems:
    shown: list[ListProblem] = field(default_factory=list)
    count: int = 0

    def add(self, line: int, message: str) -> None:
        self.count += 1
        if len(self.shown) < SHOWN_PROBLEMS:
            self.shown.append(ListProblem(line, message))


def check_class_list(competition: Competition, content: bytes, *, by: User | None) -> ClassList:
    """Return what a file would add to the list, and every problem with its line; change nothing."""
    check_right(by, competition, Right.JUDGE)
    problems = _Problems()
    people, ignored = _read(content, problems)
    _find_repeats(people, problems)
    new, known = _compare(competition, people, problems)
    problems.shown.sort(key=lambda each: each.line)
    return ClassList(tuple(new), known, ignored, tuple(problems.shown), problems.count)


def apply_class_list(
    competition: Competition, content: bytes, *, by: User | None, send: bool = True
) -> ClassList:
    """Add everybody in the file to the list, or nobody; return what was added.

    send: whether each gets a mail with a personal link. Raises Refused where anything is wrong:
    `check_class_list` has it all.
    """
    with transaction.atomic():
        locked = lock(competition, by)
        found = check_class_list(locked, content, by=by)
        if found.problems:
            first = found.problems[0]
            raise Refused(
                "class_list_wrong",
                count=found.problem_count,
                first=f"line {first.line}: {first.message}" if first.line else first.message,
            )
        rows = [
            Invitee(competition=locked, email=each.mail, name=each.name, alias=each.alias)
            for each in found.new
        ]
        if rows:
            add_invitees(locked, rows)
            if send:
                ask_for_mails(locked, rows)
            record(locked, by, people=len(rows))
    return found


def _read(content: bytes, problems: _Problems) -> tuple[list[Person], tuple[str, ...]]:
    """Return the people of a file, and the columns that are not read."""
    text = _decode(content, problems)
    if text is None:
        return [], ()
    lines = text.splitlines()
    header = next((line for line in lines if line.strip()), "")
    delimiter = max(_DELIMITERS, key=header.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        columns = _find_columns(next((row for row in reader if any(row)), []), problems)
        if columns is None:
            return [], ()
        places, width, ignored = columns
        return list(_people(reader, places, width, problems)), ignored
    except csv.Error as error:
        problems.add(reader.line_num, f"The line can't be read: {error}.")
        return [], ()


def _decode(content: bytes, problems: _Problems) -> str | None:
    if len(content) > MOST_BYTES:
        problems.add(0, f"The file is larger than {MOST_BYTES // 1_000_000} MB.")
        return None
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        problems.add(
            line, "This is not UTF-8. In a spreadsheet, choose “CSV UTF-8” when you save the file."
        )
        return None
    if "\0" in text:
        problems.add(0, "The file holds NUL characters. Save it as CSV in UTF-8.")
        return None
    if not text.strip():
        problems.add(0, "The file is empty.")
        return None
    return text


def _find_columns(
    header: list[str], problems: _Problems
) -> tuple[dict[str, int], int, tuple[str, ...]] | None:
    """Return where the columns stand, how many there are, and the names of the others."""
    names = [each.strip().lower() for each in header]
    places = dict[str, int]()
    for column, spellings in _COLUMNS.items():
        found = [place for place, name in enumerate(names) if name in spellings]
        if len(found) > 1:
            problems.add(1, f"There are {len(found)} columns for {column}.")
        if found:
            places[column] = found[0]
    missing = [column for column in ("name", "mail") if column not in places]
    if missing:
        problems.add(
            1,
            f"The header lacks {' and '.join(missing)}. Expected: name, mail, alias (alias may be "
            "left out).",
        )
        return None
    ignored = [header[place] for place in range(len(header)) if place not in places.values()]
    return places, len(header), tuple(ignored)


def _people(
    rows: Iterator[list[str]], places: dict[str, int], width: int, problems: _Problems
) -> Iterator[Person]:
    count, line = 0, rows.line_num + 1  # type: ignore[attr-defined]  # a csv.reader
    for row in rows:
        start, line = line, rows.line_num + 1  # type: ignore[attr-defined]  # a csv.reader
        if not any(cell.strip() for cell in row):
            continue
        count += 1
        if count > MOST_ROWS:
            problems.add(start, f"There are more than {MOST_ROWS:,} people.")
            return
        if len(row) != width:
            problems.add(start, f"It has {len(row)} cells, the header {width}.")
            continue
        cells = {name: " ".join(row[place].split()) for name, place in places.items()}
        person = Person(start, cells["name"], cells["mail"].lower(), cells.get("alias", ""))
        _check(person, problems)
        yield person


def _check(person: Person, problems: _Problems) -> None:
    if not person.name:
        problems.add(person.line, "The name is missing.")
    if len(person.name) > NAME_LENGTH:
        problems.add(person.line, f"The name is longer than {NAME_LENGTH} characters.")
    if not person.mail:
        problems.add(person.line, "The mail address is missing.")
    elif not is_address(person.mail):
        problems.add(person.line, f"“{person.mail[:80]}” is no mail address.")
    if person.alias:
        try:
            clean_team_name(person.alias)
        except Refused as refused:
            problems.add(person.line, f"The alias can't be used: {refused.detail}")


def _find_repeats(people: list[Person], problems: _Problems) -> None:
    """Report addresses and aliases that an earlier line has."""
    mails, aliases = dict[str, int](), dict[str, int]()
    for each in people:
        for what, key, seen in (
            ("mail address", each.mail, mails),
            ("alias", each.alias.lower(), aliases),
        ):
            if key and seen.setdefault(key, each.line) != each.line:
                problems.add(each.line, f"Line {seen[key]} has the same {what}.")


def _compare(
    competition: Competition, people: list[Person], problems: _Problems
) -> tuple[list[Person], int]:
    """Return who is new, and how many are known; report contradictions to list and teams."""
    listed = listed_addresses(competition, [each.mail for each in people])
    owners = {
        alias.lower(): mail.lower()
        for alias, mail in competition.invitees.exclude(alias="").values_list("alias", "email")
    }
    named = {name.lower() for name in competition.teams.values_list("name", flat=True)}
    new, known = list[Person](), 0
    for each in people:
        row = listed.get(each.mail)
        if row is not None and (row.name, row.alias) == (each.name, each.alias):
            known += 1
            continue
        if row is not None:
            problems.add(
                each.line, "The address is on the list already, with another name or alias."
            )
        elif owners.get(each.alias.lower()) not in (None, each.mail):
            problems.add(each.line, "Somebody else on the list has this alias.")
        elif each.alias.lower() in named:
            problems.add(each.line, "A team has this name already: choose another alias.")
        else:
            new.append(each)
    return new, known
