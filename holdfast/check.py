"""Checking a prediction file on this machine before it is sent."""

from pathlib import Path
from typing import Annotated

import typer

from holdfast import output
from holdfast.checking import GUESSED, local_rules, read_file, require, rules_of
from holdfast.connection import connect
from holdfast.options import (
    EXISTING,
    Competition,
    CompetitionOption,
    Quiet,
    SampleOption,
    competition_of,
)


def check(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Your predictions.", **EXISTING)],
    competition: Competition = None,
    option: CompetitionOption = None,
    sample: SampleOption = None,
    schema: Annotated[
        Path | None,
        typer.Option(
            "--schema",
            help="The columns, as `schema` in the API's JSON; guessed from the sample if left out.",
            **EXISTING,
        ),
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Check a prediction file on this machine, as the server will, before you send it.

    Against a competition, or without any server against --sample. Nothing is sent or counted.
    Exits 1 if the file would be rejected.
    """
    require("Checking here", "scoring.predictions")
    if sample is not None and not (competition or option):
        rules = local_rules(sample, schema)
    else:
        slug = competition_of(competition, option)
        with connect() as client:
            rules = rules_of(client, slug, sample, schema)
    found = read_file(file, rules)
    if quiet:
        return
    names = ", ".join(f"`{column.name}`" for column in rules.schema.columns)
    output.say(f"{file} is fine: {found.rows:,} rows with {names}.", "bold")
    if rules.guessed:
        output.note(GUESSED)
