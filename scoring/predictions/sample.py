"""What the sample submission tells: the row ids, the schema it suggests, its first rows."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from scoring.errors import ParameterError, Problem, SolutionError
from scoring.predictions import exact, fast
from scoring.predictions.exact import Field
from scoring.predictions.guesses import MOST_CLASSES, Proposal, guess
from scoring.predictions.header import match_header, other_format, unknown_delimiter
from scoring.predictions.ids import Texts
from scoring.predictions.limits import DEFAULT_LIMITS, Limits
from scoring.predictions.problems import Problems
from scoring.predictions.row_ids import RowIds
from scoring.predictions.schema import Schema
from scoring.predictions.source import Source, check_utf8, read_text
from scoring.predictions.tokens import Header, read_header, rows

_ROWS_OF_OTHERS = 200_000


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
    fields = [Field.only_checked(column, places[column.name]) for column in schema.columns]
    ids, id_index = Texts(), places[schema.id_column]
    table = exact.read_table(text, ids, id_index, len(header.cells), fields, limits, problems)
    texts = ids.checked(table.lines, schema.id_column, problems)
    problems.raise_any()
    return RowIds(texts)


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


def propose(source: Source, limits: Limits = DEFAULT_LIMITS) -> Proposal:
    """What a sample submission suggests about its columns, for the organizer to confirm.

    The first column is the id. Of the others, texts and whole numbers are taken for labels,
    numbers from 0 to 1 for probabilities, all else for numbers, and cells that repeat parts with
    a separator between for lists: a ranking if all are as long. The classes are those that were
    seen, in order, so they may be too few. Where all cells are the same, several kinds may be
    proposed. Raises SolutionError.
    """
    problems = Problems(SolutionError)
    text, header = _opened(source, limits, problems)
    if found := other_format(header) or unknown_delimiter(header):
        problems.fail(found)
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
    seen = _distinct(_even_rows(text, header, problems), header.cells)
    problems.raise_any()
    columns = [guess(name, seen[name]) for name in header.cells[1:]]
    proposal = Proposal(header.cells[0], tuple(columns))
    try:
        proposal.schema  # noqa: B018  (raises)
    except ParameterError as error:
        problem = Problem("unusable_column", error.message, line=header.line)
        raise SolutionError([problem]) from None
    return proposal


def propose_with(proposal: Proposal, source: Source, limits: Limits = DEFAULT_LIMITS) -> Proposal:
    """The proposal, with more cells of its columns seen in another table: training data, say.

    Columns of the same names are read, in its first rows. Raises SolutionError.
    """
    names = [column.name for column in proposal.columns]
    problems = Problems(SolutionError)
    text, header = _opened(source, limits, problems)
    if not set(names) & set(header.cells):
        problems.fail(
            Problem(
                "missing_column",
                f"Line {header.line}: this table has none of the columns {', '.join(names)}.",
                line=header.line,
                expected="a column to predict",
            )
        )
    even = (row for row in rows(text, problems) if len(row[1]) == len(header.cells))
    seen = _distinct(islice(even, _ROWS_OF_OTHERS), header.cells)
    columns = [guess(each.name, each.seen, seen.get(each.name, ())) for each in proposal.columns]
    return Proposal(proposal.id_column, tuple(columns))


def infer_schema(source: Source, limits: Limits = DEFAULT_LIMITS) -> Schema:
    """The likeliest schema that a sample submission suggests. Raises SolutionError."""
    return propose(source, limits=limits).schema


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


def _distinct(
    table: Iterable[tuple[int, list[str]]], names: Sequence[str]
) -> dict[str, dict[str, None]]:
    """The different cells of each column, as far as they matter."""
    seen: list[dict[str, None]] = [{} for _ in names]
    for _, cells in table:
        for values, cell in zip(seen, cells, strict=True):
            if len(values) <= MOST_CLASSES:
                values[cell] = None
    return dict(zip(names, seen, strict=True))
