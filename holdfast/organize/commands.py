"""Looking at a competition and running it: what takes no files."""

import sys
from datetime import datetime
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from holdfast import options, output
from holdfast.client import Client
from holdfast.competitions import Search, View
from holdfast.connection import Json, competition_path, connect
from holdfast.errors import Failure
from holdfast.options import competition_of
from holdfast.output import Column, Format
from holdfast.records import Record

Yes = Annotated[bool, typer.Option("--yes", help="Don't ask: do it.")]


class Role(StrEnum):
    """What an organizer may do."""

    OWNER = "owner"
    EDITOR = "editor"
    JUDGE = "judge"
    VIEWER = "viewer"


LIST_COLUMNS = [
    Column("slug", "Competition"),
    Column("title", "Title"),
    Column("phase", "Phase"),
    Column("opens_at", "Opens", output.local_time),
    Column("closes_at", "Closes", output.local_time),
    Column("teams", "Teams", numeric=True),
    Column("submissions", "Submissions", numeric=True),
    Column("failed", "Failed", numeric=True),
]
STATUS_COLUMNS = [
    Column("title", "Title"),
    Column("url", "Page"),
    Column("role", "You are"),
    Column("phase", "Phase"),
    Column("opens_at", "Opens", output.local_time),
    Column("closes_at", "Closes", output.local_time),
    Column("stage", "End"),
    Column("rows", "Solution"),
    Column("teams", "Teams"),
    Column("queue", "Submissions"),
    Column("promise", "Guarantee"),
    Column("paused", "Paused"),
]
PEOPLE_COLUMNS = [
    Column("username", "User"),
    Column("role", "Role"),
    Column("since", "Since", output.local_time),
]
BOARD_COLUMNS = [
    Column("mechanism", "Board"),
    Column("half_width", "At the end ±", "{:.3g}".format, numeric=True),
    Column("told_apart", "Pairs told apart", "{:.0%}".format, numeric=True),
    Column("step", "Step", "{:.3g}".format, numeric=True),
    Column("is_used", "Used", lambda used: "yes" if used else ""),
    Column("verdict", "Verdict"),
]
FINALS_COLUMNS = [
    Column("stage", "End"),
    Column("waiting", "Waiting for an answer"),
    Column("teams", "Teams with an answer"),
    Column("chose", "of these chose"),
    Column("entered", "Entered"),
    Column("scored", "Measured"),
]


def organize_path(slug: str, *rest: str | int) -> str:
    """Return the API's path below a competition that one runs."""
    return f"organize/{competition_path(slug, *rest)}"


def list_(
    search: Search = "",
    page: options.PageNumber = 1,
    page_size: options.PageSize = 50,
    everything: options.Everything = False,
    style: options.FormatOption = Format.table,
    csv: options.CsvFlag = False,
) -> None:
    """List the competitions that you run."""
    view = View(page, page_size, everything, Format.csv if csv else style)
    path = "organize/competitions/"
    with Client() as server:
        find = partial(server.rows, Record, path, search=search)
        view.show(find, LIST_COLUMNS, "You run no competition here.")


def boards(
    competition: options.Competition = None,
    option: options.CompetitionOption = None,
    use: Annotated[
        str, typer.Option("--use", metavar="MECHANISM", help="Take this one, in a draft.")
    ] = "",
    style: options.OneFormatOption = Format.table,
) -> None:
    """Compare the boards that a competition may have, by a short rehearsal, or take one."""
    path = organize_path(competition_of(competition, option), "plan")
    with connect() as client:
        found = client.send("POST", path, json={"mechanism": use}) if use else client.get(path)
    empty = "There are none without metric and solution."
    output.show(found["boards"], BOARD_COLUMNS, style, empty)


def status(
    competition: options.Competition = None,
    option: options.CompetitionOption = None,
    style: options.OneFormatOption = Format.table,
) -> None:
    """Show where a competition stands: its phase, queue, teams, guarantee, and the checklist.

    Exits 1 where a draft's checklist is not green.
    """
    slug = competition_of(competition, option)
    with connect() as client:
        found = client.get(organize_path(slug))
        is_draft = found["opened_at"] is None
        checklist = client.get(organize_path(slug, "checklist")) if is_draft else None
    if style is Format.json:
        output.show_json(found | {"checklist": checklist})
    else:
        output.show_one(_state(found), STATUS_COLUMNS, style)
        if checklist and style is Format.table:
            show_checklist(checklist)
    if checklist and not checklist["is_ready"]:
        raise typer.Exit(1)


