"""The dropped solution: read by what is asked for, and compared with what participants get."""

import csv
import io

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from scoring.dropped.questions import Question
from scoring.dropped.roles import Sheet
from scoring.dropped.targets import Target
from scoring.errors import SolutionError
from scoring.predictions import RowIds, Solution, read_solution
from scoring.predictions.exact import even_rows
from scoring.predictions.limits import DEFAULT_LIMITS
from scoring.predictions.problems import Problems
from scoring.predictions.recast import as_probabilities
from scoring.predictions.schema import GROUP_NAMES, USAGE_NAMES, WEIGHT_NAMES
from scoring.predictions.source import check_utf8
from scoring.predictions.tokens import read_header

_FEWEST = 20  # rows with the same labels that are no chance


def read_labelled(solution: Sheet, target: Target, ids: RowIds) -> Solution:
    """Return the solution in the columns of predictions. Raise SolutionError.

    Columns that neither are asked for nor split or weigh the rows are left out.
    """
    own = target.solution_schema
    of_rows = {*USAGE_NAMES, *WEIGHT_NAMES, *GROUP_NAMES}
    kept = [
        name for name in solution.header if name in own.header or name.strip().casefold() in of_rows
    ]
    text = solution.text if len(kept) == len(solution.header) else _take(solution, kept)
    found = read_solution(text, own, ids)
    return found if target.label is None else as_probabilities(found, target.schema)


def shows_labels(sheet: Sheet, solution: Sheet, question: Question) -> bool:
    """Return whether a public file has the hidden rows with their labels, all of them right."""
    wanted = (question.id_column, *question.labels)
    if not set(wanted) <= set(sheet.header) or not set(wanted) <= set(solution.header):
        return False
    shown, hidden = sheet.cells(wanted), solution.cells(wanted)
    at = pc.index_in(hidden[wanted[0]], value_set=shown[wanted[0]].combine_chunks())
    known = pc.is_valid(at)
    rows = pc.sum(known).as_py() or 0
    if rows < min(_FEWEST, len(at)) or rows < len(at) / 2:
        return False
    places = at.filter(known)
    for name in question.labels:
        mine, theirs = hidden[name].filter(known), shown[name].take(places)
        if not pc.all(pc.equal(mine, theirs)).as_py():
            return False
    return any(len(hidden[name].unique()) > 1 for name in question.labels)


def _take(solution: Sheet, names: list[str]) -> bytes:
    """Return some columns of a table as CSV, each row on the line where it stands."""
    problems = Problems(SolutionError)
    check_utf8(solution.text, problems)
    header = read_header(solution.text, problems)
    places = [header.cells.index(name) for name in names]
    file, at = io.StringIO(), header.line
    writer = csv.writer(file, lineterminator="\n")
    file.write("\n" * (at - 1))
    writer.writerow(names)
    for line, cells in even_rows(solution.text, header, DEFAULT_LIMITS, problems):
        file.write("\n" * (line - at - 1))
        writer.writerow([cells[place] for place in places])
        at = line
    problems.raise_any()
    return file.getvalue().encode()


def align(ids: RowIds, others: pa.StringArray) -> NDArray[np.int64]:
    """Return which row of other ids each of ours is; -1 where it is not among them."""
    mine = pc.cast(ids.values(np.arange(len(ids))), pa.string())
    rows = pc.index_in(mine, value_set=others)
    return np.asarray(rows.fill_null(-1).to_numpy(zero_copy_only=False), np.int64)
