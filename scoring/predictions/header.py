"""Finds the expected columns in a header, or says what is wrong with it."""

import difflib
from collections.abc import Mapping, Sequence

from scoring.errors import Problem
from scoring.predictions.limits import Limits
from scoring.predictions.problems import Problems, listed, plural, quoted, shortened
from scoring.predictions.tokens import Header

_DELIMITERS = {";": "semicolons", "\t": "tabs", "|": "vertical bars", " ": "spaces"}

_TOLD = 12  # so many names of columns are told; of more, the first and the last


def match_header(
    header: Header, expected: Sequence[str], limits: Limits, problems: Problems
) -> Mapping[str, int]:
    """The position of each expected column. Fails with everything that is wrong, all at once."""
    cells = header.cells
    if len(cells) > limits.max_columns:
        problems.fail(_too_many_columns(header, limits))
    if sorted(cells) != sorted(expected):
        _refuse_other_layouts(header, expected, problems)
        _explain(header, expected, problems)
    problems.raise_any()
    return {name: cells.index(name) for name in expected}


def _too_many_columns(header: Header, limits: Limits) -> Problem:
    return Problem(
        "too_many_columns",
        f"Line {header.line}: {len(header.cells)} columns are more than {limits.max_columns}, "
        "which is the limit.",
        line=header.line,
        expected=f"at most {limits.max_columns} columns",
    )


def _refuse_other_layouts(header: Header, expected: Sequence[str], problems: Problems) -> None:
    """Another format, another delimiter or no header at all: told as such, not column by column."""
    found = other_format(header) or _other_delimiter(header, expected) or _data(header, expected)
    if found is not None:
        problems.fail(found)


def other_format(header: Header) -> Problem | None:
    """What is wrong if this is the beginning of a web page or of JSON; None for a table."""
    start = ",".join(header.cells)[:200].lstrip().casefold()
    if start.startswith(("<!doctype", "<html", "<?xml")):
        what = "a web page or XML"
    elif start.startswith(("{", "[")):
        what = "JSON"
    else:
        return None
    return Problem(
        "not_csv",
        f"This is {what}, not a CSV file.",
        line=header.line,
        value=what,
        expected="a CSV file",
    )


def _other_delimiter(header: Header, expected: Sequence[str]) -> Problem | None:
    if len(header.cells) != 1:
        return None
    for delimiter, name in _DELIMITERS.items():
        parts = [part.strip().strip('"') for part in header.cells[0].split(delimiter)]
        if len(parts) > 1 and set(parts) & set(expected):
            return Problem(
                "wrong_delimiter",
                f"Line {header.line}: columns are separated by {name}; use commas.",
                line=header.line,
                value=shortened(header.cells[0]),
                expected=_header(expected),
            )
    return None


def unknown_delimiter(header: Header) -> Problem | None:
    """What is wrong if a header seems to have something else than commas between its columns."""
    found = [
        name for delimiter, name in _DELIMITERS.items() if delimiter in header.cells[0].strip()
    ]
    if len(header.cells) != 1 or not found:
        return None
    return Problem(
        "wrong_delimiter",
        f"Line {header.line}: columns seem to be separated by {found[0]}; use commas.",
        line=header.line,
        value=shortened(header.cells[0]),
        expected="commas between columns",
    )


def _data(header: Header, expected: Sequence[str]) -> Problem | None:
    known = {name.casefold() for name in expected}
    cells = [cell.strip() for cell in header.cells]
    if len(cells) != len(expected) or any(cell.casefold() in known for cell in cells):
        return None
    if not any(_is_number(cell) for cell in cells):
        return None
    return Problem(
        "header_missing",
        f"Line {header.line} is a row of data; the header {quoted(','.join(expected))} is missing.",
        line=header.line,
        value=shortened(",".join(cells)),
        expected=_header(expected),
    )


def _header(expected: Sequence[str]) -> str:
    """The expected header, its middle left out where it is long."""
    if len(expected) <= _TOLD:
        return ",".join(expected)
    return f"{','.join(expected[:5])},…,{expected[-1]} ({len(expected)} columns)"


def _columns(expected: Sequence[str]) -> str:
    if len(expected) <= _TOLD:
        return listed(expected)
    return f"{listed(expected[:5])}, … {quoted(expected[-1])} ({len(expected)} columns)"


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _explain(header: Header, expected: Sequence[str], problems: Problems) -> None:
    missing = [name for name in expected if name not in header.cells]
    extra = [name for name in dict.fromkeys(header.cells) if name not in expected]
    for name in extra:
        meant = _nearest(name, missing)
        if meant is None:
            problems.add(_extra(header, name, expected), alike=name)
        else:
            missing.remove(meant)
            problems.add(_misspelt(header, name, meant), alike=name)
    for name in missing:
        problems.add(_missing(header, name, expected), alike=name)
    for name in dict.fromkeys(header.cells):
        if name in expected and (count := header.cells.count(name)) > 1:
            problems.add(_duplicate(header, name, count), alike=name)


def _nearest(name: str, missing: Sequence[str]) -> str | None:
    """The missing column that a name probably stands for."""
    folded = {expected.casefold(): expected for expected in missing}
    plain = name.strip().strip("\"'").casefold()
    if plain in folded:
        return folded[plain]
    near = difflib.get_close_matches(plain[:200], folded, n=1, cutoff=0.6)
    return folded[near[0]] if near else None


def _misspelt(header: Header, name: str, meant: str) -> Problem:
    return Problem(
        "misspelt_column",
        f"Line {header.line}: the column {quoted(name)} has to be called {quoted(meant)}"
        f"{_difference(name, meant)}.",
        line=header.line,
        column=meant,
        value=shortened(name),
        expected=meant,
    )


def _difference(name: str, meant: str) -> str:
    if name.strip() == meant:
        return ", without spaces around it"
    return " (upper and lower case differ)" if name.casefold() == meant.casefold() else ""


def _missing(header: Header, name: str, expected: Sequence[str]) -> Problem:
    return Problem(
        "missing_column",
        f"Line {header.line}: the column {quoted(name)} is missing; the header has to be "
        f"{quoted(','.join(expected))}, in any order.",
        line=header.line,
        column=name,
        expected=_header(expected),
    )


def _extra(header: Header, name: str, expected: Sequence[str]) -> Problem:
    what = f"the column {quoted(name)} isn't expected"
    if not name.strip() or name.startswith("Unnamed:"):
        position = header.cells.index(name) + 1
        what = f"column {position} has no name (pandas: write with `index=False`)"
    return Problem(
        "extra_column",
        f"Line {header.line}: {what}; the columns are {_columns(expected)}.",
        line=header.line,
        column=shortened(name),
        value=shortened(name),
        expected=_header(expected),
    )


def _duplicate(header: Header, name: str, count: int) -> Problem:
    return Problem(
        "duplicate_column",
        f"Line {header.line}: the column {quoted(name)} is there {plural(count, 'time')}.",
        line=header.line,
        column=name,
        value=name,
        expected="each column once",
    )
