"""A local oracle as an agent meets it, by the client of the protocol's own SDK."""

import asyncio
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.types import CallToolResult, TextContent

from holdfast import Oracle
from holdfast.oracle.tools import LONGEST_TEXT, make
from tests.holdfast.oracles import TRUTH, Place, guess


@pytest.fixture
def oracle() -> Iterator[Oracle]:
    """A running oracle with a gate, and a file of predictions in its folder."""
    with tempfile.TemporaryDirectory(prefix="oracle-") as folder:
        place = Place(Path(folder))
        (place.folder / "sent.csv").write_bytes(guess(40))
        with place.serve(gates=2, order_gates=(("good", "mark:0.7"),)) as (oracle, _):
            yield oracle


def converse(
    oracle: Oracle, *calls: tuple[str, dict[str, Any]], folder: Path | None = None
) -> list[CallToolResult]:
    async def session() -> list[CallToolResult]:
        async with Client(make(oracle, folder)) as client:
            return [await client.call_tool(name, arguments) for name, arguments in calls]

    return asyncio.run(session())


def test_an_agent_asks_and_sees_what_is_left(oracle: Oracle) -> None:
    folder = Path(oracle.address.removeprefix("unix:")).parent
    found = converse(
        oracle,
        ("ask", {"values": TRUTH.tolist(), "campaign": "trees"}),
        ("ask", {"csv": guess(0).decode()}),
        ("ask", {"path": "sent.csv"}),
        ("gate", {"name": "good", "values": TRUTH.tolist()}),
        ("guarantee", {}),
        ("gates", {}),
        ("history", {}),
        folder=folder,
    )
    assert not any(each.is_error for each in found)
    first, again, worse, passed, facts, gates, history = (each.structured_content for each in found)
    assert first is not None
    assert again is not None
    assert (first["release"]["score"], first["campaign"]) == (1.0, "trees")
    assert (again["is_repeat"], again["left"]["questions"]) == (True, 99)
    assert worse is not None
    assert worse["release"]["kind"] == "not_improved"
    assert passed is not None
    assert passed["gate"]["passed"] is True
    assert facts is not None
    assert facts["left"] == {"questions": 98, "answers": None, "gates": 1}
    assert gates is not None
    assert [each["name"] for each in gates["result"]] == ["good"]
    assert history is not None
    assert len(history["result"]) == 2


@pytest.mark.parametrize(
    ("tool", "arguments", "expected"),
    [
        ("ask", {}, "Give one of `csv`, `values` and `path`"),
        ("ask", {"vales": [1]}, "`vales` is no argument of it"),
        ("ask", {"values": [0, 1]}, "expected are 400 rows"),
        ("ask", {"csv": "x" * (LONGEST_TEXT + 1)}, "1,000,001 characters long"),
        ("ask", {"path": "labels.csv"}, "reads no files"),
        ("gate", {"name": "bad", "values": TRUTH.tolist()}, "there is good"),
    ],
)
def test_a_wrong_call_says_what_was_expected_and_counts_nothing(
    oracle: Oracle, tool: str, arguments: dict[str, Any], expected: str
) -> None:
    (found,) = converse(oracle, (tool, arguments))
    assert found.is_error
    text = found.content[0]
    assert isinstance(text, TextContent)
    assert expected in text.text
    assert oracle.facts["left"]["questions"] == 100


def test_files_outside_the_folder_are_not_sent(oracle: Oracle, tmp_path: Path) -> None:
    outside = str(Path(oracle.address.removeprefix("unix:")).parent / "sent.csv")
    (found,) = converse(oracle, ("ask", {"path": outside}), folder=tmp_path)
    assert found.is_error
