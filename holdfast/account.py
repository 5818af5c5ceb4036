"""Signing in and out, who is signed in, and the default competition."""

import getpass
import os
import platform
import sys
from dataclasses import replace
from enum import StrEnum
from typing import Annotated

import typer

from holdfast import config, output
from holdfast.client import Client
from holdfast.config import Settings
from holdfast.errors import Failure, Refused
from holdfast.options import OneFormatOption, competition_of
from holdfast.output import Column

UNAUTHORIZED = 401
COLUMNS = [
    Column("username", "User"),
    Column("email", "Email"),
    Column("token_expires_at", "Token expires", output.local_time),
    Column("token_scopes", "Token may", ", ".join),
    Column("token_competition", "Token is for"),
    Column("token_campaign", "Campaign"),
    Column("token_quota_left", "Submissions left"),
]


class Scope(StrEnum):
    """What a token may do."""

    READ = "read"
    SUBMIT = "submit"
    CAMPAIGNS = "campaigns"
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
    if token:
        made = Client(address, _ask("Token", secret=True))
    else:
        name = username or _ask("User name")
        called = f"holdfast login on {platform.node()}"[:80]
        made = Client.sign_in(
            address, name, _ask("Password", secret=True), scopes=scopes or (), name=called
        )
    with made as client:
        owner = client.me().username if token else client.connection.settings.username
        settings = Settings(address, client.token, owner)
    saved = config.load()
    if saved.url == address:
        settings = replace(settings, competition=saved.competition)
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
        with Client(saved.url, saved.token) as client:
            client.sign_out()
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
    with Client() as client:
        me = client.me().json
    if style is not output.Format.table:
        output.show([me], COLUMNS, style)
        return
    pairs = {column.title: column.cell(me) for column in COLUMNS}
    pairs |= {"Server": client.url, "Token expires": pairs["Token expires"] or "never"}
    pairs |= {f"Team in {team['competition']}": team["name"] for team in me.get("teams") or []}
    output.show_one(pairs, [Column(name, name) for name in pairs], style)


class Setting(StrEnum):
    """What `holdfast config` can set."""

    COMPETITION = "competition"


settings_app = typer.Typer(help="See and set what commands take as given.", no_args_is_help=True)
Name = Annotated[Setting, typer.Option("-n", "--name", help="Which setting.")]


@settings_app.command("view")
def view_settings() -> None:
    """Show the settings, but never the token."""
    saved = config.load()
    shown = {
        "Server": saved.url,
        "User": saved.username,
        "Competition": config.default_competition(),
        "File": str(config.config_path()),
    }
    output.show_one(shown, [Column(name, name) for name in shown], output.Format.table)


@settings_app.command("set")
def set_setting(
    name: Name, value: Annotated[str, typer.Option("-v", "--value", help="Its value.")]
) -> None:
    """Set the default competition, which later commands mean where none is named."""
    slug = competition_of(value, None)
    config.save(replace(config.load(), competition=slug))
    output.say(f"The default {name.value} is {slug}.")


@settings_app.command("unset")
def unset_setting(name: Name) -> None:
    """Forget the default competition."""
    config.save(replace(config.load(), competition=""))
    output.say(f"There is no default {name.value} any more.")


def _ask(name: str, *, secret: bool = False) -> str:
    """Return the answer, which must not be empty; a secret is not shown while it is typed."""
    hidden = secret and sys.stdin.isatty()
    answer = getpass.getpass(f"{name}: ").strip("\r\n") if hidden else output.ask(f"{name}: ")
    if not answer:
        raise Failure(f"{name} is required.")
    return answer
