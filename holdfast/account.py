"""Signing in and out, and who is signed in."""

import getpass
import os
import platform
import sys
from enum import StrEnum
from typing import Annotated

import typer

from holdfast import config, output
from holdfast.client import Client, Json, connect
from holdfast.config import Settings
from holdfast.errors import Failure, Refused
from holdfast.options import OneFormatOption

UNAUTHORIZED = 401
COLUMNS = [
    output.Column("username", "User"),
    output.Column("email", "Email"),
    output.Column("token_expires_at", "Token expires", output.local_time),
    output.Column("token_scopes", "Token may", ", ".join),
]


class Scope(StrEnum):
    """What a token may do."""

    READ = "read"
    SUBMIT = "submit"
    ORGANIZE = "organize"


def login(
    url: Annotated[str, typer.Option("--url", help="The server's address.")] = "",
    username: Annotated[str, typer.Option("-u", "--username", help="Your user name.")] = "",
    token: Annotated[
        bool, typer.Option("--token", help="Sign in with a token from your account page.")
    ] = False,
    scopes: Annotated[
        list[Scope] | None,
        typer.Option(
            "--scope",
            help="What the new token may do, once for each; read and submit if left out. To run "
            "competitions it takes organize.",
        ),
    ] = None,
) -> None:
    """Sign in, and store a token for later commands.

    You are asked for what you leave out. The password or token is never an argument, where other
    users could see it; it is read from the terminal, or from the first line of a pipe.
    """
    if token and scopes:
        raise typer.BadParameter("a token has its scopes already; leave --scope or --token out.")
    address = config.clean_url(url)
    if not address:
        known = os.environ.get("HOLDFAST_URL") or config.load().url or config.DEFAULT_URL
        address = config.clean_url(output.ask(f"Server [{known}]: ") or known)
    if config.sent_in_clear(address):
        output.warn(f"{address} is not encrypted: others on the network can read what you send.")
    settings = Settings(address, _ask("Token", secret=True) if token else "")
    with Client(settings) as client:
        if token:
            answer = client.get("me/")
        else:
            name = username or _ask("User name")
            body: Json = {"username": name, "password": _ask("Password", secret=True)}
            if scopes:
                body |= {"scopes": scopes, "name": f"holdfast login on {platform.node()}"[:80]}
            answer = client.send("POST", "auth/login/", json=body)
    settings = Settings(address, settings.token or str(answer["token"]), str(answer["username"]))
    path = config.save(settings)
    output.say(f"Signed in to {address} as {settings.username}.")
    output.note(f"The token is stored in {path}, readable only by you.")
    if os.environ.get("HOLDFAST_TOKEN"):
        output.warn("HOLDFAST_TOKEN is set and takes precedence over this token.")


def logout() -> None:
    """Revoke the stored token on its server and remove it from this machine."""
    saved = config.load()
    config.forget()
    if not saved.token:
        output.say("You were not signed in.")
        return
    try:
        with Client(saved) as client:
            client.send("POST", "auth/logout/", json={})
    except Failure as failure:
        # A token that the server no longer knows has been revoked already.
        if not isinstance(failure, Refused) or failure.status != UNAUTHORIZED:
            raise Failure(
                f"The token is removed here, but could not be revoked: {failure.message}",
                hint="To revoke it now, remove it on your account page.",
            ) from None
    output.say(f"Signed out of {saved.url}.")


def whoami(style: OneFormatOption = output.Format.table) -> None:
    """Show who is signed in, where, and in which teams."""
    with connect() as client:
        me = client.get("me/")
    if style is not output.Format.table:
        output.show([me], COLUMNS, style)
        return
    pairs = {column.title: column.cell(me) for column in COLUMNS}
    pairs |= {"Server": client.settings.url, "Token expires": pairs["Token expires"] or "never"}
    pairs |= {f"Team in {team['competition']}": team["name"] for team in me.get("teams") or []}
    output.show_one(pairs, [output.Column(name, name) for name in pairs], style)


def _ask(name: str, *, secret: bool = False) -> str:
    """Return the answer, which must not be empty; a secret is not shown while it is typed."""
    hidden = secret and sys.stdin.isatty()
    answer = getpass.getpass(f"{name}: ").strip("\r\n") if hidden else output.ask(f"{name}: ")
    if not answer:
        raise Failure(f"{name} is required.")
    return answer
