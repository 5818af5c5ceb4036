"""A local oracle as tools of the Model Context Protocol."""

from pathlib import Path
from typing import Annotated, Any

from mcp.server.mcpserver import MCPServer
from pydantic import Field

from holdfast import __version__
from holdfast.connection import Json
from holdfast.errors import Failure
from holdfast.frames import Predictions
from holdfast.mcp.tools import tool
from holdfast.oracle.client import Oracle

INSTRUCTIONS = """
This oracle scores predictions on private rows, and keeps count of every question to them. New
predictions are one question, counted for good, whatever the answer; the same predictions again get
the same answer and cost nothing. What is certified lies within `release.certificate`, however many
questions came before; differences below its width mean nothing. So compare candidates on validation
rows of your own, and ask about the few that you believe in. A gate answers one bit, and there are
few of them. `guarantee` tells what is promised and what is left.
""".strip()

LONGEST_TEXT = 1_000_000  # characters
LONGEST_LIST = 100_000

Csv = Annotated[
    str,
    Field(
        max_length=LONGEST_TEXT,
        description="The predictions as CSV text, with the columns of `guarantee`'s schema.",
    ),
]
Values = Annotated[
    list[float | int | str] | None,
    Field(
        max_length=LONGEST_LIST,
        description="Or the predictions alone, one for each row, in the order of the rows.",
    ),
]
FilePath = Annotated[
    str, Field(max_length=1000, description="Or a prediction file below this server's folder.")
]
Campaign = Annotated[
    str, Field(max_length=100, description="The name that the question is counted under.")
]


class Tools:
    """What an agent may do with an oracle. Raises Failure for what an agent can mend.

    folder: below which files are read; None for none.
    """

    def __init__(self, oracle: Oracle, folder: Path | None) -> None:
        self._oracle, self._folder = oracle, folder and folder.resolve()

    def ask(
        self,
        csv: Csv = "",
        values: Values = None,
        path: FilePath = "",
        claim: Annotated[
            float | None, Field(description="The score that you expect, where claims are taken.")
        ] = None,
        campaign: Campaign = "",
    ) -> Json:
        """Ask about predictions (`csv`, `values` or `path`): a question to the private rows.

        New predictions are counted for good, whatever the answer; the same ones again cost nothing
        and tell nothing new. Don't average answers, change single predictions to see the score
        move, or climb on its last digits: choose on your own validation rows.
        """
        predictions = self._predictions(csv, values, path)
        return self._oracle.ask(predictions, claim=claim, campaign=campaign or None).json

    def gate(
        self,
        name: Annotated[str, Field(description="One of those that `gates` lists.")],
        csv: Csv = "",
        values: Values = None,
        path: FilePath = "",
        campaign: Campaign = "",
    ) -> Json:
        """Ask a gate about predictions: passed or not, one bit, of a number that was fixed."""
        predictions = self._predictions(csv, values, path)
        return self._oracle.gate(name, predictions, campaign=campaign or None).json

    def guarantee(self) -> Json:
        """See what is asked and how, what is promised now and at the limit, and what is left."""
        return self._oracle.facts

    def history(self) -> list[Json]:
        """See the newest answers, the newest first; that costs nothing."""
        return [answer.json for answer in self._oracle.history()]

    def gates(self) -> list[Json]:
        """See the gates that may be asked, and how far their answers may err."""
        return list(self._oracle.facts["gates"])

    def _predictions(self, csv: str, values: list[Any] | None, path: str) -> Predictions:
        given = [each for each in (csv, values, path) if each]
        if len(given) != 1:
            raise Failure(
                f"Give one of `csv`, `values` and `path`; {len(given)} are given. Nothing was "
                "counted."
            )
        if not path:
            return csv.encode() or values
        if self._folder is None:
            raise Failure("This server reads no files: send `csv` or `values`.")
        found = (self._folder / path).resolve()
        if not found.is_relative_to(self._folder) or not found.is_file():
            raise Failure(f"There is no file {path!r} below {self._folder}. Nothing was counted.")
        return found


def make(oracle: Oracle, folder: Path | None = None) -> MCPServer:
    """Return the server of an oracle, ready to be served; `folder` is that of files to send."""
    reads = {"read_only_hint": True, "open_world_hint": False}
    asks = {"destructive_hint": False, "open_world_hint": False, "idempotent_hint": True}
    own = Tools(oracle, folder)
    return MCPServer(
        "holdfast-oracle",
        title="Holdfast oracle",
        instructions=INSTRUCTIONS,
        version=__version__,
        log_level="WARNING",
        tools=[
            tool(own.ask, "Ask about predictions", **asks),
            tool(own.gate, "Ask a gate", **asks),
            tool(own.guarantee, "See the guarantee", **reads),
            tool(own.history, "See earlier answers", **reads),
            tool(own.gates, "See the gates", **reads),
        ],
    )
