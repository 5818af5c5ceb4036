"""All rows of a competition as plain documents, and back: its ledgers with all that they rest on.

Rows name each other by the keys that they have in the archive, and get others where they are
written again. What a ledger is known by, `uid`s, commitments and hashes, stays.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from django.core.exceptions import ValidationError
from django.db.models import (
    BinaryField,
    Field,
    FileField,
    ForeignKey,
    JSONField,
    Model,
    QuerySet,
)
from django.db.models.fields.related import ForeignObject

from leaderboard.models import (
    Announcement,
    Board,
    BoardState,
    Campaign,
    Competition,
    CompetitionFile,
    DayStart,
    Event,
    FinalScore,
    FinalTests,
    Gate,
    Holdout,
    Ledger,
    LedgerNote,
    LevelCount,
    LogEntry,
    Membership,
    Release,
    Round,
    Sanction,
    Selection,
    Standing,
    Submission,
    Team,
    TeamAccount,
    TeamState,
    User,
)

Row = dict[str, Any]
AnyField: TypeAlias = "Field[Any, Any]"

# In an order in which each names those before it, or its own kind, or a later one that `_LATER`
# fills in. How to find them from the competition.
TABLES: Final[Mapping[type[Model], str]] = {
    Competition: "pk",
    Ledger: "competition",
    Round: "competition",
    Board: "round__competition",
    BoardState: "ledger__competition",
    Holdout: "ledger__competition",
    CompetitionFile: "round__competition",
    Team: "competition",
    Membership: "competition",
    Campaign: "team__competition",
    Submission: "team__competition",
    Gate: "round__competition",
    Sanction: "team__competition",
    Release: "team__competition",
    LedgerNote: "holdout__ledger__competition",
    TeamState: "team__competition",
    TeamAccount: "team__competition",
    Standing: "team__competition",
    LevelCount: "board__round__competition",
    DayStart: "board__round__competition",
    Selection: "team__competition",
    FinalScore: "team__competition",
    FinalTests: "board__round__competition",
    Event: "competition",
    LogEntry: "competition",
    Announcement: "competition",
}
# Sealed to the keys of this installation, or no one's business at another.
_LEFT_OUT: Final = {
    *((Holdout, "sealed_solution"), (Holdout, "sealed_secret")),
    *((Submission, "token_grant"), (Campaign, "created_by")),
}
# Permanent ids and commitments, which also name files outside the database.
_NAMES: Final = {"uid", "solution_commitment", "secret_commitment"}
_NAME: Final = re.compile("[0-9a-f]{1,64}")
_BATCH: Final = 500


class ArchiveDamaged(Exception):
    """Rows that can't be written again. The text names table, line and field."""


def name_of(model: type[Model]) -> str:
    """Return the file of a table."""
    return f"tables/{model._meta.model_name}.jsonl"


def rows_of(competition: Competition, model: type[Model]) -> QuerySet[Any]:
    """Return a table's rows of a competition, those that others name first."""
    rows = model._default_manager.filter(**{TABLES[model]: competition.pk})
    return rows.order_by("pk")


def check_name(text: object, where: str) -> None:
    """Raise ArchiveDamaged unless this is a permanent id or a commitment."""
    if not isinstance(text, str) or not _NAME.fullmatch(text):
        raise ArchiveDamaged(f"{where}: an id of hexadecimal digits was expected.")


def files_of(row: Model) -> Iterator[tuple[str, str]]:
    """Yield the stored files that a row names: the field, and the name."""
    for each in _fields(type(row)):
        if _is_stored(each) and (value := str(getattr(row, each.attname) or "")):
            yield each.attname, value


def document(row: Model) -> Row:
    """Return a row as it is written down; the files that it names are the archive's business."""
    found: Row = {"id": row.pk}
    for each in _fields(type(row)):
        value = getattr(row, each.attname)
        if isinstance(each, FileField):
            value = str(value or "")
        elif hasattr(value, "isoformat"):
            value = value.isoformat()
        found[each.attname] = value
    return found


