"""Signing in and out, and who is signed in."""

import getpass
import os
import sys
from typing import Annotated

import typer

from holdfast import config, output
from holdfast.client import Client, Json
from holdfast.config import Settings
from holdfast.errors import Failure, Refused
from holdfast.session import connect

UNAUTHORIZED = 401


def login(
    url: Annotated[
        str, typer.Option("--url", help="The server's address.", show_default=False)
    ] = "",
    username: Annotated[
        str, typer.Option("-u", "--username", help="Your user name.", show_default=False)
    ] = "",
    token: Annotated[
        bool,
        typer.Option("--token", help="Give a token from your account page, not a password."),
    ] = False,
) -> None:
    """Sign in, and keep a token for the commands that follow.

    What is not given is asked for. The password or token is never taken from the command line,
    where others could see it; it is read from the terminal, or from the first line of a pipe.
    """
    address = config.clean_url(url) or _ask_url()
    if config.sent_in_clear(address):
        output.warn(f"{address} is not encrypted: others on the way can read what you send.")
    settings = _with_token(address) if token else _with_password(address, username)
    path = config.save(settings)
    output.say(f"Signed in to {address} as {settings.username}.")
    output.note(f"The token is kept in {path}, readable by you only.")
    if os.environ.get("HOLDFAST_TOKEN"):
        output.warn("HOLDFAST_TOKEN is set and is used in place of this token.")


def logout() -> None:
    """Revoke the kept token on its server and forget it here."""
    saved = config.load()
    config.forget()
    if not saved.token:
        output.say("You were not signed in.")
        return
    try:
        _revoke(saved)
    except Failure as failure:
        raise Failure(
            f"The token is forgotten here, but could not be revoked: {failure.message}",
            hint="Remove it on your account page if you want it to end now.",
        ) from None
    output.say(f"Signed out of {saved.url}.")


def whoami(
    style: Annotated[
        output.Format, typer.Option("--format", help="How it is printed.")
    ] = output.Format.table,
) -> None:
    """Show who is signed in, where, and in which teams."""
    with connect() as client:
        me = client.get("me/")
    if style is output.Format.table:
        output.show_pairs(_pairs(me, client.settings))
    else:
        output.show([me], _COLUMNS, style, empty="")


_COLUMNS = [
    output.Column("username", "User"),
    output.Column("email", "E-mail"),
    output.Column("token_expires_at", "Token expires", output.local_time),
]


def _pairs(me: Json, settings: Settings) -> list[tuple[str, object]]:
    expires = me.get("token_expires_at")
    pairs: list[tuple[str, object]] = [
        ("User", me.get("username")),
        ("E-mail", me.get("email")),
        ("Server", settings.url),
        ("Token expires", output.local_time(expires) if expires else "never"),
    ]
    teams = me.get("teams") or []
    return pairs + [(f"Team in {team['competition']}", team["name"]) for team in teams]


def _with_password(address: str, username: str) -> Settings:
    name = username or _ask("User name")
    with Client(Settings(address)) as client:
        body = {"username": name, "password": _ask_secret("Password")}
        answer = client.post("auth/login/", body)
    return Settings(address, str(answer["token"]), str(answer["username"]))


def _with_token(address: str) -> Settings:
    settings = Settings(address, _ask_secret("Token"))
    with Client(settings) as client:
        me = client.get("me/")
    return Settings(address, settings.token, str(me["username"]))


def _revoke(saved: Settings) -> None:
    """End the token; one that the server doesn't know any more has ended already."""
    try:
        with Client(saved) as client:
            client.post("auth/logout/")
    except Refused as refused:
        if refused.status != UNAUTHORIZED:
            raise


def _ask_url() -> str:
    known = os.environ.get("HOLDFAST_URL") or config.load().url or config.DEFAULT_URL
    return config.clean_url(_ask(f"Server [{known}]", needed=False) or known)


def _ask(question: str, *, needed: bool = True) -> str:
    """A line from the terminal or a pipe; the question goes to stderr."""
    sys.stderr.write(f"{question}: ")
    sys.stderr.flush()
    answer = sys.stdin.readline().strip()
    if needed and not answer:
        raise Failure(f"{question} is needed.")
    return answer


def _ask_secret(question: str) -> str:
    """Like `_ask`, not shown while it is typed."""
    if not sys.stdin.isatty():
        return _ask(question)
    answer = getpass.getpass(f"{question}: ").strip("\r\n")
    if not answer:
        raise Failure(f"{question} is needed.")
    return answer
