"""What a participant reads and does in a competition, except submissions."""

import sys
import tempfile
import time
import webbrowser
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from holdfast import client, options, output
from holdfast.client import Client
from holdfast.connection import Json
from holdfast.errors import Failure, NotNow, Unreachable
from holdfast.options import competition_of
from holdfast.output import Column, Format
from holdfast.records import Board, Rows

Search = Annotated[str, typer.Option("-s", "--search", help="Words to look for.")]
Folder = Annotated[
    Path | None,
    typer.Option("-p", "--path", help="The folder to save in; the current one if left out."),
]
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
    Column("variants", "Variants", numeric=True),
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
NOTICE_COLUMNS = [
    Column("created_at", "When", output.local_time),
    Column("competition", "Competition"),
    Column("title", "What"),
    Column("read_at", "Read", lambda _: "yes"),
    Column("url", "Page"),
]
MARKS = (("is_mine", "you"), ("is_baseline", "baseline"), ("is_verified", "verified"))


class Page(StrEnum):
    """A page of a competition on the website."""

    overview = "overview"
    data = "data"
    rules = "rules"
    leaderboard = "leaderboard"
    submit = "submit"
    submissions = "submissions"
    team = "team"


def list_(
    search: Search = "",
    page: options.PageNumber = 1,
    page_size: options.PageSize = 50,
    everything: options.Everything = False,
    style: options.FormatOption = Format.table,
    csv: options.CsvFlag = False,
) -> None:
    """List the competitions that you may see."""
    view = View(page, page_size, everything, Format.csv if csv else style)
    with Client() as server:
        find = partial(server.competitions, search)
        view.show(find, LIST_COLUMNS, "No competition is open to you here.")


def files(
    competition: options.Competition = None,
    option: options.CompetitionOption = None,
    style: options.FormatOption = Format.table,
    csv: options.CsvFlag = False,
) -> None:
    """List a competition's files."""
    slug = competition_of(competition, option)
    with Client() as server:
        found = [entry.json for entry in server.competition(slug).files()]
    output.show(found, FILE_COLUMNS, Format.csv if csv else style, empty="No files yet.")


@dataclass(frozen=True)
class View:
    """The part of a list to print, and how."""

    page: int
    page_size: int
    everything: bool
    style: Format

    def show(
        self,
        find: Callable[..., Rows[Any]],
        columns: Sequence[Column],
        empty: str,
        flatten: Callable[[Json], Json] = dict,
    ) -> Rows[Any]:
        """Print the rows that are found and return them; `empty` is the sentence in place of an
        empty table.

        If there are more rows, stderr says so even when CSV goes to a file: none should be missed.
        """
        part = {} if self.everything else {"page": self.page, "page_size": self.page_size}
        found = find(**part)
        rows = [record.json for record in found]
        if self.style is not Format.json:
            rows = [flatten(row) for row in rows]
        output.show(rows, columns, self.style, empty)
        if rows and len(rows) < found.total:
            rest = f"--page {self.page + 1} shows the next, --all all of them."
            output.note(f"{len(rows):,} of {found.total:,}; {rest}")
        return found


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
    with Client(progress=not quiet) as server:
        found = server.competition(slug).download(path or Path(), file=file, force=force)
    for target, is_new in {} if quiet else found.items():
        output.say(f"{target}: {'saved' if is_new else 'unchanged, skipped'}")


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
    watch: Annotated[
        float | None,
        typer.Option(
            "--watch",
            metavar="[SECONDS]",
            min=2,
            help="Show it again and again, every 15 seconds unless you give another number.",
        ),
    ] = None,
    style: options.FormatOption = Format.table,
    csv: options.CsvFlag = False,
    quiet: options.Quiet = False,
) -> None:
    """Show the leaderboard: the released scores, and your place.

    Low and High are the ends of the 95 % sampling interval; below the board stands what it
    guarantees. With --final, Could be is the places that a team's expected score could have. The
    CSV is that of the website: all rows, with exact values.
    """
    slug = competition_of(competition, option)
    view = View(page, page_size, everything, Format.csv if csv else style)
    if view.style is Format.csv and search:
        raise typer.BadParameter("the board's CSV has all rows; leave --search out.")
    if watch is not None and (save or view.style is not Format.table):
        raise typer.BadParameter("--watch shows the board as a table.")
    with Client() as server:
        found = server.competition(slug)
        if save:
            name = f"{slug}-{'final' if final else 'leaderboard'}.csv"
            target = found.save_board((path or Path()) / name, final=final)
            if not quiet:
                output.note(f"Saved as {target}.")
        if save and not show:
            return
        if view.style is Format.csv:
            _print_csv(found, final)
            return
        print_board = partial(_print_board, found, view, search, final)
        if watch is None:
            print_board()
        else:
            _watch(print_board, watch)


