"""What a prediction file has to contain: the id column and the columns to predict."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from scoring.errors import ParameterError, Problem
from scoring.wording import PHRASES

Kind = Literal["label", "probability", "number", "labels", "ranking", "text"]
KINDS: tuple[Kind, ...] = get_args(Kind)
LISTS = ("labels", "ranking")
WITH_CLASSES = ("label", *LISTS)

# Columns of a solution file that say which split a row is in (Kaggle's name, and a common one).
USAGE_NAMES = ("usage", "split")
# And columns that say how much a row counts, and which rows depend on each other, unless they are
# to be predicted.
WEIGHT_NAMES = ("weight", "weights", "sample_weight")
GROUP_NAMES = ("group", "groups")

MAX_NAME_LENGTH = 200
MAX_CLASSES = 10_000
MAX_RANKED = 1_000
MAX_RUNS = 100
SEPARATORS = {separator: PHRASES[separator] for separator in " ,;|"}


@dataclass(frozen=True)
class Column:
    """A column to predict.

    kind: "label" (one of `classes`, compared as text, exactly), "probability" (from 0 to 1),
        "number" (any finite one), "labels" (any number of classes in one cell), "ranking" (1 to
        `most` classes in one cell, the best first) or "text" (an answer in words, or those of up
        to `most` runs). In the solution a probability column holds what happened, 0 or 1, a
        ranking column the relevant classes, and a text column all accepted answers. One
        probability for each class is one probability column for each class.
    classes: the closed set of labels, in the order of their codes.
    separator: what stands between the classes of one cell: space, comma, semicolon or bar.
    most: how many classes a ranking, or how many runs a text may have.
    """

    name: str
    kind: Kind
    classes: tuple[str, ...] = ()
    separator: str = " "
    most: int | None = None

    def __post_init__(self) -> None:
        """Raise ParameterError where the column makes no sense."""
        _check_name(self.name)
        if self.kind not in KINDS:
            raise _error(f"`{self.name}`: a column is one of {', '.join(KINDS)}.")
        if self.kind in WITH_CLASSES:
            if not 2 <= len(self.classes) <= MAX_CLASSES:
                raise _error(f"`{self.name}`: a label has from 2 to {MAX_CLASSES} classes.")
            if not all(map(_is_class, self.classes)):
                raise _error(
                    f"`{self.name}`: a class is a text of 1 to {MAX_NAME_LENGTH} characters, "
                    "not blank."
                )
            if len(set(self.classes)) < len(self.classes):
                raise _error(f"`{self.name}`: a class is listed twice.")
        elif self.classes:
            raise _error(f"`{self.name}`: only label columns have classes.")
        _check_list(self)

    @property
    def is_list(self) -> bool:
        """Return whether a cell has several classes."""
        return self.kind in LISTS

    @property
    def is_plain(self) -> bool:
        """Return whether a row has one number or code, in an array; the values of others are
        `Lists`.
        """
        return not (self.is_list or self.kind == "text")

    @property
    def facts(self) -> dict[str, Any]:
        """Return what a cell has to be, as fields of a problem; classes cut short where many."""
        facts: dict[str, Any] = {"kind": self.kind}
        if not self.is_plain:
            facts |= {"separator": self.separator, "most": self.most}
        if not self.classes:
            return facts
        first, last = self.classes[0], self.classes[-1]
        is_number = first.isascii() and first.isdigit() and len(first) < 10
        run = range(int(first), int(first) + len(self.classes)) if is_number else ()
        if len(run) > 2 and list(self.classes) == list(map(str, run)):
            return facts | {"choices": f"{first}-{last}"}
        if len(self.classes) <= 12:
            return facts | {"choices": _listed(self.classes)}
        choices = f"{_listed(self.classes[:5])}, …, {_listed([last])}"
        return facts | {"choices": choices, "total": len(self.classes)}

    @property
    def expected(self) -> str | None:
        return Problem("", **self.facts).expected

    def to_json(self) -> dict[str, object]:
        """Return what the API and the command line take."""
        data: dict[str, object] = {"name": self.name, "kind": self.kind}
        if self.classes:
            data["classes"] = list(self.classes)
        if self.is_list:
            data["separator"] = self.separator
        if self.most is not None:
            data["most"] = self.most
        return data

    @classmethod
    def from_json(cls, data: object) -> "Column":
        """Invert `to_json`. Raise ParameterError for anything else."""
        known = _mapping(data, {"name", "kind"}, {"classes", "separator", "most"})
        classes = known.get("classes", [])
        if not isinstance(classes, list):
            raise _error('"classes" is a list of texts.')
        return cls(**{**known, "classes": tuple(classes)})


@dataclass(frozen=True)
class Schema:
    """The columns of a competition's files. Raise ParameterError where they make no sense."""

    id_column: str
    columns: tuple[Column, ...] = field(default_factory=tuple)

    def __post_init__(self) -> None:
        """Raise ParameterError where the columns make no sense together."""
        _check_name(self.id_column)
        if not self.columns:
            raise _error("A prediction file needs at least one column besides the id.")
        for name, count in Counter(name.casefold() for name in self.header).items():
            if count > 1:
                raise _error(f"Two columns are called `{name}`; names differ by more than case.")

    @property
    def header(self) -> tuple[str, ...]:
        """Return the header of a prediction file; participants may order the columns otherwise."""
        return (self.id_column, *(column.name for column in self.columns))

    @property
    def separators(self) -> dict[str, str]:
        """Return what stands between the classes of one cell, for each column of lists."""
        return {column.name: column.separator for column in self.columns if column.is_list}

    def to_json(self) -> dict[str, object]:
        """Return what the API and the command line take."""
        columns = [column.to_json() for column in self.columns]
        return {"id_column": self.id_column, "columns": columns}

    @classmethod
    def from_json(cls, data: object) -> "Schema":
        """Invert `to_json`. Raise ParameterError for anything else."""
        known = _mapping(data, {"id_column", "columns"})
        columns = known["columns"]
        if not isinstance(columns, list):
            raise _error('"columns" is a list of columns.')
        return cls(known["id_column"], tuple(map(Column.from_json, columns)))

    @property
    def canonical(self) -> bytes:
        """Return the same bytes for the same schema, for digests."""
        return json.dumps(self.to_json(), sort_keys=True, separators=(",", ":")).encode()


