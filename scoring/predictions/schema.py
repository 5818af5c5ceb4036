"""What a prediction file has to contain: the id column and the columns to predict."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from scoring.errors import ParameterError

Kind = Literal["label", "probability", "number"]
KINDS: tuple[Kind, ...] = get_args(Kind)

# Columns of a solution file that say which split a row is in (Kaggle's name, and a common one).
USAGE_NAMES = ("usage", "split")

MAX_NAME_LENGTH = 200
MAX_CLASSES = 10_000


@dataclass(frozen=True)
class Column:
    """A column to predict.

    kind: "label" (one of `classes`, compared as text, exactly), "probability" (from 0 to 1) or
        "number" (any finite one). In the solution a probability column holds what happened: 0 or 1.
    classes: the closed set of labels, in the order of their codes; only for labels.
    """

    name: str
    kind: Kind
    classes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _check_name(self.name)
        if self.kind not in KINDS:
            raise _error(f"`{self.name}`: a column is one of {', '.join(KINDS)}.")
        if self.kind == "label":
            _check_classes(self.name, self.classes)
        elif self.classes:
            raise _error(f"`{self.name}`: only label columns have classes.")

    @property
    def expected(self) -> str:
        """What a cell has to be, as a phrase."""
        if self.kind == "label":
            return f"one of {self._classes_in_short()}"
        return "a number from 0 to 1" if self.kind == "probability" else "a finite number"

    def _classes_in_short(self) -> str:
        first, last = self.classes[0], self.classes[-1]
        if len(self.classes) > 2 and _is_run_of_integers(self.classes):
            return f"{first}-{last}"
        if len(self.classes) <= 12:
            return ", ".join(self.classes)
        return f"{len(self.classes)} classes ({', '.join(self.classes[:5])}, …, {last})"

    def to_json(self) -> dict[str, object]:
        data: dict[str, object] = {"name": self.name, "kind": self.kind}
        if self.classes:
            data["classes"] = list(self.classes)
        return data


@dataclass(frozen=True)
class Schema:
    """The columns of a competition's files. Raises ParameterError where they make no sense."""

    id_column: str
    columns: tuple[Column, ...] = field(default_factory=tuple)

    def __post_init__(self) -> None:
        _check_name(self.id_column)
        if not self.columns:
            raise _error("A prediction file needs at least one column besides the id.")
        folded = [name.casefold() for name in self.header]
        for name in folded:
            if folded.count(name) > 1:
                raise _error(f"Two columns are called `{name}`; names differ by more than case.")

    @property
    def header(self) -> tuple[str, ...]:
        """The header of a prediction file; participants may order the columns as they like."""
        return (self.id_column, *(column.name for column in self.columns))

    def to_json(self) -> dict[str, object]:
        return {
            "id_column": self.id_column,
            "columns": [column.to_json() for column in self.columns],
        }

    @classmethod
    def from_json(cls, data: object) -> "Schema":
        """The inverse of `to_json`. Raises ParameterError for anything else."""
        known = _mapping(data, required={"id_column", "columns"})
        columns = known["columns"]
        if not isinstance(columns, list):
            raise _error('"columns" is a list of columns.')
        return cls(known["id_column"], tuple(_column_from_json(column) for column in columns))

    @property
    def canonical(self) -> bytes:
        """The same bytes for the same schema, for digests."""
        return json.dumps(self.to_json(), sort_keys=True, separators=(",", ":")).encode()


def _column_from_json(data: object) -> Column:
    known = _mapping(data, required={"name", "kind"}, optional={"classes"})
    classes = known.get("classes", [])
    if not isinstance(classes, list):
        raise _error('"classes" is a list of texts.')
    return Column(known["name"], known["kind"], tuple(classes))


def _mapping(
    data: object, required: set[str], optional: frozenset[str] | set[str] = frozenset()
) -> Mapping[str, Any]:
    """`data` with exactly these keys."""
    if not isinstance(data, Mapping):
        raise _error("A schema is a JSON object with id_column and columns.")
    keys = set(data)
    if missing := required - keys:
        raise _error(f'"{min(missing)}" is missing.')
    if unknown := keys - required - optional:
        raise _error(f'"{min(map(str, unknown))}" is not known here.')
    return data


def _check_name(name: object) -> None:
    if not isinstance(name, str) or not name or not name.isprintable():
        raise _error("A column's name is a text of one line.")
    if name != name.strip() or len(name) > MAX_NAME_LENGTH:
        raise _error(
            f"{name[:40]!r}: a column's name has no spaces around it and at most "
            f"{MAX_NAME_LENGTH} characters."
        )
    if name.casefold() in USAGE_NAMES:
        raise _error(f"`{name}` is the solution's column for the splits; choose another name.")


def _check_classes(name: str, classes: tuple[object, ...]) -> None:
    if not 2 <= len(classes) <= MAX_CLASSES:
        raise _error(f"`{name}`: a label has from 2 to {MAX_CLASSES} classes.")
    for label in classes:
        if not isinstance(label, str) or not label.strip() or len(label) > MAX_NAME_LENGTH:
            raise _error(
                f"`{name}`: a class is a text of 1 to {MAX_NAME_LENGTH} characters, not blank."
            )
    if len(set(classes)) < len(classes):
        raise _error(f"`{name}`: a class is listed twice.")


def _is_run_of_integers(classes: tuple[str, ...]) -> bool:
    if not all(label.isascii() and label.isdigit() and len(label) < 10 for label in classes):
        return False
    first = int(classes[0])
    return list(classes) == [str(first + offset) for offset in range(len(classes))]


def _error(message: str) -> ParameterError:
    return ParameterError("schema", message)
