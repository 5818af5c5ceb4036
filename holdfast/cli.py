"""`holdfast`: the participants' command line. Here the commands get their names."""

import os
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from holdfast import __version__, account, check, competitions, finals, output, submissions, verify
from holdfast.errors import Failure
from holdfast.options import fill_wait

INTERRUPTED = 130
SHORTCUTS = "The same as below `competitions`"


class WaitingCommand(TyperCommand):
    """A command whose `--wait` may come without a number."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, fill_wait(args))


app = typer.Typer(
    name="holdfast",
    help="Take part in Holdfast competitions from the terminal.",
    epilog="HOLDFAST_URL and HOLDFAST_TOKEN go before what `holdfast login` keeps.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
group = typer.Typer(help="See competitions, take part in them.", no_args_is_help=True)


def _version(wanted: bool) -> None:
    if wanted:
        output.say(f"holdfast {__version__}")
        raise typer.Exit()


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Take part in Holdfast competitions from the terminal."""


def _register(to: typer.Typer, panel: str | None) -> None:
    """The commands below `competitions`, in the order of a participant's day."""
    if panel is None:
        to.command("list")(competitions.list_)
    to.command("join", rich_help_panel=panel)(competitions.join)
    to.command("files", rich_help_panel=panel)(competitions.files)
    to.command("download", rich_help_panel=panel)(competitions.download_)
    to.command("submit", cls=WaitingCommand, rich_help_panel=panel)(submissions.submit)
    to.command("submissions", rich_help_panel=panel)(submissions.submissions)
    to.command("submission", cls=WaitingCommand, rich_help_panel=panel)(submissions.submission)
    to.command("leaderboard", rich_help_panel=panel)(competitions.leaderboard)
    to.command("finals", rich_help_panel=panel)(finals.finals)
    to.command("team", rich_help_panel=panel)(competitions.team)


app.command("login")(account.login)
app.command("logout")(account.logout)
app.command("whoami")(account.whoami)
app.command("check")(check.check)
app.command("verify")(verify.verify)
_register(group, None)
app.add_typer(group, name="competitions")
app.add_typer(group, name="c", hidden=True)
_register(app, SHORTCUTS)


def main() -> None:
    """Run the command; every failure ends as a reason on stderr and an exit code."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal that can't show a character gets a question mark, not a traceback.
        stream.reconfigure(errors="replace")  # type: ignore[union-attr]  # they are TextIOWrapper
    try:
        app()
    except Failure as failure:
        _end(failure)
    except OSError as error:
        _end(Failure(f"{error.filename or 'This machine'}: {error.strerror or error}."))
    except Exception as error:  # a participant is never shown a traceback
        if os.environ.get("HOLDFAST_DEBUG"):
            raise
        _end(_unexpected(error))
    except SystemExit as end:
        if end.code == INTERRUPTED:
            # On a terminal the cursor stands behind ^C, or behind a question.
            sys.stderr.write("\n" if sys.stderr.isatty() else "")
            output.note("Interrupted.")
        raise


def _end(failure: Failure) -> None:
    output.report(failure)
    raise SystemExit(failure.exit_code)


def _unexpected(error: Exception) -> Failure:
    return Failure(
        f"Something unexpected happened: {error!r}. Perhaps the server is newer than this command.",
        hint="Try a newer version of holdfast; HOLDFAST_DEBUG=1 shows where it happened.",
    )
