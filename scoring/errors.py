"""What can go wrong in scoring, as one tree.

HoldfastError
├── PredictionError   a participant's prediction file is wrong
├── SolutionError     an organizer's solution or sample file is wrong
├── ParameterError    an organizer's parameter of a metric, mechanism or schema is wrong
├── ConditionError    the condition of a guarantee does not hold
└── StateError        a mechanism state, measurement or answer is impossible
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from scoring.wording import describe, expectation

PROBLEMS_KEPT = 10


class HoldfastError(Exception):
    """Everything that this package raises on purpose."""


@dataclass(init=False, frozen=True)
class Problem:
    """One thing to fix in a file: a stable code and the facts, in no language.

    fields: plain JSON values. `line` counts from 1 and includes the header, `column` is a column's
        name, `value` what stands there; the others are those that `scoring.wording` has for the
        code. The fields `message` and `expected`, where there are any, stand for themselves.
    """

    code: str
    fields: Mapping[str, Any]

    def __init__(self, code: str, **fields: Any) -> None:
        """Leave out fields that are None."""
        known = {name: fact for name, fact in fields.items() if fact is not None}
        self.__dict__.update(code=code, fields=known)

    @property
    def line(self) -> int | None:
        return self.fields.get("line")

    @property
    def column(self) -> str | None:
        return self.fields.get("column")

    @property
    def value(self) -> str | None:
        return self.fields.get("value")

    @property
    def message(self) -> str:
        return describe(self)

    @property
    def expected(self) -> str | None:
        """Return what was expected in English, if that makes sense."""
        return expectation(self)

    def to_json(self) -> dict[str, Any]:
        return {"code": self.code, **self.fields}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Problem":
        """Return what `to_json` or `render` made a mapping of."""
        return cls(**data)

    def render(self) -> dict[str, str | int | None]:
        """Return the code, the place and the words, to be shown."""
        names = ("code", "message", "line", "column", "value", "expected")
        return {name: getattr(self, name) for name in names}


class _FileError(HoldfastError):
    """A file with problems: the first ten of them, and how many there are in all."""

    def __init__(self, problems: Iterable[Problem], total: int | None = None) -> None:
        found = tuple(problems)
        if not found:
            raise ValueError("a file error needs at least one problem")
        self.problems = found[:PROBLEMS_KEPT]
        self.total = max(len(found), total or 0)
        super().__init__(self.problems, self.total)

    def __str__(self) -> str:
        first = self.problems[0].message
        if self.total == 1:
            return first
        more = self.total - 1
        return f"{first} ({more} more {'problem' if more == 1 else 'problems'})"


class PredictionError(_FileError):
    """A prediction file is wrong. The participant can fix it; it costs no budget."""


class SolutionError(_FileError):
    """A solution or sample file is wrong. Only the organizer may see the problems."""


class ParameterError(HoldfastError):
    """A parameter is wrong. `field` is its name, `message` a full sentence."""

    def __init__(self, field: str, message: str) -> None:
        """Keep both, so that the error can travel between processes."""
        self.field = field
        self.message = message
        super().__init__(field, message)

    def __str__(self) -> str:
        return f"{self.field}: {self.message}"


class ConditionError(HoldfastError):
    """The condition of a guarantee does not hold, so the guarantee says nothing."""


class StateError(HoldfastError):
    """A mechanism state, measurement or answer that cannot exist. Messages hold no numbers."""