def open_(
    competition: options.Competition = None,
    option: options.CompetitionOption = None,
    style: options.OneFormatOption = Format.table,
) -> None:
    """Open a draft whose checklist is green."""
    _act(competition_of(competition, option), "open", "{title} is open: {url}", style)


def extend(
    competition: options.Competition = None,
    option: options.CompetitionOption = None,
    *,
    until: Annotated[
        str, typer.Option("--until", help="The new end, such as 2027-01-31 or 2027-01-31T18:00Z.")
    ],
    style: options.OneFormatOption = Format.table,
) -> None:
    """Let a competition close later. A day alone means its end, here."""
    slug = competition_of(competition, option)
    body = {"closes_at": moment(until).isoformat()}
    with connect() as client:
        found = client.send("PATCH", organize_path(slug), json=body)
    _report(found, f"{slug} closes at {output.local_time(found['closes_at'])}.", style)


def moment(text: str) -> datetime:
    """Return a moment as people type it, in this machine's time zone unless it says otherwise."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise typer.BadParameter(
            f"{text!r} is no moment. One looks like 2027-01-31 or 2027-01-31T18:00Z."
        ) from None
    if "T" not in text and " " not in text:
        found = found.replace(hour=23, minute=59)
    return found.astimezone()


def close(
    competition: options.Competition = None,
    option: options.CompetitionOption = None,
    yes: Yes = False,
    style: options.OneFormatOption = Format.table,
) -> None:
    """Close a competition now, before its time. There is no way back."""
    slug = competition_of(competition, option)
    confirm(f"Close {slug} now, for good?", yes)
    _act(slug, "close", "{title} is closed. Files accepted before will be scored.", style)


def finals(
    competition: options.Competition = None,
    option: options.CompetitionOption = None,
    start: Annotated[
        bool, typer.Option("--start", help="Start the final scoring: choosing ends, for good.")
    ] = False,
    accept_failed: Annotated[
        bool, typer.Option("--accept-failed", help="Also where submissions failed on our side.")
    ] = False,
    accept_lost: Annotated[
        bool, typer.Option("--accept-lost", help="Also without what a restored backup lacks.")
    ] = False,
    yes: Yes = False,
    style: options.OneFormatOption = Format.table,
) -> None:
    """Show how far the end has come, or start the final scoring."""
    slug = competition_of(competition, option)
    if (accept_failed or accept_lost) and not start:
        raise typer.BadParameter("--accept-failed and --accept-lost go with --start.")
    if start:
        confirm(f"Start the final scoring of {slug}? Teams can't choose any more.", yes)
    with connect() as client:
        if start:
            path = organize_path(slug, "finals", "start")
            body = {"accept_failed": accept_failed, "accept_lost": accept_lost}
            client.send("POST", path, json=body)
        found = client.get(organize_path(slug, "finals"))
    if style is Format.json:
        output.show_json(found)
        return
    output.show_one(found, FINALS_COLUMNS, style)
    for each in (*found["failed"], *found["failures"]) if style is Format.table else ():
        output.say(f"{each['team']['name']} #{each['number']} failed: {each['failure']}")


def reveal(
    competition: options.Competition = None,
    option: options.CompetitionOption = None,
    yes: Yes = False,
    style: options.OneFormatOption = Format.table,
) -> None:
    """Show the final scores to everybody. There is no way back."""
    slug = competition_of(competition, option)
    confirm(f"Reveal the final scores of {slug} to everybody?", yes)
    _act(slug, "finals/reveal", "The final scores are revealed: {url}leaderboard/", style)


def publish(
    competition: options.Competition = None,
    option: options.CompetitionOption = None,
    yes: Yes = False,
    style: options.OneFormatOption = Format.table,
) -> None:
    """Publish solution and secret after the end, so that anybody can verify every answer.

    There is no way back: the rows can't be hidden again.
    """
    slug = competition_of(competition, option)
    confirm(f"Publish the true labels of {slug} and its secret, for good?", yes)
    with connect() as client:
        found = client.send("POST", organize_path(slug, "publication"), json={})
    _report(found, "Workers are writing the files; the ledger page will list them.", style)


def announce(
    competition: Annotated[
        str, typer.Argument(metavar="COMP", help="The competition's short name.")
    ],
    title: Annotated[str, typer.Argument(help="What it is about, in a few words.")],
    message: Annotated[str, typer.Option("-m", "--message", help="The text, Markdown.")] = "",
    file: Annotated[
        Path | None,
        typer.Option("-f", "--file", help="A file with the text.", **options.EXISTING),
    ] = None,
    style: options.OneFormatOption = Format.table,
) -> None:
    """Announce something: on the pages, in the feed, by mail to the members who want it."""
    if message and file:
        raise typer.BadParameter("-m and -f are two texts; give one of them.")
    slug = competition_of(competition, None)
    body = {"title": title, "text": read_text(file) if file else message}
    with connect() as client:
        made = client.send("POST", organize_path(slug, "announcements"), json=body)
    _report(made, f"Announced as number {made['number']}.", style)


def read_text(path: Path) -> str:
    """Return a text file's content. Raises Failure where it is none."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise Failure(f"{path} is not encoded in UTF-8.") from None


