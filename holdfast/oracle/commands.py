"""`holdfast oracle`: the commands. Only running them takes the extra."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from holdfast import output
from holdfast.errors import Failure, NotInstalled
from holdfast.options import EXISTING, OneFormatOption
from holdfast.oracle.client import Oracle
from holdfast.output import Format

if TYPE_CHECKING:
    from collections.abc import Iterator

    from holdfast.oracle.run import Order

SOCKET = Path("oracle.sock")
ADDRESS = "127.0.0.1:"
app = typer.Typer(
    name="oracle",
    help="Answer questions about labels of this machine, without a site.",
    no_args_is_help=True,
)


@app.command()
def serve(
    labels: Annotated[
        Path,
        typer.Option(
            "--labels",
            metavar="FILE",
            help="The labels, CSV or Parquet.",
            exists=True,
            dir_okay=False,
        ),
    ],
    metric: Annotated[str, typer.Option("--metric", help="As in docs/metrics.md.")],
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, help="Questions in all; without it no end.")
    ] = None,
    mechanism: Annotated[
        str,
        typer.Option(
            "--mechanism",
            metavar="guard|ladder|mark",
            help="How it answers; Guard where it fits, else the Ladder.",
        ),
    ] = "",
    mark: Annotated[
        float | None, typer.Option("--mark", metavar="S", help="The score that passes a mark.")
    ] = None,
    steps: Annotated[
        int | None, typer.Option("--steps", help="Steps of the scores that are shown.")
    ] = None,
    confidence: Annotated[
        str, typer.Option("--confidence", help="Of all guarantees at once.")
    ] = "0.95",
    parameter: Annotated[
        list[str] | None,
        typer.Option("--parameter", metavar="NAME=VALUE", help="Another one of the mechanism."),
    ] = None,
    metric_parameter: Annotated[
        list[str] | None,
        typer.Option("--metric-parameter", metavar="NAME=VALUE", help="One of the metric."),
    ] = None,
    public: Annotated[
        str,
        typer.Option(
            "--public", metavar="SHARE", help="The share of rows that scores are shown on, drawn."
        ),
    ] = "",
    id_column: Annotated[
        str, typer.Option("--id", metavar="NAME", help="The column of the ids; the first one.")
    ] = "",
    target: Annotated[
        list[str] | None,
        typer.Option("--target", metavar="NAME", help="A column of labels; all others."),
    ] = None,
    schema: Annotated[
        Path | None,
        typer.Option("--schema", help="The columns as JSON, instead of guessed.", **EXISTING),
    ] = None,
    gates: Annotated[
        int | None,
        typer.Option("--gates", metavar="H", min=1, help="How many gates may be asked."),
    ] = None,
    gate: Annotated[
        list[str] | None,
        typer.Option(
            "--gate",
            metavar="NAME=mark:S|not_worse:D[:SHARE]|better",
            help="A yes-or-no question, asked by its name.",
        ),
    ] = None,
    in_use: Annotated[
        Path | None,
        typer.Option("--in-use", help="The predictions that gates compare with.", **EXISTING),
    ] = None,
    ledger: Annotated[
        Path | None,
        typer.Option("--ledger", metavar="DIR", help="Its ledger; FILE.oracle if left out."),
    ] = None,
    socket: Annotated[
        Path | None,
        typer.Option("--socket", metavar="PATH", help="Listen there; at oracle.sock."),
    ] = None,
    http: Annotated[
        str,
        typer.Option("--http", metavar="127.0.0.1:PORT", help="Listen there, on loopback alone."),
    ] = "",
    mcp: Annotated[
        bool, typer.Option("--mcp", help="Serve tools over stdio, and end with the client.")
    ] = False,
    user: Annotated[
        str, typer.Option("--user", metavar="NAME", help="Started by root: whom to become.")
    ] = "",
    agent: Annotated[
        str, typer.Option("--agent", metavar="UID|NAME", help="Who asks; whoever starts it.")
    ] = "",
    require_private: Annotated[
        bool,
        typer.Option("--require-private", help="Answer nobody who can read the labels."),
    ] = False,
    max_file: Annotated[
        int, typer.Option("--max-file", metavar="MB", min=1, help="The largest file it takes.")
    ] = 50,
) -> None:
    """Answer questions about the labels, as a board does: counted, with a guarantee.

    The ledger lies beside the labels and goes on where it was. The labels should be readable by the
    oracle's user alone: start it as root with --user and --agent, or as a user of its own.
    """
    with _extra("`holdfast oracle serve`"):
        from holdfast.oracle import private, run
        from holdfast.oracle.labels import Layout
        from holdfast.oracle.setup import Choice
    own = _pairs("--parameter", parameter) | {"confidence": confidence}
    order = run.Order(
        labels=labels,
        directory=ledger or labels.with_name(f"{labels.name}.oracle"),
        layout=Layout(
            id_column=id_column,
            targets=tuple(target or ()),
            public=run.share(public) if public else None,
            schema=run.read_schema(schema) if schema else None,
        ),
        choice=Choice(
            metric=metric,
            limit=limit,
            mechanism=mechanism,
            mark=mark,
            metric_parameters=_pairs("--metric-parameter", metric_parameter),
            parameters=own if steps is None else own | {"steps": str(steps)},
            gates=gates,
        ),
        gates=tuple(_pairs("--gate", gate).items()),
        in_use=in_use,
        socket=socket or (None if http else SOCKET),
        port=_port(http) if http else None,
        user=user,
        agent=agent,
        require_private=require_private,
        most_bytes=max_file * 1_000_000,
    )
    private.hide_memory()
    if mcp:
        _serve_tools_of(order)
    else:
        with run.running(order) as oracle:
            oracle.wait()


@app.command()
def report(
    directory: Annotated[
        Path | None,
        typer.Argument(
            metavar="DIR",
            help="The ledger of an oracle; the one that is here.",
            exists=True,
            file_okay=False,
        ),
    ] = None,
    save: Annotated[
        Path | None,
        typer.Option("--save", help="Save the ledger as this file, for `verify`.", dir_okay=False),
    ] = None,
    style: OneFormatOption = Format.table,
) -> None:
    """Show what was asked, what that told, and what the oracle still promises. No labels needed."""
    with _extra("`holdfast oracle report`"):
        from holdfast.oracle import report as reports
    if save and save.exists():
        raise Failure(f"{save} exists already.", hint="It may be a copy for --since: keep it.")
    found = reports.read(directory or _only_ledger(), save)
    if style is Format.json:
        output.show_json(found)
    else:
        reports.show(found, style)


@app.command("mcp")
def tools(
    address: Annotated[
        str,
        typer.Argument(metavar="ADDRESS", help="As unix:oracle.sock, or http://127.0.0.1:PORT."),
    ] = f"unix:{SOCKET}",
    http: Annotated[
        str, typer.Option("--http", metavar="HOST:PORT", help="Serve there, not over stdio.")
    ] = "",
    campaign: Annotated[
        str, typer.Option("--campaign", help="The name that questions are counted under.")
    ] = "",
    path: Annotated[
        Path,
        typer.Option(
            "-p", "--path", help="Where files are sent from.", exists=True, file_okay=False
        ),
    ] = Path(),
) -> None:
    """Offer a running oracle to an agent, as tools of the Model Context Protocol.

    Run it as the agent's user: it sends files of one folder, and knows no labels.
    """
    _serve_tools(Oracle(address, campaign=campaign), http, path)


def _only_ledger() -> Path:
    found = sorted(Path().glob("*.oracle"))
    if len(found) != 1:
        raise Failure(f"{len(found)} ledgers are here, named *.oracle: name the one that is meant.")
    return found[0]


def _serve_tools_of(order: Order) -> None:
    """Serve tools over stdio; the oracle ends with the client.

    The oracle's own process reads no files that the agent names: labels are among those it can.
    """
    from holdfast.oracle import run

    with run.running(order) as oracle:
        _serve_tools(Oracle(oracle.address), "", None)


def _serve_tools(oracle: Oracle, http: str, folder: Path | None) -> None:
    with _extra("MCP"):
        from holdfast.mcp import serving
        from holdfast.oracle import tools
    serving.serve(tools.make(oracle, folder), http)


@contextmanager
def _extra(what: str) -> Iterator[None]:
    try:
        yield
    except ModuleNotFoundError as error:
        missing = NotInstalled(what, str(error.name))
        missing.hint = 'In a clone of Holdfast: pip install ".[oracle,mcp]"'
        raise missing from None


def _pairs(option: str, given: list[str] | None) -> dict[str, Any]:
    pairs = [text.partition("=") for text in given or ()]
    for text, (name, equals, value) in zip(given or (), pairs, strict=True):
        if not (name and equals and value):
            raise Failure(f"{option}: NAME=VALUE was expected, not {text!r}.")
    return {name: value for name, _, value in pairs}


def _port(text: str) -> int:
    host, _, port = text.rpartition(":")
    if host not in ("127.0.0.1", "localhost", "") or not port.isdecimal() or int(port) > 65535:
        raise Failure(
            f"--http: {ADDRESS}PORT was expected, not {text!r}: an oracle answers this machine.",
            hint="For others, run a site, or forward the local socket by SSH.",
        )
    return int(port)
