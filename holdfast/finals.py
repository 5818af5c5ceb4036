"""The end of a competition: the submissions that your team selects for the final scores."""

from typing import Annotated

import typer

from holdfast import output
from holdfast.client import Client
from holdfast.config import default_competition
from holdfast.options import CompetitionOption, OneFormatOption, competition_of
from holdfast.output import Column, Format


def _listed(numbers: list[int]) -> str:
    return ", ".join(map(str, numbers))


COLUMNS = [
    Column("limit", "At most"),
    Column("numbers", "Selected", _listed),
    Column("entered", "Entered", _listed),
    Column("may_change", "Open", lambda may: "yes" if may else "no, the finals have started"),
    Column("summary", "Result"),
]


def finals(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[COMP] [NUMBERS]...",
            help="Submissions of your team to select; without numbers, show the selection.",
        ),
    ] = None,
    option: CompetitionOption = None,
    clear: Annotated[
        bool, typer.Option("--clear", help="Select none: your best score is used.")
    ] = False,
    style: OneFormatOption = Format.table,
) -> None:
    """Show or select what your team enters for the final scores.

    Numbers replace the whole selection. It is open until the organizer starts the finals.
    """
    given = words or []
    # A lone number is a submission of the default competition, as in `holdfast submission 3`.
    named = not option and bool(given) and not (given[0].isdecimal() and default_competition())
    slug = competition_of(given[0] if named else None, option)
    numbers = given[1:] if named else given
    wrong = [number for number in numbers if not number.isdecimal()]
    if wrong:
        raise typer.BadParameter(f"{wrong[0]!r} is not the number of a submission.")
    if clear and numbers:
        raise typer.BadParameter("--clear selects none; leave the numbers out.")
    with Client() as server:
        competition = server.competition(slug)
        chosen = numbers or clear
        found = competition.select(map(int, numbers)) if chosen else competition.selection()
    output.show_one(found.json, COLUMNS, style)
