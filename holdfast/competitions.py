"""What a participant reads and does in a competition, except submissions."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Annotated

import typer

from holdfast import options, output
from holdfast.client import Client, Json, competition_path, connect, write
from holdfast.download import download, local_name
from holdfast.errors import Failure
from holdfast.options import competition_of
from holdfast.output import Column, Format

Search = Annotated[str, typer.Option("-s", "--search", help="Words to look for.")]
Folder = Annotated[
    Path | None,
    typer.Option("-p", "--path", help="The folder to save in; the current one if left out."),
]
LONGEST_BOARD = 250_000_000  # bytes of CSV: a million teams and more
LIST_COLUMNS = [
    Column("slug", "Competition"),
    Column("title", "Title"),
    Column("phase", "Phase"),
    Column("closes_at", "Closes", output.local_time),
    Column("metric", "Metric"),
    Column("mechanism", "Mechanism"),
    Column("teams", "Teams", numeric=True),
    Column("joined", "Joined", lambda joined: "yes" if joined else ""),
]
FILE_COLUMNS = [
    Column("name", "Name"),
    Column("size", "Size", output.size, numeric=True),
    Column("created_at", "Added", output.local_time),
    Column("description", "Description"),
    Column("sha256", "SHA-256", lambda digest: digest[:12]),
]
BOARD_COLUMNS = [
    Column("rank", "Rank", numeric=True),
    Column("team", "Team"),
    Column("score_text", "Score", numeric=True),
    Column("low", "Low", numeric=True),
    Column("high", "High", numeric=True),
    Column("entries", "Entries", numeric=True),
    Column("last_improvement_at", "Improved", output.local_time),
    Column("last_answer", "Answer"),
    Column("mark", "Mark"),
]
FINAL_COLUMNS = [
    BOARD_COLUMNS[0],
    Column("places", "Could be"),
    *BOARD_COLUMNS[1:5],
    Column("released_score_text", "Released", numeric=True),
    Column("released_rank", "Rank there", numeric=True),
    Column("move", "Move", lambda move: f"{move:+d}" if move else "0", numeric=True),
    Column("mark", "Mark"),
]
MARKS = (("is_mine", "you"), ("is_baseline", "baseline"), ("is_verified", "verified"))
TEAM_COLUMNS = [
    Column("name", "Team"),
    Column("competition", "Competition"),
    Column(
        "members",
        "Members",
        lambda team: ", ".join(x["username"] + " (captain)" * x["is_captain"] for x in team),
    ),
    Column("created_at", "Since", output.local_time),
]
LIMITS = Column("limits", "Submissions", lambda limits: str(limits["summary"]))


def list_(
    search: Search = "",
    page: options.PageNumber = 1,
    page_size: options.PageSize = 50,
    everything: options.Everything = False,
    style: options.FormatOption = Format.table,
    csv: options.CsvFlag = False,
) -> None:
    """List the competitions that you may see."""
    view = View(page, page_size, everything, Format.csv if csv else style, search)
    with connect() as client:
        view.show(client, "competitions/", LIST_COLUMNS, "No competition is open to you here.")


def files(
    competition: options.Competition = None,
    option: options.CompetitionOption = None,
    style: options.FormatOption = Format.table,
    csv: options.CsvFlag = False,
) -> None:
    """List a competition's files."""
    slug = competition_of(competition, option)
    with connect() as client:
        found = files_of(client, slug)
    output.show(found, FILE_COLUMNS, Format.csv if csv else style, empty="No files yet.")


def files_of(client: Client, slug: str) -> list[Json]:
    """Return the server's entries of a competition's files."""
    return list(client.get(competition_path(slug, "files"))["results"])


