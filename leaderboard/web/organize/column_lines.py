"""The columns of a prediction file as lines of text that an organizer types.

One line a column: `name: probability`, `name: number`, `name: label: first, second, third`, or for
several labels in a cell `name: labels by semicolons: first, second` and `name: ranking of 5: first,
second`; answers in words are `name: text`, those of up to five runs of a model `name: text of 5`.
Labels are separated by spaces unless it is said. A class with commas, quotes or spaces around it
stands in double quotes, a quote in it is doubled.
"""

import re
from typing import Any

from scoring.errors import ParameterError
from scoring.predictions import Column, Guess, Schema
from scoring.predictions.schema import SEPARATORS

_LINE = re.compile(
    r"(?P<name>.+?)\s*:\s*"
    r"(?P<kind>label|probability|number|labels|text|(?:ranking|text) of (?P<most>[0-9]{1,9}))"
    rf"( by (?P<separator>{'|'.join(SEPARATORS.values())}))?"
    r"\s*(:(?P<classes>.*))?"
)
_SEPARATORS = {name: separator for separator, name in SEPARATORS.items()}
_CLASS = re.compile(r'\s*(?:"(?P<quoted>(?:[^"]|"")*)"|(?P<plain>[^",][^,]*|))\s*(?:,|$)')


def read_columns(text: str) -> tuple[Column, ...]:
    """Return the columns of a text. Raises ParameterError naming the line."""
    lines = [(number, line.strip()) for number, line in enumerate(text.splitlines(), start=1)]
    return tuple(_column(number, line) for number, line in lines if line)


def write_columns(schema: Schema) -> str:
    """Return the text that `read_columns` turns back into the schema's columns."""
    return "\n".join(f"{column.name}: {write_kind(column)}" for column in schema.columns)


def write_kind(column: Column | Guess) -> str:
    """Return what is written behind a column's name."""
    kind: str = column.kind
    if column.most is not None:
        kind += f" of {column.most}"
    if column.separator != " ":
        kind += f" by {SEPARATORS[column.separator]}"
    return f"{kind}: {', '.join(map(_written, column.classes))}" if column.classes else kind


def _column(number: int, line: str) -> Column:
    match = _LINE.fullmatch(line)
    if match is None:
        raise ParameterError(
            "columns",
            f"Line {number}: write “name: kind”, where the kind is label, probability, number, "
            "labels, “ranking of 5”, text or “text of 5” runs.",
        )
    kind: Any = match["kind"].partition(" ")[0]
    separator = _SEPARATORS[match["separator"] or "spaces"]
    most = int(match["most"]) if match["most"] else None
    try:
        return Column(match["name"], kind, _classes(match["classes"] or ""), separator, most)
    except ParameterError as error:
        raise ParameterError("columns", f"Line {number}: {error.message}") from None


def _classes(text: str) -> tuple[str, ...]:
    classes, position, text = list[str](), 0, text.strip()
    while position < len(text):
        match = _CLASS.match(text, position)
        if match is None:
            raise ParameterError("columns", "a class begins with a quote and has none at its end.")
        quoted = match["quoted"]
        classes.append(match["plain"].strip() if quoted is None else quoted.replace('""', '"'))
        position = match.end()
    return tuple(classes)


def _written(label: str) -> str:
    plain = label == label.strip() and not set(label) & {",", '"'}
    return label if plain else '"' + label.replace('"', '""') + '"'
