"""What a participant reads and does in a competition, submissions apart."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from holdfast import output
from holdfast.client import Client, Json, competition_path
from holdfast.download import Outcome, download, local_name
from holdfast.errors import Failure, TooLong
from holdfast.options import (
    Competition,
    CompetitionOption,
    CsvFlag,
    Everything,
    FormatOption,
    PageNumber,
    PageSize,
    Quiet,
    competition_of,
    format_of,
)
from holdfast.output import Column, Format
from holdfast.session import connect

Search = Annotated[
    str, typer.Option("-s", "--search", help="Words to look for.", show_default=False)
]
Folder = Annotated[
    Path | None,
    typer.Option("-p", "--path", help="The folder to save in; the current one if left out."),
]


def yes_no(value: Any) -> str:
    """A truth value for people."""
    return "yes" if value else ""


LONGEST_BOARD = 256 * 2**20  # bytes of CSV: a million teams and more
LIST_COLUMNS = [
    Column("slug", "Competition"),
    Column("title", "Title"),
    Column("phase", "Phase"),
    Column("closes_at", "Closes", output.local_time),
    Column("metric", "Metric"),
    Column("mechanism", "Mechanism"),
    Column("teams", "Teams", numeric=True),
    Column("joined", "Joined", yes_no),
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
    *BOARD_COLUMNS[:5],
    Column("released_score_text", "Released", numeric=True),
    Column("released_rank", "Rank there", numeric=True),
    Column("move", "Move", lambda move: f"{move:+d}" if move else "0", numeric=True),
    Column("mark", "Mark"),
]


def list_(
    search: Search = "",
    page: PageNumber = 1,
    page_size: PageSize = 50,
    everything: Everything = False,
    style: FormatOption = Format.table,
    csv: CsvFlag = False,
) -> None:
    """List the competitions that you may see."""
    chosen = format_of(style, csv)
    params = {"search": search} if search else {}
    with connect() as client:
        rows, count = some_rows(
            client, "competitions/", page=page, size=page_size, everything=everything, **params
        )
    output.show(rows, LIST_COLUMNS, chosen, empty="No competition is open to you here.")
    note_the_rest(len(rows), count, page, chosen)


def files(
    competition: Competition = None,
    option: CompetitionOption = None,
    style: FormatOption = Format.table,
    csv: CsvFlag = False,
) -> None:
    """List a competition's files."""
    slug = competition_of(competition, option)
    with connect() as client:
        found = files_of(client, slug)
    output.show(found, FILE_COLUMNS, format_of(style, csv), empty="No files yet.")


