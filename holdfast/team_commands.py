"""`holdfast team`: your team, and what you do about it."""

from typing import Annotated, Any

import typer

from holdfast import client, options, output
from holdfast.client import Client
from holdfast.errors import Failure
from holdfast.options import competition_of
from holdfast.output import Column, Format
from holdfast.records import Merger


def _people(members: list[dict[str, Any]]) -> str:
    return ", ".join(each["username"] + " (captain)" * each["is_captain"] for each in members)


COLUMNS = [
    Column("name", "Team"),
    Column("competition", "Competition"),
    Column("members", "Members", _people),
    Column("created_at", "Since", output.local_time),
    Column("uid", "Id"),
]
LIMITS = Column("limits", "Submissions", lambda limits: str(limits["summary"]))
RESULTS = Column(
    "results",
    "Results",
    lambda results: "; ".join(_result(each) for each in results) or "none yet",
)
LEAVING = (
    "Whoever leaves a team that has submitted can come back to it, but joins no other one in this "
    "round."
)


def team(
    competition: options.Competition = None,
    option: options.CompetitionOption = None,
    show: Annotated[
        str, typer.Option("--show", metavar="UID", help="Another team, by its permanent id.")
    ] = "",
    rename: Annotated[str, typer.Option("--rename", help="Give the team a new name.")] = "",
    invite: Annotated[bool, typer.Option("--invite", help="Make an invitation link.")] = False,
    email: Annotated[str, typer.Option("--email", help="With --invite: mail it there.")] = "",
    withdraw: Annotated[bool, typer.Option("--withdraw", help="End all invitations.")] = False,
    captain: Annotated[
        str, typer.Option("--captain", metavar="NAME", help="Hand the captaincy to a member.")
    ] = "",
    remove: Annotated[str, typer.Option("--remove", metavar="NAME", help="Remove a member.")] = "",
    leave: Annotated[bool, typer.Option("--leave", help="Leave the team.")] = False,
    merge: Annotated[
        str, typer.Option("--merge", metavar="UID", help="Ask that team to take yours in.")
    ] = "",
    accept: Annotated[
        str, typer.Option("--accept", metavar="UID", help="Take in that team, which asks.")
    ] = "",
    drop: Annotated[
        str, typer.Option("--drop", metavar="UID", help="Take a request back, or decline it.")
    ] = "",
    yes: Annotated[
        bool, typer.Option("--yes", help="Don't ask again where something can't be undone.")
    ] = False,
    style: options.OneFormatOption = Format.table,
) -> None:
    """Show your team and what it may still submit, or do one thing about it.

    What leaving, removing and merging mean is said before it is done.
    """
    wished = (show, rename, invite, withdraw, captain, remove, leave, merge, accept, drop)
    if sum(map(bool, wished)) > 1:
        raise typer.BadParameter("give one of these options at a time.")
    if email and not invite:
        raise typer.BadParameter("--email goes with --invite.")
    with Client() as server:
        if show:
            columns = [*COLUMNS[:3], RESULTS, *COLUMNS[3:]]
            output.show_one(server.team(show).json, columns, style)
            return
        found = server.competition(competition_of(competition, option))
        if merge or accept or drop:
            done = _merge(found, merge, accept, drop, yes=yes)
        else:
            done = _do(found, email, invite, withdraw, captain, remove, leave, yes=yes)
        if done:
            output.say(done)
            return
        mine = found.team(rename=rename).json
    output.show_one(mine, [*COLUMNS, LIMITS] if style is Format.table else COLUMNS, style)


def _do(
    found: client.Competition,
    email: str,
    invite: bool,
    withdraw: bool,
    captain: str,
    remove: str,
    leave: bool,
    *,
    yes: bool,
) -> str:
    """Do what was wished; return what was done, empty for nothing."""
    if invite:
        made = found.invite(email)
        return f"An invitation is on its way to {email}." if email else made.url
    if withdraw:
        found.withdraw_invitations()
        return "The team's invitations are no longer valid."
    if captain:
        found.hand_over(captain)
        return f"{captain} is the captain now."
    if remove or leave:
        _confirm(LEAVING, yes)
    if remove:
        found.remove_member(remove)
        return f"{remove} is no member of your team any more."
    if leave:
        found.leave()
        return "You have left the team."
    return ""


def _merge(found: client.Competition, merge: str, accept: str, drop: str, *, yes: bool) -> str:
    """Say what a merger does, then ask for it, accept it or drop it; return what was done."""
    if drop:
        found.drop_merger(drop)
        return "Nothing is asked any more between your teams."
    preview = found.merger(merge or accept)
    if preview.problem:
        raise Failure(preview.problem)
    _confirm(_sentences(preview), yes)
    if merge:
        found.ask_to_merge(merge)
        return f"“{preview.into.name}” is asked. Its captain decides."
    found.accept_merger(accept)
    return f"“{preview.team.name}” is a part of your team now."


def _sentences(preview: Merger) -> str:
    """Return what a merger would do."""
    left = f"{preview.daily_left} left today"
    if preview.total_left is not None:
        left += f", {preview.total_left} in all"
    return (
        f"“{preview.team.name}” would become a part of “{preview.into.name}”, with "
        f"{preview.submissions} submissions: {preview.members} of {preview.team_size} members, "
        f"{left}. What both used counts on. It can't be undone."
    )


def _confirm(text: str, yes: bool) -> None:
    output.note(text)
    if not yes and output.ask("Go on? [y/N] ").lower() not in ("y", "yes"):
        raise Failure("Nothing was done.")


def _result(result: dict[str, Any]) -> str:
    board = "final board" if result["is_final"] else "released scores"
    place = f"{result['rank']} of {result['teams']}" if result["rank"] else "no place"
    return f"{place}, {result['score_text'] or 'no score'} ({board})"
