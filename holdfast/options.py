"""Arguments and options that several commands share, spelled as on Kaggle."""

from pathlib import Path
from typing import Annotated, Any

import typer

from holdfast import config, output
from holdfast.connection import SLUG
from holdfast.output import Format
from holdfast.waiting import WAIT_SECONDS

Competition = Annotated[
    str | None, typer.Argument(metavar="COMP", help="The competition's short name.")
]
CompetitionOption = Annotated[
    str | None, typer.Option("-c", "--competition", metavar="COMP", help="The same, as an option.")
]
EXISTING: dict[str, Any] = {"exists": True, "dir_okay": False, "readable": True}
SampleOption = Annotated[
    Path | None,
    typer.Option("--sample", help="The sample submission, if it is here already.", **EXISTING),
]
FormatOption = Annotated[Format, typer.Option("--format", help="How to print the list.")]
OneFormatOption = Annotated[Format, typer.Option("--format", help="How to print it.")]
CsvFlag = Annotated[bool, typer.Option("-v", "--csv", help="Short for --format csv.")]
Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="No progress bar, fewer words.")]
PageNumber = Annotated[int, typer.Option("--page", min=1, help="Which page of the list.")]
PageSize = Annotated[int, typer.Option("--page-size", min=1, max=200, help="Rows on a page.")]
Everything = Annotated[bool, typer.Option("--all", help="All rows, not one page.")]
PollInterval = Annotated[
    float, typer.Option("--poll-interval", min=0.2, help="Seconds between two checks.")
]
Wait = Annotated[
    float | None,
    typer.Option(
        "--wait",
        metavar="[SECONDS]",
        min=0,
        help="Wait for the result, for 600 seconds unless you give another number.",
    ),
]

SECONDS = {"--wait": WAIT_SECONDS, "--watch": 15.0}


def competition_of(positional: str | None, option: str | None) -> str:
    """Return the one competition that is named, or the default one, as Kaggle's command reports
    it; anything else is wrong usage.
    """
    if positional and option and positional != option:
        raise typer.BadParameter(f"two competitions are named, {positional} and {option}.")
    slug = positional or option
    if not slug and (slug := config.default_competition()):
        output.note(f"Using competition: {slug}")
    if not slug:
        raise typer.BadParameter("name a competition; `holdfast competitions list` shows them.")
    if not SLUG.fullmatch(slug):
        raise typer.BadParameter(
            f"{slug!r} is no competition's short name: those have letters, digits, - and _ only."
        )
    return slug


def fill_seconds(arguments: list[str]) -> list[str]:
    """Give a bare `--wait` or `--watch` its number, so that the option's value can be left out."""
    filled = []
    for argument, following in zip(arguments, [*arguments, ""][1:], strict=True):
        bare = argument in SECONDS and not following.replace(".", "", 1).isdigit()
        filled.append(f"{argument}={SECONDS[argument]:g}" if bare else argument)
    return filled