@dataclass
class Loading:
    """Rows of an archive on their way into the database, in one transaction of the caller's.

    people: the accounts that stand for those of the archive. store: takes table, row and field, and
    the name in the archive, and returns the name under which the file is stored here.
    """

    people: Mapping[int, User]
    store: Callable[[object, str], str]
    keys: dict[type[Model], dict[int, int]] = field(default_factory=dict)
    later: dict[type[Model], list[tuple[Model, dict[str, Any]]]] = field(default_factory=dict)

    def load(self, model: type[Model], lines: Iterable[bytes], **changed: Any) -> list[Model]:
        """Write a table's rows, with `changed` fields. Raises ArchiveDamaged."""
        known = self.keys.setdefault(model, {})
        made = list[Model]()
        for number, line in enumerate(lines, 1):
            where = f"{name_of(model)}, line {number}"
            row = parse_row(line, where)
            if type(row.get("id")) is not int:
                raise ArchiveDamaged(f"{where}: an id was expected.")
            made.append(self._make(model, row | changed, where))
            known[row["id"]] = len(made) - 1
        created: list[Any] = []
        for start in range(0, len(made), _BATCH):
            created += model._default_manager.bulk_create(made[start : start + _BATCH])
        for key, index in known.items():
            known[key] = created[index].pk
        return created

    def finish(self) -> None:
        """Fill in what rows name of their own kind or of a later one, and moments of creation."""
        for model, rows in self.later.items():
            names = list(rows[0][1])
            for row, values in rows:
                for name, value in values.items():
                    named = model._meta.get_field(name.removesuffix("_id"))
                    refers = isinstance(named, ForeignKey) and value is not None
                    where = f"{name_of(model)}: {name}"
                    setattr(row, name, self._key(named, value, where) if refers else value)
            fields = [name.removesuffix("_id") for name in names]
            objects = [row for row, _ in rows]
            model._default_manager.bulk_update(objects, fields, batch_size=100)

    def _make(self, model: type[Model], row: Row, where: str) -> Model:
        fields = {each.attname: each for each in _fields(model)}
        if unknown := row.keys() - {*fields, "id"}:
            what = f"“{min(unknown)}” is not known here: the archive may be of a newer version."
            raise ArchiveDamaged(f"{where}: {what}")
        made, later = model(), dict[str, Any]()
        for name, each in fields.items():
            if name not in row:
                continue
            if self._comes_later(model, each):
                later[name] = row[name]
            elif isinstance(each, ForeignObject):
                value = row[name]
                setattr(made, name, value if value is None else self._key(each, value, where))
            else:
                value = self._value(each, row[name], f"{where}, {name}")
                setattr(made, name, value)
                if getattr(each, "auto_now_add", False):
                    later[name] = value
        if later:
            self.later.setdefault(model, []).append((made, later))
        return made

    def _comes_later(self, model: type[Model], each: AnyField) -> bool:
        related = each.related_model if isinstance(each, ForeignKey) else None
        return (
            related is not None
            and related is not User
            and (related is model or related not in self.keys)
        )

    def _key(self, each: Any, value: Any, where: str) -> Any:
        if each.related_model is User:
            person = self.people.get(value)
            if person is None and not each.null:
                raise ArchiveDamaged(f"{where}: {each.name} names nobody of the archive.")
            return person.pk if person else None
        try:
            return self.keys[each.related_model][value]
        except (KeyError, TypeError):
            raise ArchiveDamaged(f"{where}: {each.name} names no row of the archive.") from None

    def _value(self, each: AnyField, value: Any, where: str) -> Any:
        if _is_stored(each):
            return self.store(value, where) if value else ""
        if isinstance(each, JSONField):
            usual = each.get_default()
            if usual is not None and not isinstance(value, type(usual)):
                raise ArchiveDamaged(f"{where}: this is no value of it.")
            return value
        try:
            parsed = each.to_python(value)
        except (ValidationError, TypeError, ValueError):
            raise ArchiveDamaged(f"{where}: this is no value of it.") from None
        _check_value(each, parsed, where)
        return parsed


def _check_value(each: AnyField, value: Any, where: str) -> None:
    if value is None and not each.null:
        raise ArchiveDamaged(f"{where}: a value was expected.")
    if isinstance(value, str) and len(value) > (each.max_length or len(value)):
        raise ArchiveDamaged(f"{where}: it has at most {each.max_length} characters.")
    if each.choices and value not in (None, "", *dict(each.flatchoices)):
        raise ArchiveDamaged(f"{where}: “{value}” is not known here.")
    if each.name in _NAMES:
        check_name(value, where)


def parse_row(line: bytes, where: str) -> Row:
    """Return a line of a table. Raises ArchiveDamaged where it is no JSON object."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        row = None
    if not isinstance(row, dict):
        raise ArchiveDamaged(f"{where}: a JSON object was expected.")
    return row


def _fields(model: type[Model]) -> list[AnyField]:
    return [
        each
        for each in model._meta.concrete_fields
        if not each.primary_key
        and (model, each.name) not in _LEFT_OUT
        and not isinstance(each, BinaryField)
    ]


def _is_stored(each: AnyField) -> bool:
    """Return whether a field names a stored file; a submission's is a plain text."""
    return isinstance(each, FileField) or (each.model is Submission and each.name == "file")