def _print_board(found: client.Competition, view: View, search: str, final: bool) -> None:
    columns = FINAL_COLUMNS if final else BOARD_COLUMNS
    flatten = partial(_flat, digits=view.style is Format.table)
    find = partial(found.final_board if final else found.board, search)
    board = view.show(find, columns, "No team is on the board yet.", flatten)
    assert isinstance(board, Board)  # noqa: S101  (what `find` returns)
    if board.guarantee:
        output.note(board.guarantee.sentence)
        output.note(board.guarantee.questions_text)
    # Your place is on the screen already if one of the rows is yours.
    if board.me and not any(row.is_mine for row in board):
        output.note(_own_place(board.me))


def _watch(print_board: Callable[[], None], seconds: float) -> None:
    """Print the board again and again, until it is interrupted.

    A server that is briefly away or busy is asked again, no sooner than it says.
    """
    screen = output.console(sys.stdout)
    while True:
        pause = seconds
        screen.clear()
        try:
            print_board()
        except (Unreachable, NotNow) as failure:
            output.report(failure)
            pause = max(pause, getattr(failure, "retry_after", 0.0))
        output.note(f"{output.clock()}; again every {seconds:g} seconds, Ctrl-C ends it.")
        time.sleep(pause)


def _print_csv(found: client.Competition, final: bool) -> None:
    """Print the website's file, which has all rows."""
    with tempfile.TemporaryDirectory() as folder:
        target = found.save_board(Path(folder) / "board.csv", final=final)
        sys.stdout.write(target.read_bytes().decode())


def notices(
    unread: Annotated[bool, typer.Option("--unread", help="Only what you have not read.")] = False,
    read: Annotated[bool, typer.Option("--read", help="Mark what is listed as read.")] = False,
    page: options.PageNumber = 1,
    page_size: options.PageSize = 50,
    everything: options.Everything = False,
    style: options.FormatOption = Format.table,
    csv: options.CsvFlag = False,
) -> None:
    """List what happened in your competitions and concerns you, the newest first."""
    view = View(page, page_size, everything, Format.csv if csv else style)
    with Client() as server:
        find = partial(server.notices, unread=unread)
        found = view.show(find, NOTICE_COLUMNS, "Nothing to read.")
        if read and found:
            left = server.mark_read(found)
            output.note(f"Marked as read; {left:,} left to read.")


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
    with Client() as server:
        found = server.competition(slug)
        if not accept_rules:
            info = found.info()
            if not sys.stdin.isatty():
                raise typer.BadParameter("read the rules, then add --accept-rules to accept them.")
            output.say(f"The rules of {info.title}:", "bold")
            _say_lines(info.rules)
            if output.ask("Do you accept these rules? [y/N] ").lower() not in ("y", "yes"):
                raise Failure("You have not joined: you did not accept the rules.")
        made = found.join(team, invitation=invitation, accept_rules=True)
    output.say(f"You have joined {slug} as team {made.name}.")


def rules(
    competition: options.Competition = None, option: options.CompetitionOption = None
) -> None:
    """Show the rules of a competition."""
    with Client() as server:
        _say_lines(server.competition(competition_of(competition, option)).rules())


def _say_lines(text: str) -> None:
    for line in text.splitlines() or ["(none)"]:
        output.say(line)


def open_(
    competition: options.Competition = None,
    option: options.CompetitionOption = None,
    page: Annotated[Page, typer.Option("--page", help="Which of its pages.")] = Page.overview,
) -> None:
    """Open a competition in the browser; its address is printed as well."""
    with Client() as server:
        found = server.competition(competition_of(competition, option))
        address = found.url + (f"{page.value}/" if page is not Page.overview else "")
    output.say(address)
    if not webbrowser.open(address):
        output.note("No browser could be started here.")