@dataclass(frozen=True)
class View:
    """The part of a list to print, and how."""

    page: int
    page_size: int
    everything: bool
    style: Format
    search: str = ""

    def show(
        self,
        client: Client,
        path: str,
        columns: Sequence[Column],
        empty: str,
        flatten: Callable[[Json], Json] = dict,
    ) -> list[Json]:
        """Print the rows and return them; `empty` is the sentence in place of an empty table.

        If there are more rows, stderr says so even when CSV goes to a file: none should be missed.
        """
        params = {"search": self.search} if self.search else {}
        if self.everything:
            rows = list(client.every(path, **params))
            count = len(rows)
        else:
            answer = client.get(path, **params, page=self.page, page_size=self.page_size)
            rows, count = list(answer["results"]), int(answer["count"])
        if self.style is not Format.json:
            rows = [flatten(row) for row in rows]
        output.show(rows, columns, self.style, empty)
        if rows and len(rows) < count:
            rest = f"--page {self.page + 1} shows the next, --all all of them."
            output.note(f"{len(rows):,} of {count:,}; {rest}")
        return rows


def download_(
    competition: options.Competition = None,
    option: options.CompetitionOption = None,
    file: Annotated[str, typer.Option("-f", "--file", help="Only this file.")] = "",
    path: Folder = None,
    here: Annotated[
        bool, typer.Option("-w", "--wp", help="Save in the current folder, as without -p.")
    ] = False,
    force: Annotated[
        bool, typer.Option("-o", "--force", help="Replace files that exist already.")
    ] = False,
    quiet: options.Quiet = False,
) -> None:
    """Download a competition's files, all of them or one.

    Files that are here and unchanged are skipped; a broken download resumes where it stopped.
    """
    slug = competition_of(competition, option)
    if here and path:
        raise typer.BadParameter("-w and -p name two folders; give one of them.")
    folder = path or Path()
    with connect() as client:
        entries = files_of(client, slug)
        chosen = [entry for entry in entries if file in ("", entry["name"])]
        if not chosen:
            names = ", ".join(str(entry["name"]) for entry in entries)
            unknown = f"{slug} has no file named {file!r}. Its files: {names}."
            raise Failure(unknown if names else f"{slug} has no files yet.")
        for entry in chosen:
            name = local_name(str(entry["name"]))
            with output.progress(quiet) as bar:
                advance = partial(bar.advance, bar.add_task(name, total=entry["size"]))
                is_new = download(client, slug, entry, folder, force=force, advance=advance)
            if not quiet:
                output.say(f"{folder / name}: {'saved' if is_new else 'unchanged, skipped'}")


def leaderboard(
    competition: options.Competition = None,
    option: options.CompetitionOption = None,
    show: Annotated[
        bool, typer.Option("-s", "--show", help="Show the board, which is the default.")
    ] = False,
    save: Annotated[
        bool, typer.Option("-d", "--download", help="Save the whole board as a CSV file.")
    ] = False,
    final: Annotated[
        bool, typer.Option("--final", help="The final board, once it is revealed.")
    ] = False,
    path: Folder = None,
    search: Annotated[str, typer.Option("--search", help="Only teams with this in the name.")] = "",
    page: options.PageNumber = 1,
    page_size: options.PageSize = 50,
    everything: options.Everything = False,
    style: options.FormatOption = Format.table,
    csv: options.CsvFlag = False,
    quiet: options.Quiet = False,
) -> None:
    """Show the leaderboard: the released scores, and your place.

    Low and High are the ends of the 95 % sampling interval; below the board stands what it
    guarantees. With --final, Could be is the places that a team's expected score could have, and
    the CSV is that of the website: all rows, with simultaneous intervals.
    """
    slug = competition_of(competition, option)
    board = "final" if final else "leaderboard"
    address = competition_path(slug, board)
    view = View(page, page_size, everything, Format.csv if csv else style, search)
    with connect() as client:
        if save:
            target = (path or Path()) / f"{slug}-{board}.csv"
            client.save(address, target, LONGEST_BOARD, format="csv")
            if not quiet:
                output.note(f"Saved as {target}.")
        if save and not show:
            return
        if final and view.style is Format.csv:
            _print_file(client, address, search)
            return
        columns = FINAL_COLUMNS if final else BOARD_COLUMNS
        flatten = partial(_flat, digits=view.style is Format.table)
        rows = view.show(client, address, columns, "No team is on the board yet.", flatten)
        about = client.get(address, page_size=1)
    for name in ("sentence", "questions_text"):
        if about.get("guarantee"):
            output.note(about["guarantee"][name])
    # Your place is on the screen already if one of the rows is yours.
    if about.get("me") and not any(row.get("is_mine") for row in rows):
        output.note(_own_place(about["me"]))


