"""What can go wrong in scoring, as one tree.

HoldfastError
├── PredictionError   a participant's prediction file is wrong
├── SolutionError     an organizer's solution or sample file is wrong
├── ParameterError    an organizer's parameter of a metric, mechanism or schema is wrong
├── ConditionError    the condition of a guarantee does not hold
└── StateError        a mechanism state, measurement or answer is impossible
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass

PROBLEMS_KEPT = 10


class HoldfastError(Exception):
    """Everything that this package raises on purpose."""


@dataclass(frozen=True)
class Problem:
    """One thing to mend in a file.

    `code` is stable and meant for programs; `message` is a full sentence for people. `line` counts
    from 1 and includes the header; `column` is the column's name.
    """

    code: str
    message: str
    line: int | None = None
    column: str | None = None
    value: str | None = None
    expected: str | None = None

    def to_json(self) -> dict[str, str | int | None]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, str | int | None]) -> "Problem":
        """The inverse of `to_json`. Raises TypeError for unknown keys."""
        return cls(**data)  # type: ignore[arg-type]  # the stored JSON came from to_json


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
    """A prediction file is wrong. The participant can mend it; it costs no budget."""


class SolutionError(_FileError):
    """A solution or sample file is wrong. Only the organizer may see the problems."""


class ParameterError(HoldfastError):
    """A parameter is wrong. `field` is its name, `message` a full sentence."""

    def __init__(self, field: str, message: str) -> None:
        self.field = field
        self.message = message
        super().__init__(field, message)

    def __str__(self) -> str:
        return f"{self.field}: {self.message}"


class ConditionError(HoldfastError):
    """The condition of a guarantee does not hold, so the guarantee says nothing."""


class StateError(HoldfastError):
    """A mechanism state, measurement or answer that cannot exist. Messages hold no numbers."""
