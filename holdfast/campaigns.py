"""`holdfast campaigns` and `holdfast campaign`: your team's campaigns, and what each was told."""

from typing import Annotated

import typer

from holdfast import client, options, output
from holdfast.client import Client
from holdfast.competitions import View
from holdfast.connection import Json
from holdfast.options import competition_of
from holdfast.output import Column, Format
from holdfast.records import Campaign

COLUMNS = [
    Column("name", "Campaign"),
    Column("used", "Used", numeric=True),
    Column("limit", "Limit", numeric=True),
    Column("questions", "Questions", numeric=True),
    Column("informative", "Informative", numeric=True),
    Column("nats", "Nats", numeric=True),
    Column("created_at", "Begun", output.local_time),
    Column("ended_at", "Ended", output.local_time),
]
EXPOSURE_COLUMNS = [
    Column("of", "Told"),
    *COLUMNS[3:6],
    Column("before", "± before", numeric=True),
    Column("after", "± after", numeric=True),
]
EXPOSURES = {
    "exposure": "this campaign",
    "team_exposure": "your team",
    "competition_exposure": "all teams",
}


def campaigns(
    competition: options.Competition = None,
    option: options.CompetitionOption = None,
    page: options.PageNumber = 1,
    page_size: options.PageSize = 50,
    everything: options.Everything = False,
    style: options.FormatOption = Format.table,
    csv: options.CsvFlag = False,
) -> None:
    """List your team's campaigns: names under which submissions are grouped."""
    slug = competition_of(competition, option)
    view = View(page, page_size, everything, Format.csv if csv else style)
    with Client() as server:
        find = server.competition(slug).campaigns
        view.show(find, COLUMNS, "Your team has no campaigns yet.", _flat)


def campaign(
    reference: Annotated[
        list[str], typer.Argument(metavar="[COMP] NAME", help="Which campaign of your team.")
    ],
    option: options.CompetitionOption = None,
    begin: Annotated[bool, typer.Option("--begin", help="Begin it.")] = False,
    limit: Annotated[
        int | None,
        typer.Option("--limit", min=1, help="How many submissions it may make in all."),
    ] = None,
    no_limit: Annotated[bool, typer.Option("--no-limit", help="Take its limit away.")] = False,
    end: Annotated[bool, typer.Option("--end", help="End it, for good.")] = False,
    style: options.OneFormatOption = Format.table,
) -> None:
    """Show a campaign and what it was told, or begin it, change its limit, or end it.

    To change something takes a token with the scope campaigns.
    """
    if len(reference) > 2:
        raise typer.BadParameter("give the campaign's name, after the competition's.")
    if begin + no_limit + end > 1 or (limit is not None and (no_limit or end)):
        raise typer.BadParameter("give one of --begin, --limit, --no-limit and --end.")
    slug = competition_of(reference[0] if len(reference) > 1 else None, option)
    with Client() as server:
        found = _do(server.competition(slug), reference[-1], begin, limit, no_limit, end)
    if style is Format.json:
        output.show_json(found.json)
        return
    output.show_one(_flat(found.json), COLUMNS, style)
    if style is Format.table:
        told = {key: found.json.get(key) for key in EXPOSURES}
        rows = [{"of": EXPOSURES[key], **each} for key, each in told.items() if each]
        output.show(rows, EXPOSURE_COLUMNS, style, empty="")


def _do(
    found: client.Competition, name: str, begin: bool, limit: int | None, no_limit: bool, end: bool
) -> Campaign:
    if begin:
        return found.begin_campaign(name, limit)
    if end:
        return found.end_campaign(name)
    if no_limit or limit is not None:
        return found.limit_campaign(name, limit)
    return found.campaign(name)


def _flat(row: Json) -> Json:
    return {**row, **row["exposure"]}
