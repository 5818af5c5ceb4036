"""What the sample submission shows: the row ids, the schema it suggests, its first rows."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from scoring.errors import ParameterError, Problem, SolutionError
from scoring.predictions import fast
from scoring.predictions.exact import Field, even_rows, read_table
from scoring.predictions.guesses import MOST_CLASSES, Proposal, guess
from scoring.predictions.header import (
    columns_shown,
    match_header,
    refuse_other_formats,
    refuse_unknown_delimiter,
)
from scoring.predictions.ids import Texts
from scoring.predictions.limits import DEFAULT_LIMITS, Limits
from scoring.predictions.problems import Problems
from scoring.predictions.row_ids import RowIds
from scoring.predictions.schema import Schema
from scoring.predictions.source import Source, check_utf8, read_text
from scoring.predictions.tokens import Header, read_header, records

_ROWS_OF_OTHERS = 200_000


@dataclass(frozen=True)
class Preview:
    """The expected header and the first rows, to be shown beside an upload form."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def read_row_ids(source: Source, schema: Schema, limits: Limits = DEFAULT_LIMITS) -> RowIds:
    """Return the ids of a sample submission, in its order.

    The sample has to be a valid submission itself, since participants start from it. Raise
    SolutionError.
    """
    problems = Problems(SolutionError)
    text = read_text(source, limits, problems, schema.separators)
    header = read_header(text, problems)
    match_header(header, schema.header, limits, problems)
    row_ids = fast.read_ids(text, header.end, header.cells, schema)
    if row_ids is not None and len(row_ids) <= limits.max_rows:
        return row_ids
    fields = [Field.of(column, is_kept=False) for column in schema.columns]
    table = read_table(text, header, Texts(), schema.id_column, fields, limits, problems)
    return RowIds(table.ids)


def preview(source: Source, schema: Schema, n: int = 5, limits: Limits = DEFAULT_LIMITS) -> Preview:
    """Return the header and the first `n` rows of a sample, in the schema's column order.

    Raise SolutionError.
    """
    problems = Problems(SolutionError)
    text, header = _opened(source, limits, problems, schema.separators)
    places = match_header(header, schema.header, limits, problems)
    first = tuple(
        tuple(cells[places[name]] for name in schema.header)
        for _, cells in islice(even_rows(text, header, limits, problems), n)
    )
    problems.raise_any()
    return Preview(schema.header, first)


def propose(source: Source, limits: Limits = DEFAULT_LIMITS) -> Proposal:
    """Return what a sample submission suggests about its columns, for the organizer to confirm.

    The first column is the id. Of the others, texts and whole numbers are taken for labels,
    numbers from 0 to 1 for probabilities, all else for numbers, and cells that repeat parts with
    a separator between for lists: a ranking if all are as long. The classes are those that were
    seen, in order, so they may be too few. Where all cells are the same, several kinds may be
    proposed. Raise SolutionError.
    """
    problems = Problems(SolutionError)
    text, header = _opened(source, limits, problems)
    refuse_other_formats(header, problems)
    refuse_unknown_delimiter(header, problems)
    if len(header.cells) < 2:
        problems.fail(Problem("missing_column", variant="sample", line=header.line))
    if len(header.cells) > limits.max_columns:
        match_header(header, (), limits, problems)
    seen = _distinct(even_rows(text, header, limits, problems), header.cells)
    problems.raise_any()
    columns = [guess(name, seen[name]) for name in header.cells[1:]]
    proposal = Proposal(header.cells[0], tuple(columns))
    try:
        proposal.schema  # noqa: B018  (raises)
    except ParameterError as error:
        problem = Problem("unusable_column", message=error.message, line=header.line)
        raise SolutionError([problem]) from None
    return proposal


def propose_with(proposal: Proposal, source: Source, limits: Limits = DEFAULT_LIMITS) -> Proposal:
    """Return the proposal, having seen more cells in another table: training data, say.

    Columns of the same names are read, in its first rows. Raise SolutionError.
    """
    names = [column.name for column in proposal.columns]
    problems = Problems(SolutionError)
    text, header = _opened(source, limits, problems)
    if not set(names) & set(header.cells):
        fields = columns_shown(names)
        problems.fail(Problem("missing_column", variant="other", line=header.line, **fields))
    rows = islice(records(text, problems), 1, None)
    even = (row for row in rows if len(row[1]) == len(header.cells))
    seen = _distinct(islice(even, _ROWS_OF_OTHERS), header.cells)
    columns = [guess(each.name, each.seen, seen.get(each.name, ())) for each in proposal.columns]
    return Proposal(proposal.id_column, tuple(columns))


def _opened(
    source: Source,
    limits: Limits,
    problems: Problems,
    separators: Mapping[str, str] | None = None,
) -> tuple[bytes, Header]:
    text = read_text(source, limits, problems, separators)
    check_utf8(text, problems)
    return text, read_header(text, problems)


def _distinct(
    table: Iterable[tuple[int, list[str]]], names: Sequence[str]
) -> dict[str, dict[str, None]]:
    """Return the different cells of each column, as far as they matter."""
    seen: list[dict[str, None]] = [{} for _ in names]
    for _, cells in table:
        for values, cell in zip(seen, cells, strict=True):
            if len(values) <= MOST_CLASSES:
                values[cell] = None
    return dict(zip(names, seen, strict=True))
