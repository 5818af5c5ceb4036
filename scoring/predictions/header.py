"""Find the expected columns in a header, or name what is wrong with it."""

import difflib
import re
from collections.abc import Mapping, Sequence
from typing import Any

from scoring.errors import Problem
from scoring.predictions.limits import Limits
from scoring.predictions.problems import Problems, abridged, shortened
from scoring.predictions.tokens import Header

_DELIMITERS = ";\t| "
_SHOWN = 12  # so many names of columns are shown; of more, the first and the last
_NUMBER = re.compile(r"[+-]?([0-9.]+(e[+-]?[0-9]+)?|inf(inity)?|nan)", re.IGNORECASE)


def match_header(
    header: Header, expected: Sequence[str], limits: Limits, problems: Problems
) -> Mapping[str, int]:
    """Return the position of each expected column. Fail with all that is wrong, all at once."""
    cells = header.cells
    if len(cells) > limits.max_columns:
        count, limit = len(cells), limits.max_columns
        problems.fail(Problem("too_many_columns", line=header.line, count=count, limit=limit))
    if sorted(cells) != sorted(expected):
        refuse_other_formats(header, problems)
        _refuse_other_layouts(header, expected, problems)
        _explain(header, expected, problems)
    problems.raise_any()
    return {name: cells.index(name) for name in expected}


def columns_shown(names: Sequence[str]) -> dict[str, Any]:
    """Return the fields that list columns, the middle left out where there are many."""
    if len(names) <= _SHOWN:
        return {"columns": list(names)}
    return {"columns": abridged(names, 5, last=1), "total": len(names)}


def refuse_other_formats(header: Header, problems: Problems) -> None:
    """Fail if this is the beginning of a web page or of JSON."""
    start = ",".join(header.cells)[:200].lstrip().casefold()
    if start.startswith(("<!doctype", "<html", "<?xml", "{", "[")):
        what = "HTML" if start[0] == "<" else "JSON"
        problems.fail(Problem("not_csv", line=header.line, value=what))


def refuse_unknown_delimiter(header: Header, problems: Problems) -> None:
    """Fail if a header seems to have something else than commas between its columns."""
    first = header.cells[0]
    for delimiter in _DELIMITERS:
        if len(header.cells) == 1 and delimiter in first.strip():
            fields = {"value": shortened(first), "delimiter": delimiter}
            problems.fail(
                Problem("wrong_delimiter", variant="probable", line=header.line, **fields)
            )


def _refuse_other_layouts(header: Header, expected: Sequence[str], problems: Problems) -> None:
    """Fail where there is another delimiter or no header at all, not column by column."""
    line, cells = header.line, [cell.strip() for cell in header.cells]
    for delimiter in _DELIMITERS:
        parts = [part.strip().strip('"') for part in header.cells[0].split(delimiter)]
        if len(cells) == 1 and len(parts) > 1 and set(parts) & set(expected):
            fields = {"value": shortened(header.cells[0]), "delimiter": delimiter}
            problems.fail(
                Problem("wrong_delimiter", line=line, **fields, **columns_shown(expected))
            )
    has_names = {cell.casefold() for cell in cells} & {name.casefold() for name in expected}
    if len(cells) == len(expected) and not has_names and any(map(_NUMBER.fullmatch, cells)):
        value = shortened(",".join(cells))
        problems.fail(Problem("header_missing", line=line, value=value, **columns_shown(expected)))


def _explain(header: Header, expected: Sequence[str], problems: Problems) -> None:
    line, columns = header.line, columns_shown(expected)
    missing = [name for name in expected if name not in header.cells]
    for name in dict.fromkeys(header.cells):
        value = shortened(name)
        if name in expected:
            if (count := header.cells.count(name)) > 1:
                fields = {"line": line, "column": name, "value": name, "count": count}
                problems.add(Problem("duplicate_column", **fields), alike=name)
        elif (meant := _nearest(name, missing)) is not None:
            missing.remove(meant)
            hint = "case" if name.casefold() == meant.casefold() else None
            hint = "spaces" if name.strip() == meant else hint
            fields = {"line": line, "column": meant, "value": value, "hint": hint}
            problems.add(Problem("misspelt_column", **fields), alike=name)
        else:
            fields = {"line": line, "column": value, "value": value, **columns}
            if not name.strip() or name.startswith("Unnamed:"):
                fields |= {"variant": "unnamed", "position": header.cells.index(name) + 1}
            problems.add(Problem("extra_column", **fields), alike=name)
    for name in missing:
        problems.add(Problem("missing_column", line=line, column=name, **columns), alike=name)


def _nearest(name: str, missing: Sequence[str]) -> str | None:
    """Return the missing column that a name probably stands for."""
    folded = {expected.casefold(): expected for expected in missing}
    plain = name.strip().strip("\"'").casefold()
    near = difflib.get_close_matches(plain[:200], folded, n=1, cutoff=0.6)
    return folded.get(plain, folded[near[0]] if near else None)
