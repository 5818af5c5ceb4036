"""Splitting labelled rows into Public, Private and Final on the organizer's own machine."""

from __future__ import annotations

import secrets
from enum import StrEnum
from fractions import Fraction
from pathlib import Path
from typing import Annotated

import typer

from holdfast import output
from holdfast.checking import require
from holdfast.connection import problem_lines
from holdfast.errors import Failure
from holdfast.options import EXISTING


class By(StrEnum):
    """What stays together, or in order."""

    ROW = "row"
    GROUP = "group"
    TIME = "time"


def split(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="Ids and labels of all rows.", **EXISTING)
    ],
    by: Annotated[By, typer.Option("--by", help="Draw rows or whole groups, or go by time.")],
    column: Annotated[
        str, typer.Option("--column", help="The column with the groups, or with the times.")
    ] = "",
    public: Annotated[float, typer.Option(min=0, help="Parts of the rows that are Public.")] = 20,
    private: Annotated[float, typer.Option(min=0, help="Parts that are Private.")] = 60,
    final: Annotated[float, typer.Option(min=0, help="Parts that are kept for the end.")] = 20,
    seed: Annotated[
        str, typer.Option("--seed", help="The same seed gives the same split; keep it secret.")
    ] = "",
    to: Annotated[
        Path, typer.Option("-o", "--output", help="Where the solution is written.")
    ] = Path("solution.csv"),
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
) -> None:
    """Write a solution file: the rows with a column Usage, without a look at any label.

    Rows that depend on each other (of a day, a patient, an author) belong in one set: split by
    group, and the column of groups becomes Group. By time, the earliest rows are Public and the
    latest Final; the column of times is left out. Nothing is sent.
    """
    if (by is By.ROW) == bool(column):
        raise typer.BadParameter("--by group and --by time need a --column, --by row takes none.")
    if to.exists() and not force:
        raise Failure(f"{to} is there already.", hint="Name another with -o, or add --force.")
    drawn = seed or secrets.token_hex(16)
    text, counts = _split(file, by, column, (public, private, final), drawn)
    to.write_text(text, encoding="utf-8", newline="")
    output.say(f"{to}: {', '.join(f'{rows:,} {name}' for name, rows in counts.items())}.", "bold")
    if not seed and by is not By.TIME:
        output.note(f"The seed was {drawn}. It is as secret as the split.")


def _split(
    file: Path, by: By, column: str, parts: tuple[float, ...], seed: str
) -> tuple[str, dict[str, int]]:
    require("Splitting", "scoring.split_table")
    from scoring.errors import ParameterError, SolutionError
    from scoring.split import Shares
    from scoring.split_table import split_table

    whole = sum(map(_exactly, parts))
    if not whole:
        raise typer.BadParameter("--public, --private and --final are all 0.")
    try:
        shares = Shares(*(_exactly(part) / whole for part in parts))
        with file.open("rb") as source:
            found = split_table(source, by.value, column, shares, seed.encode())
    except ParameterError as error:
        raise Failure(f"{file} was not split: {error.message}") from None
    except SolutionError as error:
        problems = [problem.render() for problem in error.problems]
        raise Failure(
            f"{file} was not split.", details=problem_lines(problems, error.total)
        ) from None
    return found.text, dict(found.rows)


def _exactly(part: float) -> Fraction:
    """Return a number as it was written."""
    return Fraction(str(part))