def people(
    competition: options.Competition = None,
    option: options.CompetitionOption = None,
    add: Annotated[str, typer.Option("--add", help="Give this user a role.")] = "",
    role: Annotated[Role, typer.Option("--role", help="Which role.")] = Role.EDITOR,
    remove: Annotated[str, typer.Option("--remove", help="Take the role from this user.")] = "",
    invite: Annotated[
        list[str] | None,
        typer.Option("--invite", help="Invite this mail address or user, once for each."),
    ] = None,
    class_list: Annotated[
        Path | None,
        typer.Option(
            "--class-list", help="Invite all in this CSV: name, mail, alias.", **options.EXISTING
        ),
    ] = None,
    send: Annotated[bool, typer.Option("--send", help="Mail the class its links.")] = False,
    style: options.FormatOption = Format.table,
) -> None:
    """List who runs a competition, give somebody a role or take it back, or invite people."""
    slug = competition_of(competition, option)
    with connect() as client:
        if invite:
            done = client.send("POST", organize_path(slug, "people"), json={"people": invite})
            output.note(f"Invited: {done['by_mail']} by mail, {done['by_account']} by account.")
        if class_list:
            with class_list.open("rb") as file:
                path, fields = organize_path(slug, "people", "class-list"), {"send": str(send)}
                files = {"file": (class_list.name, file, "text/csv")}
                done = client.send("POST", path, data=fields, files=files)
            output.note(f"On the list: {done['new']} more, {done['known']} were there.")
        if add:
            path = organize_path(slug, "organizers", add)
            client.send("PUT", path, json={"role": role.value})
        if remove:
            client.send("DELETE", organize_path(slug, "organizers", remove))
        found = list(client.every(organize_path(slug, "organizers")))
    output.show(found, PEOPLE_COLUMNS, style)


def _act(slug: str, action: str, told: str, style: Format) -> None:
    with connect() as client:
        found = client.send("POST", organize_path(slug, *action.split("/")), json={})
    _report(found, told.format(**found), style)


def _report(found: Json, told: str, style: Format) -> None:
    """Say what was done; for programs, print the server's answer."""
    if style is Format.table:
        output.say(told)
    else:
        output.show_json(found)


def confirm(question: str, yes: bool) -> None:
    """Ask, unless it is agreed already; what runs without a person has to agree by `--yes`."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise typer.BadParameter("this can't be undone; add --yes to agree to it.")
    if output.ask(f"{question} [y/N] ").lower() not in ("y", "yes"):
        raise Failure("Nothing was changed.")


def _state(found: Json) -> Json:
    """Return what the table shows of a competition."""
    work, solution, guarantee = found["work"], found["solution"], found["guarantee"]
    waiting = work["queued"] + work["scoring"]
    since = f" since {output.local_time(work['waiting_since'])}" if work["waiting_since"] else ""
    rows = ("public", "private", "final", "ignored")
    counts = [f"{solution[f'{each}_rows']:,} {each.capitalize()}" for each in rows] * bool(solution)
    return {
        **found,
        "rows": ", ".join(counts) or "not sealed yet",
        "teams": work["teams"],
        "queue": f"{work['submissions']:,}, {waiting:,} waiting{since}, {work['failed']:,} failed",
        "promise": guarantee["sentence"] if guarantee else "",
    }


def show_checklist(checklist: Json) -> None:
    """Print what is missing before the opening, and the warnings."""
    for check in checklist["checks"]:
        mark = "ok     " if check["passed"] else "missing"
        output.say(f"{mark}  {check['title']}: {check['detail']}")
    for warning in checklist["warnings"]:
        output.say(f"warning  {warning['title']}: {warning['detail']}")
