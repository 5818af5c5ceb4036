"""What one cell may hold, and what to say of one that holds something else."""

import difflib
import math
import re
from collections import Counter
from collections.abc import Callable

from scoring.errors import PROBLEMS_KEPT
from scoring.predictions.problems import quoted
from scoring.predictions.schema import SEPARATORS, Column

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
    """A cell is wrong: a stable code, and what to say after "Line 3, column `p`: ".

    value: the wrong part, where it isn't the whole cell.
    """

    def __init__(self, code: str, message: str, value: str | None = None) -> None:
        self.code = code
        self.message = message
        self.value = value
        super().__init__(code, message)


# One value, or the codes of a list.
Parser = Callable[[str], "float | list[int]"]


def parser_of(column: Column) -> Parser:
    """A function from the text of a cell to its value; it raises CellError."""
    if column.is_list:
        return list_parser(column)
    if column.kind == "label":
        return label_parser(column)
    return parse_probability if column.kind == "probability" else parse_number


def label_parser(column: Column) -> Parser:
    """From a label to its code, the position among the classes."""
    codes = {label: code for code, label in enumerate(column.classes)}
    suggest = _suggestions(codes)

    def parse(text: str) -> float:
        code = codes.get(text)
        if code is None:
            raise _not_a_label(text, column.expected, suggest(text))
        return code

    return parse


def list_parser(column: Column) -> Parser:
    """From labels in one cell to their codes; sets in ascending order, rankings as they are.

    Spaces around labels and separators with nothing between them are passed over.
    """
    codes = {label: code for code, label in enumerate(column.classes)}
    suggest = _suggestions(codes)
    most = column.most or len(codes)

    def parse(text: str) -> list[int]:
        parts = (part.strip() for part in text.split(column.separator))
        labels = [part for part in parts if part]
        if not labels and column.kind == "ranking":
            raise CellError("empty_cell", f"the cell is empty; give {column.expected}.")
        for label in labels:
            if label not in codes:
                if text.strip()[:1] + text.strip()[-1:] in _BRACKETS:
                    raise _python_list(text.strip(), column)
                expected = f"one of {column.choices}"
                raise _not_a_label(label, expected, suggest(label), value=label)
        if twice := next((label for label, n in Counter(labels).items() if n > 1), None):
            raise CellError("duplicate_label", f"{quoted(twice)} is there twice.", value=twice)
        if len(labels) > most:
            raise CellError("too_many_labels", f"{len(labels)} labels are more than {most}.")
        found = [codes[label] for label in labels]
        return found if column.kind == "ranking" else sorted(found)

    return parse


def parse_number(text: str) -> float:
    """A finite number in decimal or scientific notation. Too small ones become zero."""
    if _NUMBER.fullmatch(text) is None:
        raise _not_a_number(text)
    value = float(text)
    if math.isinf(value):
        raise CellError(
            "number_too_large",
            f"{quoted(text)} is beyond a 64-bit floating-point number (1.8e308 at most).",
        )
    return value


def parse_probability(text: str) -> float:
    """A number from 0 to 1."""
    value = parse_number(text)
    if not 0 <= value <= 1:
        raise CellError(
            "probability_out_of_range", f"{quoted(text)} is not a probability from 0 to 1."
        )
    return value


def _not_a_number(text: str) -> CellError:
    plain = text.strip()
    if not plain:
        return CellError("empty_cell", "the cell is empty; give a number.")
    if plain.casefold() in _MISSING:
        return CellError("missing_value", f"{quoted(text)} is no value; every row needs a number.")
    if plain.lstrip("+-").casefold() in _INFINITE:
        return CellError("infinite", f"{quoted(text)} is infinite; give a finite number.")
    if _THOUSANDS.fullmatch(plain):
        written = re.sub(r"[^0-9.+-]", "", plain)
        return CellError(
            "thousands_separator", f"{quoted(text)} has thousands separators; write {written}."
        )
    if _DECIMAL_COMMA.fullmatch(plain):
        written = plain.replace(",", ".")
        return CellError("decimal_comma", f"{quoted(text)} has a decimal comma; write {written}.")
    hint = "; write 0.5, not 50%" if plain.endswith("%") else ""
    return CellError("not_a_number", f"{quoted(text)} is not a number{hint}.")


def _not_a_label(
    text: str, expected: str, meant: str | None, value: str | None = None
) -> CellError:
    if not text.strip():
        return CellError("empty_cell", f"the cell is empty; give {expected}.")
    hint = "." if meant is None else f"; did you mean {quoted(meant)}?"
    return CellError("unknown_label", f"{quoted(text)} is not {expected}{hint}", value)


def _python_list(text: str, column: Column) -> CellError:
    """What pandas writes for a column of lists; said once for all rows."""
    between = SEPARATORS[column.separator]
    return CellError(
        "unknown_label",
        f"{quoted(text)} is a Python list; write its labels with {between} between, without "
        "brackets and quotes.",
        value=text[0],
    )


def _suggestions(codes: dict[str, int]) -> Callable[[str], str | None]:
    """`_nearest_label`, for as many different texts as are ever shown: it isn't cheap."""
    known: dict[str, str | None] = {}

    def suggest(text: str) -> str | None:
        if text not in known and len(known) < PROBLEMS_KEPT:
            known[text] = _nearest_label(text, codes)
        return known.get(text)

    return suggest


def _nearest_label(text: str, codes: dict[str, int]) -> str | None:
    """The class that a text probably stands for: spaces, case, "3.0" for "3", a typing mistake."""
    plain = text.strip()
    for meant in (plain, _as_integer(plain)):
        if meant in codes:
            return meant
    folded = {label.casefold(): label for label in codes}
    if plain.casefold() in folded:
        return folded[plain.casefold()]
    if len(codes) > _SUGGESTED_CLASSES or len(plain) < 3:
        return None
    near = difflib.get_close_matches(plain[:100].casefold(), folded, n=1, cutoff=0.75)
    return folded[near[0]] if near else None


def _as_integer(text: str) -> str:
    """ "3.0", "03" and "3e0" as "3"; anything else as it is."""
    if len(text) > 30 or _NUMBER.fullmatch(text) is None:
        return text
    value = float(text)
    return str(int(value)) if value.is_integer() and abs(value) < 2**53 else text
