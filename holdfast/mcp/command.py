"""`holdfast mcp`: the command. Only running it takes the extra."""

from pathlib import Path
from typing import Annotated

import typer

from holdfast.client import Client
from holdfast.connection import SLUG
from holdfast.errors import Failure, NotInstalled


def mcp(
    http: Annotated[
        str,
        typer.Option(
            "--http", metavar="HOST:PORT", help="Serve over HTTP there; over stdio if left out."
        ),
    ] = "",
    competition: Annotated[
        str,
        typer.Option(
            "-c", "--competition", metavar="COMP", help="Serve this competition and no other."
        ),
    ] = "",
    campaign: Annotated[
        str, typer.Option("--campaign", help="Your team's campaign that submissions belong to.")
    ] = "",
    path: Annotated[
        Path,
        typer.Option(
            "-p",
            "--path",
            help="Where files are downloaded to and sent from; the current folder if left out.",
            exists=True,
            file_okay=False,
        ),
    ] = Path(),
    host: Annotated[
        list[str] | None,
        typer.Option(
            "--host", metavar="NAME", help="With --http: another name that requests come by."
        ),
    ] = None,
) -> None:
    """Serve competitions to agents, as tools of the Model Context Protocol.

    It acts with the token that you are signed in with: give an agent one that is bound to a
    competition. Beyond this machine, HTTP takes a secret, HOLDFAST_MCP_SECRET.
    """
    try:
        from holdfast.mcp import server, serving, site
    except ModuleNotFoundError as error:
        raise NotInstalled("`holdfast mcp`", str(error.name), extra="mcp") from None
    if competition and not SLUG.fullmatch(competition):
        raise Failure(f"{competition!r} is no competition's short name.")
    with Client(progress=False) as client:
        served = server.make(site.Site(client, path, competition, campaign))
        serving.serve(served, http, host or ())
