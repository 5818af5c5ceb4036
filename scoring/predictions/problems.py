"""Collects what is wrong with a file: each kind once, with the lines that have it too."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

from scoring.errors import PROBLEMS_KEPT, PredictionError, Problem, SolutionError

LINES_SHOWN = 5
VALUE_LENGTH = 60
METRIC_SAYS = 500  # characters


@dataclass
class _Group:
    """Problems alike: the first in full, of the others the lines."""

    first: Problem
    count: int
    lines: list[int | None] = field(default_factory=list)

    def summed_up(self) -> Problem:
        """Return the first, with the lines of the others; None stands for those left out."""
        others = self.count - 1
        if not others or not self.lines:
            return self.first
        lines = self.lines if others == len(self.lines) else [*self.lines, None]
        return Problem(self.first.code, **self.first.fields, others=others, lines=lines)


class Problems:
    """The problems of one file, in bounded memory, raised together as `error`."""

    def __init__(self, error: type[PredictionError] | type[SolutionError]) -> None:
        self._error = error
        self._groups: dict[str, dict[Hashable, _Group]] = {}
        self._total = 0

    def add(self, problem: Problem, alike: Hashable = None, count: int = 1) -> None:
        """Note `count` problems; those with the same code and `alike` are shown as one."""
        if problem.line is not None and self.add_line(problem.code, alike, problem.line):
            return
        self._total += count
        groups = self._groups.setdefault(problem.code, {})
        if len(groups) < PROBLEMS_KEPT:
            groups[alike] = _Group(problem, count)

    def add_line(self, code: str, alike: Hashable, line: int) -> bool:
        """Note a problem that is like an earlier one; note nothing and return False if none is.

        A file may have millions of wrong cells: they need no problem each.
        """
        group = self._groups.get(code, {}).get(alike)
        if group is None:
            return False
        self._total += 1
        group.count += 1
        if len(group.lines) < LINES_SHOWN:
            group.lines.append(line)
        return True

    def fail(self, problem: Problem) -> NoReturn:
        """Raise with a problem after which nothing more can be said of the file."""
        self.add(problem)
        self.raise_any()
        raise AssertionError("a problem was noted")

    def raise_any(self) -> None:
        """Raise the first of each code, then as many others as fit, in the order of the file."""
        if not self._total:
            return
        by_code = [[g.summed_up() for g in groups.values()] for groups in self._groups.values()]
        others = sorted((p for problems in by_code for p in problems[1:]), key=_place)
        chosen = [problems[0] for problems in by_code] + others
        raise self._error(sorted(chosen[:PROBLEMS_KEPT], key=_place), self._total)


def _place(problem: Problem) -> float:
    return float("inf") if problem.line is None else problem.line


def metric_refused(says: str) -> Problem:
    """Return what a custom metric says of predictions, without having seen labels."""
    shown = _printable(" ".join(says.split()))[:METRIC_SAYS]
    return Problem("metric_refused", message=shown or None)


def shortened(text: str) -> str:
    """Return a text from a file as it can be shown: at most a line long, all of it visible."""
    return _printable(text if len(text) <= VALUE_LENGTH else text[:VALUE_LENGTH] + "…")


def abridged(texts: Sequence[str], most: int, last: int = 0) -> list[str | None]:
    """Return the first `most` texts and the last ones, None between for those left out."""
    if len(texts) <= most + last:
        return list(texts)
    return [*texts[:most], None, *texts[len(texts) - last :]]


def _printable(text: str) -> str:
    """Return a text without control, direction and line-break characters."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
