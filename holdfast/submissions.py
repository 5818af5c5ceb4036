"""Sending predictions and seeing what became of them."""

from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from holdfast import options, output
from holdfast.client import Client
from holdfast.competitions import View, with_digits
from holdfast.connection import Json, problem_lines
from holdfast.errors import Failure
from holdfast.options import competition_of
from holdfast.output import Column, Format

COLUMNS = [
    Column("number", "No", numeric=True),
    Column("created_at", "Sent", output.local_time),
    Column("file_name", "File"),
    Column("message", "Message"),
    Column("campaign", "Campaign"),
    Column("status", "Status"),
    Column("kind", "Answer"),
    Column("score_text", "Score", numeric=True),
    Column("final_score_text", "Final", numeric=True),
]
ONE_COLUMNS = [
    *COLUMNS[:3],
    Column("size", "Size", output.size),
    Column("sha256", "SHA-256"),
    Column("user", "Sent by"),
    *COLUMNS[3:],
    Column("low", "Low"),
    Column("high", "High"),
    Column("guarantee_text", "Guarantee"),
    Column("final_low", "Final low"),
    Column("final_high", "Final high"),
    Column("summary", "Result"),
]


DIFFERENCE_COLUMNS = [
    Column("name", "Column"),
    Column("differing", "Rows that differ", numeric=True),
    Column("mean", "By, on average", numeric=True),
]


class Sort(StrEnum):
    """How the list of submissions may be ordered."""

    newest = "newest"
    oldest = "oldest"
    score = "score"
    file = "file"


class Status(StrEnum):
    """What becomes of a submission."""

    queued = "queued"
    scoring = "scoring"
    released = "released"
    rejected = "rejected"
    failed = "failed"


def submit(
    competition: options.Competition = None,
    option: options.CompetitionOption = None,
    *,
    file: Annotated[
        Path,
        typer.Option("-f", "--file", help="Your predictions.", **options.EXISTING),
    ],
    message: Annotated[str, typer.Option("-m", "--message", help="A note for your team.")] = "",
    claim: Annotated[
        float | None,
        typer.Option("--claim", help="The score you expect, where the competition asks for it."),
    ] = None,
    campaign: Annotated[
        str, typer.Option("--campaign", help="Your team's campaign that it belongs to.")
    ] = "",
    seconds: options.Wait = None,
    interval: options.PollInterval = 2.0,
    style: options.FormatOption = Format.table,
    quiet: options.Quiet = False,
) -> None:
    """Submit a prediction file; with --wait, report the answer.

    Exits 1 if the file is refused or, after waiting, rejected.
    """
    slug = competition_of(competition, option)
    in_words = style is Format.table
    with Client(progress=not quiet) as server:
        found = server.competition(slug)
        sent = found.submit(file, message=message, claim=claim, campaign=campaign)
        if in_words and not quiet:
            output.say(f"Submission {sent.number} to {slug} is received.")
            output.say(sent.json["limits"]["summary"])
        if seconds is not None:
            sent = found.wait(sent, seconds, interval)
    if not in_words:
        _show(sent.json, style)
    if seconds is None:
        return
    if sent.status != "released":
        raise Failure(
            f"Submission {sent.number}: {sent.summary}", details=_problem_lines(sent.json)
        )
    if in_words:
        answer = sent.release
        reach = answer.guarantee_text if answer and answer.certificate else ""
        output.say(sent.summary + f" Guarantee: {reach}." * bool(reach), "bold")


