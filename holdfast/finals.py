"""The end of a competition: the submissions that your team selects for the final scores."""

from typing import Annotated

import typer

from holdfast import output
from holdfast.client import competition_path, connect
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
    slug = competition_of(None if option else next(iter(given), None), option)
    numbers = given if option else given[1:]
    wrong = [number for number in numbers if not number.isdecimal()]
    if wrong:
        raise typer.BadParameter(f"{wrong[0]!r} is not the number of a submission.")
    if clear and numbers:
        raise typer.BadParameter("--clear selects none; leave the numbers out.")
    path, selection = competition_path(slug, "finals"), {"numbers": list(map(int, numbers))}
    with connect() as client:
        found = client.send("PUT", path, json=selection) if numbers or clear else client.get(path)
    output.show_one(found, COLUMNS, style)
