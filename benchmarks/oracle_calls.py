"""Measure one call of an agent: from 1,000 predictions to the released answer, through MCP.

    python -m benchmarks.oracle_calls [--calls 40] [--rows 1000]

Starts the embedded site (`manage.py run`) and `holdfast mcp` over stdio, as the configuration of an
agent does, and submits through the SDK's client; then a local oracle (`holdfast oracle serve`).
Questions through the plain API, polled without pause to speak of, take turns with those to the
site, so that both see the same machine: the ratio is what MCP, the client and its waiting add.
"""

import argparse
import asyncio
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
from mcp import Client, StdioServerParameters

from tests.servers.deployment import ROOT
from tests.servers.embedded import Embedded, environment_of

POLL_SECONDS = 0.005
WARM_UP = 3  # turns that are not counted: the worker reads the solution in the first
SET_UP = """
from leaderboard.participate import membership, tokens
from tests import cast
made = cast.make_competition("calls", cast.make_user("organizer"), rows={rows}, public={rows} // 5)
cast.set_round(made, daily_limit=10**6)
alice = cast.make_user("alice")
membership.join(competition=made, user=alice, accept_rules=True, team_name="Agents")
print("TOKEN", tokens.issue(alice, days=1).text)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--calls", type=int, default=40)
    parser.add_argument("--rows", type=int, default=1000)
    arguments = parser.parse_args()
    limits = {"THROTTLE_UPLOAD": "100000/min", "THROTTLE_USER": "1000000/min"}
    with tempfile.TemporaryDirectory() as folder:
        with Embedded(Path(folder), "--no-demo", environment=limits) as site:
            site.wait_until_ready()
            url, token = f"http://127.0.0.1:{site.port}", _set_up(Path(folder), arguments.rows)
            through, plain = asyncio.run(_ask_site(url, token, arguments.calls, arguments.rows))
        local = asyncio.run(_ask_local(Path(folder), arguments.calls, arguments.rows))
    for name, seconds in (
        ("embedded site, MCP", through),
        ("embedded site, plain API", plain),
        ("local oracle, MCP", local),
    ):
        print(
            f"{name}: median {statistics.median(seconds):.3f} s, "
            f"90 % under {statistics.quantiles(seconds, n=10)[-1]:.3f} s, {len(seconds)} calls"
        )
    print(f"site, MCP / plain API: {statistics.median(through) / statistics.median(plain):.2f}")


def _set_up(directory: Path, rows: int) -> str:
    """Make a competition and a team; return the team's token."""
    done = subprocess.run(
        [sys.executable, "manage.py", "shell", "--command", SET_UP.format(rows=rows)],
        cwd=ROOT,
        env=environment_of(directory),
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split("TOKEN", 1)[1].split()[0]


async def _ask_site(url: str, token: str, calls: int, rows: int) -> tuple[list[float], list[float]]:
    files = _files(rows)
    through: list[float] = []
    plain: list[float] = []
    process = _command("mcp", "-c", "calls", HOLDFAST_URL=url, HOLDFAST_TOKEN=token)
    with httpx.Client(
        base_url=f"{url}/api/v1/competitions/calls/submissions/",
        headers={"Authorization": f"Token {token}"},
    ) as api:
        async with Client(process) as agent:
            for _ in range(WARM_UP + calls):
                through.append(await _ask(agent, "submit", next(files)))
                plain.append(_ask_plainly(api, next(files)))
    return through[WARM_UP:], plain[WARM_UP:]


async def _ask_local(folder: Path, calls: int, rows: int) -> list[float]:
    files = _files(rows)
    labels = folder / "labels.csv"
    labels.write_text(next(files))
    options = ["--labels", str(labels), "--metric", "accuracy", "--mechanism", "ladder", "--mcp"]
    options += ["--socket", str(folder / "oracle.sock")]
    if os.geteuid() == 0:  # the folder is root's: another user could write no ledger there
        options += ["--user", "root"]
    async with Client(_command("oracle", "serve", *options)) as agent:
        seconds = [await _ask(agent, "ask", next(files)) for _ in range(WARM_UP + calls)]
    return seconds[WARM_UP:]


def _command(*words: str, **environment: str) -> StdioServerParameters:
    return StdioServerParameters(
        command=sys.executable,
        args=["-m", "holdfast", *words],
        env={**environment, "PYTHONPATH": str(ROOT)},
    )


async def _ask(agent: Client, tool: str, csv: str) -> float:
    started = time.perf_counter()
    found = await agent.call_tool(tool, {"csv": csv})
    seconds = time.perf_counter() - started
    if found.is_error or (found.structured_content or {}).get("status", "released") != "released":
        raise SystemExit(f"Not released: {found}")
    return seconds


def _ask_plainly(api: httpx.Client, csv: str) -> float:
    started = time.perf_counter()
    sent = api.post("", files={"file": ("p.csv", csv.encode())}).raise_for_status().json()
    while not (seen := api.get(f"{sent['number']}/").raise_for_status().json())["is_final"]:
        time.sleep(POLL_SECONDS)
    seconds = time.perf_counter() - started
    if seen["status"] != "released":
        raise SystemExit(f"Not released: {seen['summary']}")
    return seconds


def _files(rows: int) -> Iterator[str]:
    """Yield files of random labels, of which no two are alike."""
    chance = random.Random(1)
    while True:
        labels = chance.choices("0123", k=rows)
        yield "id,label\n" + "".join(f"r{row},{label}\n" for row, label in enumerate(labels))


if __name__ == "__main__":
    main()
