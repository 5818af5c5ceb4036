"""The end of a competition: what your team enters for the final scores."""

from typing import Annotated

import typer

from holdfast import output
from holdfast.client import competition_path
from holdfast.options import CompetitionOption, competition_of
from holdfast.output import Column, Format
from holdfast.session import connect


def _listed(numbers: list[int]) -> str:
    return ", ".join(map(str, numbers))


CHOICE_COLUMNS = [
    Column("limit", "At most"),
    Column("numbers", "Chosen", _listed),
    Column("entered", "Entered", _listed),
    Column("may_change", "Open", lambda may: "yes" if may else "no, the finals have started"),
    Column("summary", "Result"),
]


def finals(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[COMP] [NUMBERS]...", help="Submissions of your team to enter; none: show."
        ),
    ] = None,
    option: CompetitionOption = None,
    clear: Annotated[
        bool, typer.Option("--clear", help="Take the choice back: your best score stands in.")
    ] = False,
    style: Annotated[Format, typer.Option("--format", help="How it is printed.")] = Format.table,
) -> None:
    """Show or choose what your team enters for the final scores.

    Numbers replace the whole choice. It is open until the organizer starts the finals.
    """
    slug, numbers = _chosen(words or [], option)
    if clear and numbers:
        raise typer.BadParameter("--clear takes the choice back; leave the numbers out.")
    path = competition_path(slug, "finals")
    with connect() as client:
        found = client.put(path, {"numbers": numbers}) if numbers or clear else client.get(path)
    if style is Format.table:
        output.show_pairs((each.title, each.read(found[each.key])) for each in CHOICE_COLUMNS)
    else:
        output.show([found], CHOICE_COLUMNS, style, empty="")


def _chosen(words: list[str], option: str | None) -> tuple[str, list[int]]:
    """`[COMP] [NUMBERS]...` as typed."""
    rest = words if option else words[1:]
    slug = competition_of(None if option else next(iter(words), None), option)
    wrong = [word for word in rest if not word.isdecimal()]
    if wrong:
        raise typer.BadParameter(f"{wrong[0]!r} is not the number of a submission.")
    return slug, [int(word) for word in rest]
