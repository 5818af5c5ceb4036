"""Sending predictions and seeing what became of them."""

from collections.abc import Callable
from io import FileIO
from pathlib import Path
from typing import Annotated

import typer

from holdfast import options, output
from holdfast.client import Client, Json, competition_path, connect, problem_lines
from holdfast.competitions import View, with_digits
from holdfast.errors import Failure
from holdfast.options import competition_of
from holdfast.output import Column, Format
from holdfast.waiting import wait

COLUMNS = [
    Column("number", "No", numeric=True),
    Column("created_at", "Sent", output.local_time),
    Column("file_name", "File"),
    Column("message", "Message"),
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
    seconds: options.Wait = None,
    interval: options.PollInterval = 2.0,
    style: options.FormatOption = Format.table,
    quiet: options.Quiet = False,
) -> None:
    """Submit a prediction file; with --wait, report the answer.

    Exits 1 if the file is refused or, after waiting, rejected.
    """
    slug = competition_of(competition, option)
    fields = {"message": message} | ({} if claim is None else {"claimed_score": repr(claim)})
    if not (size := file.stat().st_size):
        raise Failure(f"{file} is empty. Nothing was sent.")
    in_words = style is Format.table
    with connect() as client:
        path = competition_path(slug, "submissions")
        with output.progress(quiet) as bar:
            task = bar.add_task(f"Sending {file.name}", total=size)
            with CountedFile(file, lambda sent: bar.advance(task, sent)) as counted:
                files = {"file": (file.name, counted, "text/csv")}
                sent = client.send("POST", path, data=fields, files=files)
        if in_words and not quiet:
            output.say(f"Submission {sent['number']} to {slug} is received.")
            output.say(sent["limits"]["summary"])
        if seconds is not None:
            sent = _wait(client, sent, slug, seconds, interval)
    if not in_words:
        _show(sent, style)
    if seconds is None:
        return
    if sent["status"] != "released":
        raise Failure(
            f"Submission {sent['number']}: {sent['summary']}", details=_problem_lines(sent)
        )
    if in_words:
        reach = _flat(sent)["guarantee_text"]
        output.say(sent["summary"] + f" Guarantee: {reach}." * bool(reach), "bold")


def submissions(
    competition: options.Competition = None,
    option: options.CompetitionOption = None,
    page: options.PageNumber = 1,
    page_size: options.PageSize = 50,
    everything: options.Everything = False,
    style: options.FormatOption = Format.table,
    csv: options.CsvFlag = False,
) -> None:
    """List your team's submissions, the newest first."""
    path = competition_path(competition_of(competition, option), "submissions")
    view = View(page, page_size, everything, Format.csv if csv else style)
    with connect() as client:
        view.show(client, path, COLUMNS, "Your team has not submitted yet.", _flat)


def submission(
    reference: Annotated[
        list[str], typer.Argument(metavar="[COMP] NUMBER", help="Which submission of your team.")
    ],
    option: options.CompetitionOption = None,
    seconds: options.Wait = None,
    interval: options.PollInterval = 2.0,
    style: options.FormatOption = Format.table,
) -> None:
    """Show one submission: its status, what was released, or what is wrong with the file.

    With --wait, exits 1 unless something was released.
    """
    if len(reference) > 2 or not reference[-1].isdecimal():
        raise typer.BadParameter("give the submission's number, after the competition's name.")
    slug = competition_of(reference[0] if len(reference) == 2 else None, option)
    with connect() as client:
        found = client.get(competition_path(slug, "submissions", int(reference[-1])))
        if seconds is not None:
            found = _wait(client, found, slug, seconds, interval)
    _show(found, style)
    if seconds is not None and found["status"] != "released":
        raise typer.Exit(1)


class CountedFile(FileIO):
    """A file that reports how many bytes were read from it."""

    def __init__(self, path: Path, advance: Callable[[int], None]) -> None:
        """Open the file; `advance` gets the number of bytes of each read."""
        super().__init__(path)
        self._advance = advance

    def read(self, size: int | None = -1, /) -> bytes:
        data = super().read(-1 if size is None else size) or b""
        self._advance(len(data))
        return data


def _wait(client: Client, sent: Json, slug: str, seconds: float, interval: float) -> Json:
    number = sent["number"]
    path = competition_path(slug, "submissions", number)
    hint = f"To look at it later, run `holdfast submission {slug} {number}`."
    name = f"Submission {number}"
    return wait(client, sent, path, name, hint, seconds=seconds, interval=interval)


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
