"""`holdfast`: the command line. Here the commands get their names."""

import os
import sys
import warnings
from collections.abc import Callable
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperCommand

from holdfast import (
    __version__,
    account,
    campaigns,
    check,
    competitions,
    finals,
    gates,
    output,
    plan,
    split,
    submissions,
    team_commands,
    verify,
    witness,
)
from holdfast.client import SubmissionWarning
from holdfast.errors import Failure
from holdfast.mcp.command import mcp
from holdfast.options import fill_seconds
from holdfast.oracle.commands import app as oracle
from holdfast.organize.app import app as organize

INTERRUPTED = 130
SHORTCUTS = "The same as under `competitions`"


class SecondsCommand(TyperCommand):
    """A command whose `--wait` or `--watch` may come without a number."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, fill_seconds(args))


# Below `competitions` and, but for `list`, at the top: in the order of a participant's day.
SHARED: dict[str, Callable[..., None]] = {
    "list": competitions.list_,
    "join": competitions.join,
    "files": competitions.files,
    "download": competitions.download_,
    "submit": submissions.submit,
    "submissions": submissions.submissions,
    "submission": submissions.submission,
    "compare": submissions.compare,
    "campaigns": campaigns.campaigns,
    "campaign": campaigns.campaign,
    "gate": gates.gate,
    "gates": gates.gates,
    "leaderboard": competitions.leaderboard,
    "finals": finals.finals,
    "board": competitions.leaderboard,
    "rules": competitions.rules,
    "team": team_commands.team,
    "open": competitions.open_,
}
app = typer.Typer(
    name="holdfast",
    help="Take part in Holdfast competitions from the terminal, or run them.",
    epilog="HOLDFAST_URL, HOLDFAST_TOKEN and HOLDFAST_COMPETITION go before what is stored.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
group = typer.Typer(help="See competitions and take part in them.", no_args_is_help=True)
for own in (
    *(account.login, account.logout, account.whoami, competitions.notices),
    *(check.check, mcp, plan.plan, split.split, verify.verify, witness.witness),
):
    app.command()(own)
for name, command in SHARED.items():
    waits = ("submit", "submission", "gate", "leaderboard", "board")
    cls = SecondsCommand if name in waits else None
    group.command(name, cls=cls)(command)
    if name != "list":
        app.command(name, cls=cls, rich_help_panel=SHORTCUTS)(command)
app.add_typer(group, name="competitions")
app.add_typer(account.settings_app, name="config")
app.add_typer(organize, name="organize")
app.add_typer(oracle, name="oracle")
app.add_typer(group, name="c", hidden=True)


def _version(wanted: bool) -> None:
    if wanted:
        output.say(f"holdfast {__version__}")
        raise typer.Exit()


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Take part in Holdfast competitions from the terminal, or run them."""


def main() -> None:
    """Run the command; every failure ends as a reason on stderr and an exit code."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal that can't show a character gets a question mark, not a traceback.
        stream.reconfigure(errors="replace")  # type: ignore[union-attr]  # they are TextIOWrapper
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", SubmissionWarning)
            warnings.showwarning = lambda message, *_: output.warn(str(message))
            app()
    except Failure as failure:
        _end(failure)
    except OSError as error:
        _end(Failure(f"{error.filename or 'This machine'}: {error.strerror or error}."))
    except Exception as error:  # a participant is never shown a traceback
        if os.environ.get("HOLDFAST_DEBUG"):
            raise
        _end(
            Failure(
                f"Something unexpected happened: {error!r}. "
                "Perhaps the server is newer than this command.",
                hint="Try a newer version of holdfast; HOLDFAST_DEBUG=1 shows where it happened.",
            )
        )
    except SystemExit as end:
        if end.code == INTERRUPTED:
            # On a terminal the cursor stands behind ^C, or behind a question.
            sys.stderr.write("\n" if sys.stderr.isatty() else "")
            output.note("Interrupted.")
        raise


def _end(failure: Failure) -> NoReturn:
    output.report(failure)
    raise SystemExit(1)
