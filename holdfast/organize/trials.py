"""Trying a prediction file in a draft, before anybody else does."""

from pathlib import Path
from typing import Annotated

import typer

from holdfast import options, output
from holdfast.connection import connect, problem_lines
from holdfast.errors import Failure
from holdfast.options import competition_of
from holdfast.organize.commands import organize_path
from holdfast.output import Format
from holdfast.waiting import wait


def try_(
    competition: Annotated[
        str, typer.Argument(metavar="COMP", help="The competition's short name.")
    ],
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A prediction file.", **options.EXISTING)
    ],
    title: Annotated[
        str, typer.Option("--title", help="What it is called; the file's name if left out.")
    ] = "",
    claim: Annotated[
        float | None,
        typer.Option("--claim", help="The score you expect, where the competition asks for it."),
    ] = None,
    seconds: Annotated[float, typer.Option("--wait", min=0, help="Seconds to wait.")] = 600,
    interval: options.PollInterval = 2.0,
    style: options.OneFormatOption = Format.table,
) -> None:
    """Try a prediction file in a draft, as participants would send it, and report the answer.

    The scratch ledger that answers is thrown away when the competition opens. Exits 1 if the file
    is rejected.
    """
    slug = competition_of(competition, None)
    fields = {"title": title} if title else {}
    fields |= {} if claim is None else {"claimed_score": repr(claim)}
    with connect() as client:
        path = organize_path(slug, "trials")
        with file.open("rb") as content:
            files = {"file": (file.name, content, "text/csv")}
            sent = client.send("POST", path, data=fields, files=files)
        path, hint = organize_path(slug, "trials", sent["id"]), "The console's page Trial has it."
        found = wait(client, sent, path, "The trial", hint, seconds=seconds, interval=interval)
    if style is not Format.table:
        output.show_json(found)
    if found["status"] == "rejected":
        details = problem_lines(found["problems"], found["problem_count"])
        raise Failure(f"{file} was rejected.", details=details)
    if found["status"] == "failed":
        raise Failure(f"{file} could not be scored: {found['failure']}.")
    for answer in found["answers"] if style is Format.table else ():
        board = f"{answer['board']}: " * (len(found["answers"]) > 1)
        output.say(f"{board}{answer['summary']} {answer['score_text']}".rstrip(), "bold")
