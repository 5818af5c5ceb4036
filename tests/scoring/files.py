"""A small competition's files, as text, for tests of reading."""

from scoring.errors import PredictionError, Problem
from scoring.predictions import (
    Column,
    Predictions,
    RowIds,
    Schema,
    read_predictions,
)

DIGITS = Column("label", "label", tuple("0123456789"))
CHANCE = Column("p", "probability")
PRICE = Column("price", "number")

SCHEMA = Schema("id", (DIGITS, CHANCE, PRICE))
IDS = tuple(str(number) for number in range(10, 30))
ROW_IDS = RowIds(IDS)


def rows_of(ids: tuple[str, ...] = IDS) -> list[str]:
    """A good row for each id."""
    return [f"{each},{int(each) % 10},0.{each},{each}.5" for each in ids]


HEADER = "id,label,p,price"
GOOD = "\n".join([HEADER, *rows_of()]) + "\n"


def with_line(number: int, text: str) -> str:
    """The good file with another text on a line (from 1)."""
    lines = GOOD.split("\n")
    lines[number - 1] = text
    return "\n".join(lines)


Edits = list[tuple[int, int, bytes]]


def edited(data: bytes, edits: Edits) -> bytes:
    """Return the data after edits: at each place so many bytes are deleted, then some are added."""
    for place, deleted, added in edits:
        data = data[:place] + added + data[place + deleted :]
    return data


def read(text: str | bytes, schema: Schema = SCHEMA, row_ids: RowIds = ROW_IDS) -> Predictions:
    data = text.encode() if isinstance(text, str) else text
    return read_predictions(data, schema, row_ids)


def rejection(
    text: str | bytes, schema: Schema = SCHEMA, row_ids: RowIds = ROW_IDS
) -> PredictionError:
    """The error that a file is rejected with."""
    try:
        read(text, schema, row_ids)
    except PredictionError as error:
        return error
    raise AssertionError("the file was accepted")


def problem(text: str | bytes, schema: Schema = SCHEMA, row_ids: RowIds = ROW_IDS) -> Problem:
    """The one problem that a file is rejected with."""
    error = rejection(text, schema, row_ids)
    assert len(error.problems) == 1, error.problems
    return error.problems[0]
