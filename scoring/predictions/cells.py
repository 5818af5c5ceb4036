"""What one cell may hold, and what is wrong with one that holds something else."""

import difflib
import math
import re
from array import array
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

from scoring.errors import PROBLEMS_KEPT
from scoring.predictions import texts
from scoring.predictions.problems import shortened
from scoring.predictions.schema import Column

# The grammar of a number. Spaces and tabs around it are passed over, as pyarrow does. Nothing in it
# is tried twice (++ and its like give nothing back): cells may have a hundred thousand digits.
_NUMBER = re.compile(r"[ \t]*+[+-]?([0-9]++(\.[0-9]*+)?|\.[0-9]++)([eE][+-]?[0-9]++)?[ \t]*+")
_DECIMAL_COMMA = re.compile(r"[+-]?[0-9]+,[0-9]+")
_THOUSANDS = re.compile(r"[+-]?[1-9][0-9]{0,2}([,' \u00a0\u2009\u202f_][0-9]{3})+(\.[0-9]*)?")
_BRACKETS = {"[]", "()", "{}"}
_MISSING = {"nan", "na", "n/a", "#n/a", "null", "none", "nil", "<na>", "nat", "-", "?"}
_INFINITE = {"inf", "infinity"}
_SUGGESTED_CLASSES = 1_000


class CellError(Exception):
    """A cell is wrong: a code and the fields that its wording needs.

    part: the wrong part, None for the whole cell. alike: what makes wrong cells alike, if that
    isn't the wrong part.
    """

    def __init__(
        self, code: str, part: str | None = None, alike: str | None = None, **fields: Any
    ) -> None:
        self.code, self.part, self.alike, self.fields = code, part, alike, fields
        super().__init__(code)


# One value, or the codes of a list, or the bytes of a text.
Parser = Callable[[str], "float | list[int] | array[int]"]


def parser_of(column: Column) -> Parser:
    """Return a function from the text of a cell to its value; it raises CellError."""
    if column.classes:
        return Labels(column).codes if column.is_list else Labels(column).code
    if column.kind == "text":
        return partial(parse_text, column.most)
    return parse_probability if column.kind == "probability" else parse_number


class Labels:
    """The labels of a column, as codes: the positions among its classes."""

    def __init__(self, column: Column) -> None:
        self._column = column
        self._codes = {label: code for code, label in enumerate(column.classes)}
        self._meant: dict[str, str | None] = {}

    def code(self, text: str) -> float:
        code = self._codes.get(text)
        if code is None:
            raise self._wrong(text)
        return code

    def codes(self, text: str) -> list[int]:
        """Return the codes of a cell with several labels: ascending, but those of a ranking.

        Spaces around labels and separators with nothing between them are passed over.
        """
        column, codes = self._column, self._codes
        labels = [label for part in text.split(column.separator) if (label := part.strip())]
        if not labels and column.kind == "ranking":
            raise CellError("empty_cell")
        if unknown := next((label for label in labels if label not in codes), None):
            plain = text.strip()
            if plain[:1] + plain[-1:] in _BRACKETS:  # as pandas writes lists
                raise CellError("unknown_label", plain, alike="[]", variant="python")
            raise self._wrong(unknown, unknown)
        if twice := next((label for label, n in Counter(labels).items() if n > 1), None):
            raise CellError("duplicate_label", twice)
        if len(labels) > (column.most or len(codes)):
            raise CellError("too_many_labels", count=len(labels))
        found = [codes[label] for label in labels]
        return found if column.kind == "ranking" else sorted(found)

    def _wrong(self, label: str, part: str | None = None) -> CellError:
        if not label.strip():
            return CellError("empty_cell")
        if label not in self._meant and len(self._meant) < PROBLEMS_KEPT:  # it isn't cheap
            self._meant[label] = _nearest_label(label, self._codes)
        return CellError("unknown_label", part, meant=self._meant.get(label))


def parse_number(text: str) -> float:
    """Return a finite number in decimal or scientific notation. Too small ones become zero."""
    if _NUMBER.fullmatch(text) is None:
        raise _not_a_number(text)
    value = float(text)
    if math.isinf(value):
        raise CellError("number_too_large")
    return value


def parse_probability(text: str) -> float:
    """Return a number from 0 to 1."""
    value = parse_number(text)
    if not 0 <= value <= 1:
        raise CellError("probability_out_of_range")
    return value


def parse_text(most: int | None, text: str) -> "array[int]":
    """Return the bytes of an answer, or of those of at most so many runs as a JSON list."""
    answers = texts.split(text) if most else [text]
    if len(answers) > (most or 1):
        raise CellError("too_many_runs", count=len(answers))
    if len(text) > texts.LONGEST:
        raise CellError("cell_too_long", length=len(text), limit=texts.LONGEST)
    return array("B", texts.encode(answers))


def _not_a_number(text: str) -> CellError:
    plain = text.strip()
    if not plain:
        return CellError("empty_cell")
    if plain.casefold() in _MISSING:
        return CellError("missing_value")
    if plain.lstrip("+-").casefold() in _INFINITE:
        return CellError("infinite")
    if _THOUSANDS.fullmatch(plain):
        return CellError("thousands_separator", meant=shortened(re.sub(r"[^0-9.+-]", "", plain)))
    if _DECIMAL_COMMA.fullmatch(plain):
        return CellError("decimal_comma", meant=shortened(plain.replace(",", ".")))
    return CellError("not_a_number", hint="percent" if plain.endswith("%") else None)


def _nearest_label(text: str, codes: dict[str, int]) -> str | None:
    """Return the class that a text probably stands for: spaces, case, 3.0 for 3, a typing slip."""
    plain = text.strip()
    if plain in codes:
        return plain
    if len(plain) <= 30 and _NUMBER.fullmatch(plain):  # "3.0", "03" and "3e0" are 3
        value = float(plain)
        if value.is_integer() and abs(value) < 2**53 and str(int(value)) in codes:
            return str(int(value))
    folded = {label.casefold(): label for label in codes}
    if plain.casefold() in folded:
        return folded[plain.casefold()]
    if len(codes) > _SUGGESTED_CLASSES or len(plain) < 3:
        return None
    near = difflib.get_close_matches(plain[:100].casefold(), folded, n=1, cutoff=0.75)
    return folded[near[0]] if near else None
