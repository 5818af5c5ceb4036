"""What the sample submission tells: the row ids, the schema it suggests, its first rows."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

from scoring.errors import ParameterError, Problem, SolutionError
from scoring.predictions import exact, fast
from scoring.predictions.cells import CellError, parse_number
from scoring.predictions.exact import Field
from scoring.predictions.header import match_header
from scoring.predictions.limits import DEFAULT_LIMITS, Limits
from scoring.predictions.problems import Problems
from scoring.predictions.row_ids import RowIds
from scoring.predictions.schema import SEPARATORS, Column, Schema
from scoring.predictions.source import Source, check_utf8, read_text
from scoring.predictions.tokens import Header, read_header, rows

_MOST_CLASSES_GUESSED = 200


@dataclass(frozen=True)
class Preview:
    """The expected header and the first rows, to be shown beside an upload form."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def read_row_ids(source: Source, schema: Schema, limits: Limits = DEFAULT_LIMITS) -> RowIds:
    """The ids of a sample submission, in its order.

    The sample has to be a valid submission itself, since participants start from it. Raises
    SolutionError.
    """
    problems = Problems(SolutionError)
    text = read_text(source, limits, problems, schema.separators)
    header = read_header(text, problems)
    places = match_header(header, schema.header, limits, problems)
    row_ids = fast.read_ids(text, header.end, header.cells, schema)
    if row_ids is not None and len(row_ids) <= limits.max_rows:
        return row_ids
    check_utf8(text, problems)
    fields = [Field.of(column, places[column.name]) for column in schema.columns]
    table = exact.read_table(
        text, places[schema.id_column], len(header.cells), fields, limits, problems
    )
    exact.check_unique(table, schema.id_column, problems)
    problems.raise_any()
    return RowIds(table.ids.array())


def preview(source: Source, schema: Schema, n: int = 5, limits: Limits = DEFAULT_LIMITS) -> Preview:
    """The header and the first `n` rows of a sample submission, in the schema's column order.

    Raises SolutionError.
    """
    problems = Problems(SolutionError)
    text, header = _opened(source, limits, problems, schema.separators)
    places = match_header(header, schema.header, limits, problems)
    first = tuple(
        tuple(cells[places[name]] for name in schema.header)
        for _, cells in islice(_even_rows(text, header, problems), n)
    )
    problems.raise_any()
    return Preview(schema.header, first)


def infer_schema(source: Source, limits: Limits = DEFAULT_LIMITS) -> Schema:
    """The schema that a sample submission suggests, for the organizer to confirm.

    The first column is the id. Of the others, texts and whole numbers are taken for labels,
    numbers from 0 to 1 for probabilities, all else for numbers, and cells that repeat parts with
    a separator between for lists: a ranking if all are as long. The classes are those in the
    sample, in order, so they may be too few. Raises SolutionError.
    """
    problems = Problems(SolutionError)
    text, header = _opened(source, limits, problems)
    if len(header.cells) < 2:
        problems.fail(
            Problem(
                "missing_column",
                f"Line {header.line}: a sample submission has an id and at least one more column.",
                line=header.line,
                expected="an id column and the columns to predict",
            )
        )
    if len(header.cells) > limits.max_columns:
        match_header(header, (), limits, problems)
    seen: list[dict[str, None]] = [{} for _ in header.cells]
    for _, cells in _even_rows(text, header, problems):
        for values, cell in zip(seen, cells, strict=True):
            if len(values) <= _MOST_CLASSES_GUESSED:
                values[cell] = None
    problems.raise_any()
    return _proposed(header, seen, problems)


def _opened(
    source: Source,
    limits: Limits,
    problems: Problems,
    separators: Mapping[str, str] | None = None,
) -> tuple[bytes, Header]:
    text = read_text(source, limits, problems, separators)
    check_utf8(text, problems)
    return text, read_header(text, problems)


def _even_rows(text: bytes, header: Header, problems: Problems) -> Iterator[tuple[int, list[str]]]:
    """Rows with as many cells as the header; notes the others."""
    width = len(header.cells)
    for line, cells in rows(text, problems):
        if len(cells) == width:
            yield line, cells
        else:
            problems.add(exact.ragged(line, cells, width))


def _proposed(header: Header, seen: list[dict[str, None]], problems: Problems) -> Schema:
    try:
        columns = [
            _proposed_column(name, values)
            for name, values in zip(header.cells[1:], seen[1:], strict=True)
        ]
        return Schema(header.cells[0], tuple(columns))
    except ParameterError as error:
        problem = Problem("unusable_column", error.message, line=header.line)
    raise SolutionError([problem])


def _proposed_column(name: str, values: Iterable[str]) -> Column:
    cells = [value for value in values if value.strip()]
    if not cells:
        return Column(name, "number")
    numbers = _numbers(cells)
    if numbers is None and (several := _list(name, cells)) is not None:
        return several
    if numbers is None or _are_whole(cells):
        return _label(name, cells)
    is_share = all(0 <= number <= 1 for number in numbers)
    return Column(name, "probability" if is_share else "number")


def _list(name: str, cells: list[str]) -> Column | None:
    """A column of lists, if the cells are combinations of fewer parts, or one list of many."""
    for separator in SEPARATORS:
        lists = [[part.strip() for part in cell.split(separator)] for cell in cells]
        parts = list(dict.fromkeys(part for each in lists for part in each if part))
        if len(parts) < 2 or len(parts) > _MOST_CLASSES_GUESSED or _repeats(lists):
            continue
        if (len(cells) == 1 and len(parts) > 2) or len(parts) < len(cells):
            classes = tuple(sorted(parts, key=int) if _are_whole(parts) else sorted(parts))
            lengths = {len(each) for each in lists}
            if len(lengths) == 1:
                return Column(name, "ranking", classes, separator, lengths.pop())
            return Column(name, "labels", classes, separator)
    return None


def _repeats(lists: list[list[str]]) -> bool:
    """Whether a list has a part twice."""
    return any(len(set(each)) < len(each) for each in lists)


def _label(name: str, cells: list[str]) -> Column:
    """A label with the classes seen; many different whole numbers are numbers after all."""
    if len(cells) > _MOST_CLASSES_GUESSED and _are_whole(cells):
        return Column(name, "number")
    if len(cells) == 1:  # a constant sample shows one class; there is another at least
        other = {"0": "1", "1": "0"}.get(cells[0], f"not {cells[0]}"[:200])
        cells = [*cells, other]
    ordered = sorted(cells, key=int) if _are_whole(cells) else sorted(cells)
    return Column(name, "label", tuple(ordered))


def _are_whole(cells: list[str]) -> bool:
    return all(
        cell.isascii() and cell.removeprefix("-").isdigit() and len(cell) < 19 for cell in cells
    )


def _numbers(cells: list[str]) -> list[float] | None:
    try:
        return [parse_number(cell) for cell in cells]
    except CellError:
        return None
