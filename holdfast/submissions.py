"""Sending predictions and seeing what became of them."""

from collections.abc import Callable
from io import FileIO
from pathlib import Path
from typing import Annotated

import typer

from holdfast import output
from holdfast.client import Client, Json, competition_path, problem_lines
from holdfast.competitions import note_the_rest, some_rows, with_digits
from holdfast.errors import Failure
from holdfast.options import (
    Competition,
    CompetitionOption,
    CsvFlag,
    Everything,
    FormatOption,
    PageNumber,
    PageSize,
    PollInterval,
    Quiet,
    Wait,
    competition_of,
    format_of,
)
from holdfast.output import Column, Format
from holdfast.session import connect
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
    Column("final_low", "Final low"),
    Column("final_high", "Final high"),
    Column("summary", "Result"),
]


def submit(
    competition: Competition = None,
    option: CompetitionOption = None,
    *,
    file: Annotated[
        Path,
        typer.Option(
            "-f", "--file", exists=True, dir_okay=False, readable=True, help="Your predictions."
        ),
    ],
    message: Annotated[
        str, typer.Option("-m", "--message", help="A note for your team.", show_default=False)
    ] = "",
    claim: Annotated[
        float | None,
        typer.Option("--claim", help="The score you expect, where the competition asks for it."),
    ] = None,
    seconds: Wait = None,
    interval: PollInterval = 2.0,
    style: FormatOption = Format.table,
    quiet: Quiet = False,
) -> None:
    """Submit a prediction file; with --wait, say what the mechanism answered.

    Exits 1 if the file is refused or, after waiting, rejected.
    """
    slug = competition_of(competition, option)
    fields = {"message": message} | ({} if claim is None else {"claimed_score": repr(claim)})
    with connect() as client:
        sent = _send(client, slug, file, fields, quiet=quiet)
        _say_sent(slug, sent, quiet=quiet or style is not Format.table)
        if seconds is not None:
            sent = wait(client, sent, slug, seconds=seconds, interval=interval)
    if style is not Format.table:
        _show_one(sent, style)
    if seconds is not None:
        _say_result(sent, quiet=style is not Format.table)


def submissions(
    competition: Competition = None,
    option: CompetitionOption = None,
    page: PageNumber = 1,
    page_size: PageSize = 50,
    everything: Everything = False,
    style: FormatOption = Format.table,
    csv: CsvFlag = False,
) -> None:
    """List your team's submissions, the newest first."""
    slug = competition_of(competition, option)
    path, chosen = competition_path(slug, "submissions"), format_of(style, csv)
    with connect() as client:
        rows, count = some_rows(client, path, page=page, size=page_size, everything=everything)
    if chosen is not Format.json:
        rows = [_flat(row) for row in rows]
    output.show(rows, COLUMNS, chosen, empty="Your team has not submitted yet.")
    note_the_rest(len(rows), count, page, chosen)


def submission(
    reference: Annotated[
        list[str], typer.Argument(metavar="[COMP] NUMBER", help="Which submission of your team.")
    ],
    option: CompetitionOption = None,
    seconds: Wait = None,
    interval: PollInterval = 2.0,
    style: FormatOption = Format.table,
) -> None:
    """Show one submission: how far it is, what was released, or what is wrong with the file.

    With --wait, exits 1 unless something was released.
    """
    competition, number = _reference(reference)
    slug = competition_of(competition, option)
    with connect() as client:
        found = client.get(competition_path(slug, "submissions", number))
        if seconds is not None:
            found = wait(client, found, slug, seconds=seconds, interval=interval)
    _show_one(found, style)
    if seconds is not None and found["status"] != "released":
        raise typer.Exit(1)


def _reference(words: list[str]) -> tuple[str | None, int]:
    """`[COMP] NUMBER` as typed."""
    if len(words) > 2 or not words[-1].isdecimal():
        raise typer.BadParameter("give the submission's number, after the competition's name.")
    return (words[0] if len(words) == 2 else None), int(words[-1])


def _send(client: Client, slug: str, file: Path, fields: dict[str, str], *, quiet: bool) -> Json:
    size = file.stat().st_size
    if size == 0:
        raise Failure(f"{file} is empty. Nothing was sent.")
    path = competition_path(slug, "submissions")
    with output.progress(quiet) as bar:
        task = bar.add_task(f"Sending {file.name}", total=size)
        with _CountedFile(file, lambda sent: bar.advance(task, sent)) as counted:
            return client.upload(path, counted, file.name, fields)


class _CountedFile(FileIO):
    """A file that tells how many bytes were read from it."""

    def __init__(self, path: Path, advance: Callable[[int], None]) -> None:
        super().__init__(path)
        self._advance = advance

    def read(self, size: int | None = -1, /) -> bytes:
        data = super().read(-1 if size is None else size) or b""
        self._advance(len(data))
        return data


def _say_sent(slug: str, sent: Json, *, quiet: bool) -> None:
    if quiet:
        return
    output.say(f"Submission {sent['number']} to {slug} is received.")
    output.say(sent["limits"]["summary"])


def _say_result(final: Json, *, quiet: bool) -> None:
    """The result in the server's words; Failure unless something was released."""
    if final["status"] != "released":
        raise Failure(
            f"Submission {final['number']}: {final['summary']}", details=_problem_lines(final)
        )
    if not quiet:
        output.say(final["summary"], "bold")


def _problem_lines(final: Json) -> list[str]:
    return problem_lines(final["problems"], final["problem_count"])


def _flat(row: Json) -> Json:
    """The submission with the parts of its release, and of its final score, beside its own."""
    released, final = row.get("release") or {}, row.get("final") or {}
    interval = released.get("sampling") or {}
    exact = final.get("interval") or {}
    return {
        **row,
        **{key: interval.get(key) for key in ("low", "high")},
        **{key: released.get(key) for key in ("kind", "score_text")},
        "final_score_text": final.get("score_text"),
        **{f"final_{key}": exact.get(key) for key in ("low", "high")},
    }


def _show_one(found: Json, style: Format) -> None:
    if style is Format.json:
        output.show_json(found)
    elif style is Format.csv:
        output.show([_flat(found)], ONE_COLUMNS, style, empty="")
    else:
        flat = with_digits(with_digits(_flat(found)), "final_")
        known = [(c, flat[c.key]) for c in ONE_COLUMNS if flat.get(c.key) not in (None, "")]
        output.show_pairs((column.title, column.read(value)) for column, value in known)
        for line in _problem_lines(found):
            if line not in found["summary"]:
                output.say(f"  {line}")
