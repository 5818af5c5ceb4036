"""The server: tools and resources of a site, and what an agent is told at the beginning."""

from collections.abc import Callable

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ResourceError

from holdfast import __version__
from holdfast.errors import Failure
from holdfast.mcp.site import Site, evaluation
from holdfast.mcp.tools import explain, tool

INSTRUCTIONS = """
Holdfast scores prediction files on private rows, and keeps count of every question to them.
Each file with new predictions is one question, counted for your team for good, whatever the answer;
the same predictions again cost nothing and get the same answer. What is released is certified: the
expected score lies within the stated interval, however many questions came before. Differences
below its width mean nothing. So compare candidates on your own validation rows, check a file with
`check_file`, and submit the few that you believe in; don't average answers, don't change single
predictions to see the score move, don't climb on digits. `what_is_left` tells what you may still
ask. Read the rules first. To join a competition is a person's decision and not offered here.
""".strip()
TEXTS: dict[str, tuple[str, Callable[[Site, str], str]]] = {
    "description": ("Description", lambda site, name: _text(site, name, "description")),
    "data": ("Data description", lambda site, name: _text(site, name, "data_description")),
    "rules": ("Rules", lambda site, name: _text(site, name, "rules")),
    "evaluation": ("Evaluation", lambda site, name: evaluation(site.competition(name).info())),
    "sample": ("Sample submission", lambda site, name: site.sample(name)),
}


def make(site: Site) -> MCPServer:
    """Return the server of a site, ready to be served."""
    reads = {"read_only_hint": True, "open_world_hint": False}
    writes = {"destructive_hint": False, "open_world_hint": False}
    server = MCPServer(
        "holdfast",
        title="Holdfast",
        instructions=INSTRUCTIONS,
        version=__version__,
        log_level="WARNING",
        tools=[
            tool(site.list_competitions, "List competitions", **reads),
            tool(site.read_competition, "Read rules and texts", **reads),
            tool(site.list_files, "List files", **reads),
            tool(site.download_files, "Download files", idempotent_hint=True, **writes),
            tool(site.check_file, "Check a file", **reads),
            tool(site.submit, "Submit predictions", idempotent_hint=False, **writes),
            tool(site.submission, "See a submission", **reads),
            tool(site.list_submissions, "List submissions", **reads),
            tool(site.leaderboard, "See the leaderboard", **reads),
            tool(site.guarantee, "See the guarantee", **reads),
            tool(site.what_is_left, "See what is left", **reads),
        ],
    )
    for part, (title, read) in TEXTS.items():
        server.resource(
            f"holdfast://{site.only or '{competition}'}/{part}",
            name=part,
            title=title,
            description=f"{title} of {site.only or 'a competition'}.",
            mime_type="text/csv" if part == "sample" else "text/markdown",
        )(_resource(site, read))
    return server


def _resource(site: Site, read: Callable[[Site, str], str]) -> Callable[..., str]:
    """Return a function that reads a text: of the competition that the server is for, or of any."""

    def of_any(competition: str) -> str:
        try:
            return read(site, competition)
        except Failure as failure:
            raise ResourceError(explain(failure)) from None

    def of_one() -> str:
        return of_any(site.only)

    return of_one if site.only else of_any


def _text(site: Site, name: str, field: str) -> str:
    return str(site.competition(name).info().json[field])