def _mapping(
    data: object, required: set[str], optional: Set[str] = frozenset()
) -> Mapping[str, Any]:
    """Return `data`, which has exactly these keys."""
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


def _is_class(label: object) -> bool:
    return isinstance(label, str) and bool(label.strip()) and len(label) <= MAX_NAME_LENGTH


def _check_list(column: Column) -> None:
    """Refuse a separator or a length that doesn't fit; only lists have them."""
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
    _check_most(column)


def _check_most(column: Column) -> None:
    """Refuse a length that doesn't fit."""
    count = column.most if type(column.most) is int else 0
    if column.kind not in ("ranking", "text") and column.most is not None:
        raise _error(f"`{column.name}`: only a ranking has a largest length.")
    if column.kind == "ranking" and not 1 <= count <= MAX_RANKED:
        raise _error(f"`{column.name}`: a ranking has a largest length, from 1 to {MAX_RANKED}.")
    if column.kind == "text" and column.most is not None and not 2 <= count <= MAX_RUNS:
        raise _error(f"`{column.name}`: answers are of one run, or of 2 to {MAX_RUNS}.")


def _listed(classes: Sequence[str]) -> str:
    """Return classes with commas between; in quotes where one has a comma itself."""
    has_comma = any("," in label for label in classes)
    return ", ".join(f"“{label}”" if has_comma else label for label in classes)


def _error(message: str) -> ParameterError:
    return ParameterError("schema", message)
