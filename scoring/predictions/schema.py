"""What a prediction file has to contain: the id column and the columns to predict."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from scoring.errors import ParameterError

Kind = Literal["label", "probability", "number", "labels", "ranking"]
KINDS: tuple[Kind, ...] = get_args(Kind)
LISTS = ("labels", "ranking")
WITH_CLASSES = ("label", *LISTS)

# Columns of a solution file that say which split a row is in (Kaggle's name, and a common one).
USAGE_NAMES = ("usage", "split")
# And columns that say how much a row counts, unless they are to be predicted.
WEIGHT_NAMES = ("weight", "weights", "sample_weight")

MAX_NAME_LENGTH = 200
MAX_CLASSES = 10_000
MAX_RANKED = 1_000
SEPARATORS = {" ": "spaces", ",": "commas", ";": "semicolons", "|": "vertical bars"}


@dataclass(frozen=True)
class Column:
    """A column to predict.

    kind: "label" (one of `classes`, compared as text, exactly), "probability" (from 0 to 1),
        "number" (any finite one), "labels" (any number of classes in one cell) or "ranking" (1 to
        `most` classes in one cell, the best first). In the solution a probability column holds
        what happened, 0 or 1, and a ranking column the relevant classes. One probability for each
        class is one probability column for each class.
    classes: the closed set of labels, in the order of their codes.
    separator: what stands between the classes of one cell: space, comma, semicolon or bar.
    most: how many classes a ranking may have.
    """

    name: str
    kind: Kind
    classes: tuple[str, ...] = ()
    separator: str = " "
    most: int | None = None

    def __post_init__(self) -> None:
        _check_name(self.name)
        if self.kind not in KINDS:
            raise _error(f"`{self.name}`: a column is one of {', '.join(KINDS)}.")
        if self.kind in WITH_CLASSES:
            _check_classes(self.name, self.classes)
        elif self.classes:
            raise _error(f"`{self.name}`: only label columns have classes.")
        _check_list(self)

    @property
    def is_list(self) -> bool:
        """Whether a cell holds several classes."""
        return self.kind in LISTS

    @property
    def expected(self) -> str:
        """What a cell has to be, as a phrase."""
        if self.kind == "label":
            return f"one of {self.choices}"
        if self.is_list:
            number = "any number" if self.kind == "labels" else f"1 to {self.most}"
            return f"{number} of {self.choices}, with {SEPARATORS[self.separator]} between"
        return "a number from 0 to 1" if self.kind == "probability" else "a finite number"

    @property
    def choices(self) -> str:
        """The classes, cut short where there are many."""
        first, last = self.classes[0], self.classes[-1]
        if len(self.classes) > 2 and _is_run_of_integers(self.classes):
            return f"{first}-{last}"
        if len(self.classes) <= 12:
            return _listed(self.classes)
        return f"{len(self.classes)} classes ({_listed(self.classes[:5])}, …, {_listed([last])})"

    def to_json(self) -> dict[str, object]:
        data: dict[str, object] = {"name": self.name, "kind": self.kind}
        if self.classes:
            data["classes"] = list(self.classes)
        if self.is_list:
            data["separator"] = self.separator
        if self.most is not None:
            data["most"] = self.most
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
        _check_differ(self.header)

    @property
    def header(self) -> tuple[str, ...]:
        """The header of a prediction file; participants may order the columns as they like."""
        return (self.id_column, *(column.name for column in self.columns))

    @property
    def separators(self) -> dict[str, str]:
        """What stands between the classes of one cell, for each column of lists."""
        return {column.name: column.separator for column in self.columns if column.is_list}

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
    optional = {"classes", "separator", "most"}
    known = _mapping(data, required={"name", "kind"}, optional=optional)
    classes = known.get("classes", [])
    if not isinstance(classes, list):
        raise _error('"classes" is a list of texts.')
    separator, most = known.get("separator", " "), known.get("most")
    return Column(known["name"], known["kind"], tuple(classes), separator, most)


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


def _check_differ(names: Sequence[str]) -> None:
    for name, count in Counter(name.casefold() for name in names).items():
        if count > 1:
            raise _error(f"Two columns are called `{name}`; names differ by more than case.")


def _check_list(column: Column) -> None:
    """The separator and the length of a list; other columns have neither."""
    if column.is_list and column.separator not in SEPARATORS:
        names = ", ".join(SEPARATORS.values())
        raise _error(f"`{column.name}`: the classes of a cell are separated by one of {names}.")
    if not column.is_list and column.separator != " ":
        raise _error(f"`{column.name}`: only lists of classes have a separator.")
    for label in column.classes if column.is_list else ():
        if column.separator in label or label != label.strip():
            raise _error(
                f"`{column.name}`: the class {label!r} has spaces around it or the separator in it."
            )
    if column.kind != "ranking" and column.most is not None:
        raise _error(f"`{column.name}`: only a ranking has a largest length.")
    is_count = type(column.most) is int and 1 <= column.most <= MAX_RANKED
    if column.kind == "ranking" and not is_count:
        raise _error(f"`{column.name}`: a ranking has a largest length, from 1 to {MAX_RANKED}.")


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


def _listed(classes: Sequence[str]) -> str:
    """Classes with commas between; in quotes where one has a comma itself."""
    has_comma = any("," in label for label in classes)
    return ", ".join(f"“{label}”" if has_comma else label for label in classes)


def _is_run_of_integers(classes: tuple[str, ...]) -> bool:
    if not all(label.isascii() and label.isdigit() and len(label) < 10 for label in classes):
        return False
    first = int(classes[0])
    return list(classes) == [str(first + offset) for offset in range(len(classes))]


def _error(message: str) -> ParameterError:
    return ParameterError("schema", message)