def submissions(
    competition: options.Competition = None,
    option: options.CompetitionOption = None,
    search: Annotated[
        str, typer.Option("-s", "--search", help="A part of a message, file name or SHA-256.")
    ] = "",
    status: Annotated[Status | None, typer.Option("--status", help="Only those.")] = None,
    campaign: Annotated[str, typer.Option("--campaign", help="Only those of this one.")] = "",
    sort: Annotated[Sort, typer.Option("--sort", help="Which come first.")] = Sort.newest,
    page: options.PageNumber = 1,
    page_size: options.PageSize = 50,
    everything: options.Everything = False,
    style: options.FormatOption = Format.table,
    csv: options.CsvFlag = False,
) -> None:
    """List your team's submissions."""
    slug = competition_of(competition, option)
    view = View(page, page_size, everything, Format.csv if csv else style)
    is_part = bool(search or status or campaign)
    with Client() as server:
        find = partial(
            server.competition(slug).submissions,
            search=search,
            status=status or "",
            campaign=campaign,
            sort=sort,
        )
        empty = "No submission is like that." if is_part else "Your team has not submitted yet."
        view.show(find, COLUMNS, empty, _flat)


def compare(
    reference: Annotated[
        list[str], typer.Argument(metavar="[COMP] A B", help="Which two submissions of your team.")
    ],
    option: options.CompetitionOption = None,
    style: options.FormatOption = Format.table,
) -> None:
    """Compare the predictions of two submissions."""
    competition, (a, b) = _numbers(reference, 2)
    slug = competition_of(competition, option)
    with Client() as server:
        found = server.competition(slug).compare(a, b)
    if style is Format.json:
        output.show_json(found.json)
        return
    output.show(found.json["columns"], DIFFERENCE_COLUMNS, style, empty="")
    if style is Format.table:
        output.say(f"{found.differing:,} of {found.rows:,} rows differ.")


def submission(
    reference: Annotated[
        list[str], typer.Argument(metavar="[COMP] NUMBER", help="Which submission of your team.")
    ],
    option: options.CompetitionOption = None,
    message: Annotated[
        str | None, typer.Option("-m", "--message", help="Replace its note by this one.")
    ] = None,
    seconds: options.Wait = None,
    interval: options.PollInterval = 2.0,
    style: options.FormatOption = Format.table,
) -> None:
    """Show one submission: its status, what was released, or what is wrong with the file.

    With --wait, exits 1 unless something was released.
    """
    name, (number,) = _numbers(reference, 1)
    slug = competition_of(name, option)
    with Client() as server:
        competition = server.competition(slug)
        if message is None:
            found = competition.submission(number)
        else:
            found = competition.edit_message(number, message)
        if seconds is not None:
            found = competition.wait(found, seconds, interval)
    _show(found.json, style)
    if seconds is not None and found.status != "released":
        raise typer.Exit(1)


def _numbers(reference: list[str], count: int) -> tuple[str | None, list[int]]:
    """Return the competition, where it is named, and the numbers that follow it."""
    names, numbers = reference[:-count], reference[-count:]
    if len(names) > 1 or len(numbers) < count or not all(each.isdecimal() for each in numbers):
        what = "the submission's number" if count == 1 else "the numbers of two submissions"
        raise typer.BadParameter(f"give {what}, after the competition's name.")
    return (names[0] if names else None), [int(each) for each in numbers]


def _problem_lines(found: Json) -> list[str]:
    return problem_lines(found["problems"], found["problem_count"])


def _flat(row: Json) -> Json:
    """Return the submission with the parts of its release and final score as own fields."""
    released, final = row.get("release") or {}, row.get("final") or {}
    interval, exact = released.get("sampling") or {}, final.get("interval") or {}
    return {
        **row,
        **{key: interval.get(key) for key in ("low", "high")},
        **{key: released.get(key) for key in ("kind", "score_text", "guarantee_text")},
        "final_score_text": final.get("score_text"),
        **{f"final_{key}": exact.get(key) for key in ("low", "high")},
    }


def _show(found: Json, style: Format) -> None:
    if style is Format.json:
        output.show_json(found)
        return
    flat = _flat(found)
    if style is Format.table:
        flat = with_digits(with_digits(flat), "final_")
    output.show_one(flat, ONE_COLUMNS, style)
    for line in _problem_lines(found) if style is Format.table else ():
        if line not in found["summary"]:
            output.say(f"  {line}")