def _print_file(client: Client, address: str, search: str) -> None:
    """Print the website's file of the final board, which has all rows."""
    if search:
        raise typer.BadParameter("the final board's CSV has all rows; leave --search out.")
    whole = BytesIO()
    with client.stream(address, format="csv") as response:
        write(response, whole, LONGEST_BOARD)
    sys.stdout.write(whole.getvalue().decode())


def _own_place(mine: Json) -> str:
    text = (mine.get("best") or mine)["score_text"]
    score = "no score yet" if text is None else f"with {text}"
    return f"You: rank {mine['rank'] or 'hidden'}, {mine['team']}, {score}."


def _flat(row: Json, *, digits: bool) -> Json:
    """Return the row with its interval and, on the final board, its best entry as own fields."""
    entry = row.get("best") or row
    interval = entry.get("sampling") or {}
    mark = ", ".join(word for key, word in MARKS if row.get(key))
    flat = {**row, **interval, "score_text": entry["score_text"], "mark": mark}
    if "best" in row:
        flat["places"] = _places(row["best_place"], row["worst_place"])
    return with_digits(flat) if digits else flat


def _places(best: int | None, worst: int | None) -> str:
    return "" if best is None else str(best) if best == worst else f"{best} to {worst}"


def with_digits(row: Json, prefix: str = "") -> Json:
    """Return the row with its interval's ends written with one digit more than its score."""
    score, ends = row.get(f"{prefix}score_text"), (f"{prefix}low", f"{prefix}high")
    if not score:
        return row
    digits = len(score.partition(".")[2]) + 1
    known = {end: row[end] for end in ends if row.get(end) is not None}
    return row | {end: f"{value:.{digits}f}" for end, value in known.items()}


def join(
    competition: options.Competition = None,
    option: options.CompetitionOption = None,
    team: Annotated[
        str, typer.Option("--team", help="Your team's name; your own name if left out.")
    ] = "",
    invitation: Annotated[str, typer.Option("--invitation", help="A team's invitation link.")] = "",
    accept_rules: Annotated[
        bool, typer.Option("--accept-rules", help="You have read the rules and accept them.")
    ] = False,
) -> None:
    """Join a competition: accept its rules, and create a team or follow an invitation to one."""
    slug = competition_of(competition, option)
    if team and invitation:
        raise typer.BadParameter("the inviting team has a name already; leave --team out.")
    fields = {"team_name": team, "invitation": invitation.rstrip("/").rpartition("/")[2]}
    with connect() as client:
        if not accept_rules:
            found = client.get(competition_path(slug))
            if not sys.stdin.isatty():
                raise typer.BadParameter("read the rules, then add --accept-rules to accept them.")
            output.say(f"The rules of {found['title']}:", "bold")
            for line in str(found["rules"]).splitlines() or ["(none)"]:
                output.say(line)
            if output.ask("Do you accept these rules? [y/N] ").lower() not in ("y", "yes"):
                raise Failure("You have not joined: you did not accept the rules.")
        body = {"accept_rules": True} | {name: value for name, value in fields.items() if value}
        made = client.send("POST", competition_path(slug, "join"), json=body)
    output.say(f"You have joined {slug} as team {made['name']}.")


def team(
    competition: options.Competition = None,
    option: options.CompetitionOption = None,
    rename: Annotated[str, typer.Option("--rename", help="Give the team a new name.")] = "",
    style: options.OneFormatOption = Format.table,
) -> None:
    """Show your team and what it may still submit, or rename it."""
    path = competition_path(competition_of(competition, option), "team")
    with connect() as client:
        mine = client.send("PATCH", path, json={"name": rename}) if rename else client.get(path)
    columns = [*TEAM_COLUMNS, LIMITS] if style is Format.table else TEAM_COLUMNS
    output.show_one(mine, columns, style)