def download_(
    competition: Competition = None,
    option: CompetitionOption = None,
    file: Annotated[
        str, typer.Option("-f", "--file", help="Only this file.", show_default=False)
    ] = "",
    path: Folder = None,
    here: Annotated[
        bool, typer.Option("-w", "--wp", help="Save in the current folder, as without -p.")
    ] = False,
    force: Annotated[
        bool, typer.Option("-o", "--force", help="Replace files that are there already.")
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Download a competition's files, all of them or one.

    What is here already and unchanged is skipped; a broken download goes on where it stopped.
    """
    slug = competition_of(competition, option)
    if here and path:
        raise typer.BadParameter("-w and -p name two folders; give one of them.")
    folder = path or Path()
    with connect() as client:
        for entry in _wanted(files_of(client, slug), file, slug):
            _download_one(client, slug, entry, folder, force=force, quiet=quiet)


def leaderboard(
    competition: Competition = None,
    option: CompetitionOption = None,
    show: Annotated[
        bool, typer.Option("-s", "--show", help="Show the board (this is what it does anyway).")
    ] = False,
    save: Annotated[
        bool, typer.Option("-d", "--download", help="Save the whole board as a CSV file.")
    ] = False,
    final: Annotated[
        bool, typer.Option("--final", help="The final board, once it is revealed.")
    ] = False,
    path: Folder = None,
    search: Annotated[
        str, typer.Option("--search", help="Only teams with this in the name.", show_default=False)
    ] = "",
    page: PageNumber = 1,
    page_size: PageSize = 50,
    everything: Everything = False,
    style: FormatOption = Format.table,
    csv: CsvFlag = False,
    quiet: Quiet = False,
) -> None:
    """Show the leaderboard: what the mechanism released, and where you stand.

    Low and High are the ends of the 95 % sampling interval; JSON has the certificate as well. With
    --final they are those of intervals that are right for all entries at once.
    """
    slug = competition_of(competition, option)
    board = "final" if final else "leaderboard"
    with connect() as client:
        if save:
            _save_board(client, slug, board, path or Path(), quiet=quiet)
        if show or not save:
            chosen = format_of(style, csv)
            _show_board(client, slug, board, search, page, page_size, everything, chosen)


def join(
    competition: Competition = None,
    option: CompetitionOption = None,
    team: Annotated[
        str, typer.Option("--team", help="Your team's name; your own name if left out.")
    ] = "",
    invitation: Annotated[
        str, typer.Option("--invitation", help="A team's invitation link.", show_default=False)
    ] = "",
    accept_rules: Annotated[
        bool, typer.Option("--accept-rules", help="You have read the rules and accept them.")
    ] = False,
) -> None:
    """Join a competition: accept its rules and make a team, or follow an invitation to one."""
    slug = competition_of(competition, option)
    if team and invitation:
        raise typer.BadParameter("the inviting team has a name already; leave --team out.")
    wanted = {"team_name": team, "invitation": invitation.rstrip("/").rpartition("/")[2]}
    with connect() as client:
        if not accept_rules:
            _ask_to_accept(client.get(competition_path(slug)))
        body = {name: value for name, value in wanted.items() if value}
        made = client.post(competition_path(slug, "join"), {"accept_rules": True, **body})
    output.say(f"You have joined {slug} as team {made['name']}.")


def team(
    competition: Competition = None,
    option: CompetitionOption = None,
    rename: Annotated[
        str, typer.Option("--rename", help="Give the team a new name.", show_default=False)
    ] = "",
    style: Annotated[Format, typer.Option("--format", help="How it is printed.")] = Format.table,
) -> None:
    """Show your team, what it may still submit, and rename it."""
    path = competition_path(competition_of(competition, option), "team")
    with connect() as client:
        mine = client.patch(path, {"name": rename}) if rename else client.get(path)
    if style is Format.table:
        output.show_pairs(_team_pairs(mine))
    else:
        output.show([mine], TEAM_COLUMNS, style, empty="")


def _member(person: Json) -> str:
    return f"{person['username']} (captain)" if person["is_captain"] else str(person["username"])


TEAM_COLUMNS = [
    Column("name", "Team"),
    Column("competition", "Competition"),
    Column("members", "Members", lambda people: ", ".join(map(_member, people))),
    Column("created_at", "Since", output.local_time),
]


def _team_pairs(mine: Json) -> list[tuple[str, object]]:
    pairs: list[tuple[str, object]] = [
        (column.title, column.read(mine[column.key])) for column in TEAM_COLUMNS
    ]
    return [*pairs, ("Submissions", mine["limits"]["summary"])]


def some_rows(
    client: Client, path: str, *, page: int, size: int, everything: bool, **params: str | int
) -> tuple[list[Json], int]:
    """One page of a list, or all of it; and how many rows there are in all."""
    if everything:
        rows = list(client.every(path, **params))
        return rows, len(rows)
    answer = client.get(path, **params, page=page, page_size=size)
    return list(answer["results"]), int(answer["count"])


def note_the_rest(shown: int, count: int, page: int, style: Format) -> None:
    """Say on stderr that there is more; also when CSV goes to a file, so that none is missed."""
    if shown and shown < count:
        output.note(f"{shown:,} of {count:,}; --page {page + 1} shows the next, --all all of them.")


def files_of(client: Client, slug: str) -> list[Json]:
    return list(client.get(competition_path(slug, "files"))["results"])


def _wanted(entries: list[Json], name: str, slug: str) -> list[Json]:
    if not name:
        if not entries:
            raise Failure(f"{slug} has no files yet.")
        return entries
    found = [entry for entry in entries if entry["name"] == name]
    if not found:
        names = ", ".join(str(entry["name"]) for entry in entries) or "none"
        raise Failure(f"{slug} has no file named {name!r}. Its files: {names}.")
    return found


def _download_one(
    client: Client, slug: str, entry: Json, folder: Path, *, force: bool, quiet: bool
) -> None:
    name = local_name(str(entry["name"]))
    with output.progress(quiet) as bar:
        task = bar.add_task(name, total=entry["size"])
        outcome = download(
            client, slug, entry, folder, force=force, advance=lambda n: bar.advance(task, n)
        )
    if not quiet:
        done = outcome is Outcome.downloaded
        output.say(f"{folder / name}: {'saved' if done else 'unchanged, skipped'}")


def _save_board(client: Client, slug: str, board: str, folder: Path, *, quiet: bool) -> None:
    target = folder / f"{slug}-{board}.csv"
    folder.mkdir(parents=True, exist_ok=True)
    path = competition_path(slug, board)
    part = folder / f".{target.name}.part"
    try:
        client.save(path, part, LONGEST_BOARD, format="csv")
    except TooLong:
        part.unlink()
        raise
    part.replace(target)
    if not quiet:
        output.note(f"Saved as {target}.")


def _show_board(
    client: Client,
    slug: str,
    board: str,
    search: str,
    page: int,
    page_size: int,
    everything: bool,
    style: Format,
) -> None:
    path = competition_path(slug, board)
    params = {"search": search} if search else {}
    rows, count = some_rows(
        client, path, page=page, size=page_size, everything=everything, **params
    )
    if style is not Format.json:
        rows = [_flat(row) for row in rows]
    if style is Format.table:
        rows = [with_digits(row) for row in rows]
    columns = FINAL_COLUMNS if board == "final" else BOARD_COLUMNS
    output.show(rows, columns, style, empty="No team is on the board yet.")
    note_the_rest(len(rows), count, page, style)
    _note_my_place(client, path, rows)


def with_digits(row: Json, prefix: str = "") -> Json:
    """The row with ends of its interval that have one digit more than its score."""
    score, ends = row.get(f"{prefix}score_text"), (f"{prefix}low", f"{prefix}high")
    if not score:
        return row
    digits = len(score.partition(".")[2]) + 1
    known = {end: row[end] for end in ends if row.get(end) is not None}
    return row | {end: f"{value:.{digits}f}" for end, value in known.items()}


def _flat(row: Json) -> Json:
    """The row with its interval and, on the final board, its best entry beside its own fields."""
    entry = row.get("best") or row
    interval = entry.get("interval") or row.get("sampling") or {}
    return {**row, **interval, "score_text": entry["score_text"], "mark": _mark(row)}


def _mark(row: Json) -> str:
    marks = (("is_mine", "you"), ("is_baseline", "baseline"), ("is_verified", "verified"))
    return ", ".join(word for key, word in marks if row.get(key))


def _note_my_place(client: Client, path: str, rows: list[Json]) -> None:
    """Say where the participant stands if that isn't on the screen already."""
    if any(row.get("is_mine") for row in rows):
        return
    mine = client.get(path, page_size=1).get("me")
    if mine:
        text = (mine.get("best") or mine)["score_text"]
        score = "no score yet" if text is None else f"with {text}"
        output.note(f"You: rank {mine['rank']}, {mine['team']}, {score}.")


def _ask_to_accept(found: Json) -> None:
    """Show the rules and ask; without a person to ask it is wrong usage."""
    if not sys.stdin.isatty():
        raise typer.BadParameter("read the rules, then add --accept-rules to accept them.")
    output.say(f"The rules of {found['title']}:", "bold")
    for line in str(found["rules"]).splitlines() or ["(none)"]:
        output.say(line)
    sys.stderr.write("Do you accept these rules? [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise Failure("You have not joined: the rules were not accepted.")
