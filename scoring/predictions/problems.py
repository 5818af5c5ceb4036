"""Collects what is wrong with a file: each kind once, with the lines that have it too."""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field, replace
from typing import NoReturn

from scoring.errors import PROBLEMS_KEPT, PredictionError, Problem, SolutionError

LINES_SHOWN = 5
VALUE_LENGTH = 60
METRIC_SAYS = 500  # characters

# Every code that a file can be rejected with. Codes are stable: programs match them.
REJECTIONS = {
    "file_empty": "The file has no bytes, or nothing but blank lines.",
    "too_many_bytes": "The file, or what it expands to, is larger than allowed.",
    "expands_too_much": "An archive expands to many times its size.",
    "binary_file": "The file is not text: a spreadsheet, an image, NUL bytes …",
    "not_utf8": "The text is not UTF-8.",
    "not_csv": "The text is HTML or JSON.",
    "gzip_damaged": "The gzip file is cut off or damaged.",
    "zstd_damaged": "The zstd file is cut off or damaged.",
    "zip_damaged": "The zip archive is cut off or damaged, or has a password.",
    "zip_not_one_file": "The zip archive has no file or several files.",
    "parquet_damaged": "The Parquet file is cut off, damaged or encrypted.",
    "parquet_type": "A Parquet column holds neither texts nor numbers nor lists of them.",
    "line_too_long": "A line is longer than any row can be.",
    "broken_quotes": "A quoted cell doesn't end, or text follows its closing quote.",
    "wrong_delimiter": "Columns are separated by something else than commas.",
    "header_missing": "The first line is a row of data.",
    "too_many_columns": "The header has more columns than allowed.",
    "missing_column": "A column isn't there.",
    "misspelt_column": "A column's name is nearly right: case, spaces, a typing mistake.",
    "extra_column": "A column isn't expected.",
    "duplicate_column": "A column is there twice.",
    "unusable_column": "A sample file's column can't be a column of a schema.",
    "no_rows": "There is a header and nothing else.",
    "too_many_rows": "There are more rows than allowed.",
    "ragged_row": "A row has more or fewer cells than the header.",
    "empty_id": "A row's id is empty.",
    "unknown_id": "An id isn't in the sample file.",
    "duplicate_id": "An id is there twice.",
    "missing_id": "An id of the sample file isn't there.",
    "empty_cell": "A cell is empty.",
    "cell_too_long": "A cell is longer than allowed.",
    "not_a_number": "A cell isn't a number.",
    "missing_value": "A cell says that the value is missing: nan, NA, null …",
    "infinite": "A number is infinite.",
    "number_too_large": "A number is beyond 64-bit floating point.",
    "thousands_separator": "A number has thousands separators.",
    "decimal_comma": "A number has a decimal comma.",
    "probability_out_of_range": "A probability is below 0 or above 1.",
    "unknown_label": "A label isn't one of the classes.",
    "duplicate_label": "A list of labels has a label twice.",
    "too_many_labels": "A ranking is longer than allowed.",
    "metric_refused": "The check of a server's own metric refuses the predictions.",
    "unknown_usage": "A solution's usage isn't Public, Private, Final or Ignored.",
    "negative_weight": "A solution's weight is below 0.",
    "no_weight": "A solution's scored rows all have the weight 0.",
    "no_private_rows": "A solution has no private rows.",
    "solution_damaged": "A stored solution can't be read back.",
    "row_ids_damaged": "Stored row ids can't be read back.",
}


@dataclass
class _Group:
    """Problems alike: the first in full, of the others the lines."""

    first: Problem
    count: int
    lines: list[int] = field(default_factory=list)

    def summed_up(self) -> Problem:
        others = self.count - 1
        if not others or not self.lines:
            return self.first
        shown = ", ".join(map(str, self.lines)) + (", …" if others > len(self.lines) else "")
        noun = "line" if others == 1 else "lines"
        return replace(
            self.first, message=f"{self.first.message} {others} more {noun} like it ({shown})."
        )


class Problems:
    """The problems of one file, in bounded memory, raised together as `error`."""

    def __init__(self, error: type[PredictionError] | type[SolutionError]) -> None:
        self._error = error
        self._groups: dict[str, dict[Hashable, _Group]] = {}
        self._total = 0

    def add(self, problem: Problem, alike: Hashable = None, count: int = 1) -> None:
        """Notes `count` problems; those with the same code and `alike` are shown as one."""
        if problem.line is not None and self.add_line(problem.code, alike, problem.line):
            return
        self._total += count
        groups = self._groups.setdefault(problem.code, {})
        if len(groups) < PROBLEMS_KEPT:
            groups[alike] = _Group(problem, count)

    def add_line(self, code: str, alike: Hashable, line: int) -> bool:
        """Notes a problem that is like an earlier one; False, and nothing noted, if none is.

        A file may have millions of wrong cells: they need no sentence each.
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
        """Notes a problem after which nothing more can be said of the file."""
        self.add(problem)
        raise self._error(self._chosen(), self._total)

    def raise_any(self) -> None:
        """Raises if there was a problem."""
        if self._total:
            raise self._error(self._chosen(), self._total)

    def _chosen(self) -> list[Problem]:
        """The first of each code, then as many others as fit, in the order of the file."""
        by_code = [[g.summed_up() for g in groups.values()] for groups in self._groups.values()]
        firsts = [problems[0] for problems in by_code]
        others = sorted((p for problems in by_code for p in problems[1:]), key=_place)
        return sorted((firsts + others)[:PROBLEMS_KEPT], key=_place)


def _place(problem: Problem) -> float:
    return float("inf") if problem.line is None else problem.line


def metric_refused(says: str) -> Problem:
    """What an operator's own metric says of predictions, without having seen labels."""
    shown = _printable(" ".join(says.split()))[:METRIC_SAYS]
    return Problem("metric_refused", shown or "The metric refuses this file.")


def quoted(text: str) -> str:
    """A text from a file as it can be shown: shortened, in quotes, nothing invisible in it."""
    return f"'{shortened(text)}'"


def shortened(text: str) -> str:
    """A text without control, direction and line-break characters, at most a line long."""
    return _printable(text if len(text) <= VALUE_LENGTH else text[:VALUE_LENGTH] + "…")


def listed(texts: Iterable[str]) -> str:
    """Texts in quotes, with commas between."""
    return ", ".join(quoted(text) for text in texts)


def plural(count: int, noun: str) -> str:
    """A count with its noun."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _printable(text: str) -> str:
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
