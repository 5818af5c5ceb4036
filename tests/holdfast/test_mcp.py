"""`holdfast mcp` as an agent meets it, by the client of the protocol's own SDK."""

import asyncio
import sys
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from django.utils import timezone
from mcp import Client
from mcp.server.mcpserver import MCPServer
from mcp.shared.exceptions import MCPError
from mcp.types import CallToolResult, TextContent, TextResourceContents

import holdfast
from holdfast.mcp.server import make
from holdfast.mcp.site import LONGEST_TEXT, Site
from leaderboard.models import Ledger, Round, Submission, Team
from leaderboard.participate import campaigns, tokens
from leaderboard.participate.tokens import Binding
from tests.cast import World, predictions
from tests.holdfast.conftest import Server, ok, page, problem
from tests.holdfast.test_check import BAD, DETAIL, ENTRY, SAMPLE
from tests.holdfast.test_competitions import TEAM
from tests.holdfast.test_submissions import NEW, QUEUED, RELEASED

SENT = "competitions/pets/submissions/"
LIMITS: dict[str, Any] = {
    "left": 4, "daily_left": 4, "renews_at": "2026-11-21T00:00:00Z", "total_left": None,
    "summary": "4 of 5.",
}  # fmt: skip
GOOD = predictions({20}).decode()


def converse(server: MCPServer, *calls: tuple[str, dict[str, Any]]) -> list[CallToolResult]:
    """Make calls of tools, one after the other, in one session."""

    async def session() -> list[CallToolResult]:
        async with Client(server) as client:
            return [await client.call_tool(name, arguments) for name, arguments in calls]

    return asyncio.run(session())


def words(result: CallToolResult) -> str:
    """Return the text of an answer."""
    return "\n".join(each.text for each in result.content if isinstance(each, TextContent))


@pytest.fixture
def site(environment: Path, request: pytest.FixtureRequest) -> Iterator[MCPServer]:
    """Serve the site that the environment names."""
    request.getfixturevalue("alice" if "alice" in request.fixturenames else "signed_in")
    with holdfast.Client(progress=False) as client:
        yield make(Site(client, environment))


Ask = Callable[..., Any]


@pytest.fixture
def ask(site: MCPServer) -> Ask:
    """Return a function that calls a tool and returns its structured answer."""

    def ask(tool: str, **arguments: Any) -> Any:
        (result,) = converse(site, (tool, arguments))
        assert not result.is_error, words(result)
        return result.structured_content

    return ask


@pytest.fixture
def fail(site: MCPServer) -> Callable[..., str]:
    """Return a function that calls a tool in vain and returns the reason."""

    def fail(tool: str, **arguments: Any) -> str:
        (result,) = converse(site, (tool, arguments))
        assert result.is_error, words(result)
        assert "Traceback" not in words(result)
        return words(result)

    return fail


@pytest.fixture
def pets(server: Server) -> Server:
    """Return a server with a competition that takes what is sent."""
    server.on("GET", "competitions/pets/", ok(DETAIL))
    server.on("GET", "competitions/pets/files/", page(ENTRY))
    content = httpx.Response(200, content=SAMPLE.encode())
    server.on("GET", "competitions/pets/files/sample_submission.csv/", content)
    server.on("GET", SENT, page())
    server.on("POST", SENT, ok(NEW | {"limits": LIMITS}, 201))
    server.on("GET", f"{SENT}3/", ok(RELEASED))
    server.on("GET", "competitions/pets/team/", ok(TEAM | {"limits": None}))
    return server


def test_an_agent_gets_from_the_list_to_a_released_score(
    alice: World, ask: Ask, environment: Path
) -> None:
    (listed,) = ask("list_competitions")["competitions"]
    assert (listed["slug"], listed["joined"]) == ("digits", True)
    read = ask("read_competition", competition="digits")
    assert read["rules"]
    assert "- label: label (0, 1, 2, 3)" in read["evaluation"]
    saved = ask("download_files", competition="digits")["files"]
    assert str(environment / "digits" / "train.csv") in [each["path"] for each in saved]
    checked = ask("check_file", competition="digits", csv=GOOD)
    assert (checked["ok"], checked["rows"]) == (True, 40)

    (environment / "mine.csv").write_text(GOOD)
    sent = ask("submit", competition="digits", path="mine.csv", message="first")
    assert (sent["status"], sent["release"]["score_text"]) == ("released", "0.95")
    assert sent["cost"] == {"question": True, "submission": True}
    assert sent["left"]["daily_left"] == 19
    assert sent["release"]["sampling"]["low"] < 0.95 < sent["release"]["sampling"]["high"]

    again = ask("submit", competition="digits", csv=GOOD.replace("\n", "\r\n"))
    assert again["release"]["is_repeat"]
    assert again["cost"] == {"question": False, "submission": False}
    assert again["left"]["daily_left"] == 19
    assert Ledger.objects.get().asked == 1

    assert ask("submission", competition="digits", number=1)["summary"] == sent["summary"]
    assert ask("list_submissions", competition="digits", search="first")["total"] == 1
    board = ask("leaderboard", competition="digits")
    assert board["mine"]["team"] == "Alices"
    assert ask("guarantee", competition="digits") == {"guarantee": board["guarantee"]}
    left = ask("what_is_left", competition="digits")
    assert (left["team"], left["submissions"]["daily_left"]) == ("Alices", 19)
    assert (left["token"]["username"], left["campaign"]) == ("alice", None)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"closes_at": timezone.now() - timedelta(minutes=1)}, "deadline_passed"),
        ({"max_file_bytes": 10}, "file_too_large"),
    ],
)
def test_what_the_site_refuses_is_said_with_its_code_and_counted_nowhere(
    change: dict[str, Any], code: str, alice: World, fail: Callable[..., str]
) -> None:
    Round.objects.update(**change)
    reason = fail("submit", competition="digits", csv=GOOD)
    assert reason.endswith(f"Code: {code}")
    assert not Submission.objects.exists()


def test_a_bound_token_gets_as_far_as_its_competition_campaign_and_quota(
    alice: World, environment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    team = Team.objects.get(name="Alices")
    campaigns.begin(team=team, user=alice.alice, name="night", limit=1)
    binding = Binding("digits", "night", 5)
    token = tokens.issue(alice.alice, days=1, binding=binding).text
    with holdfast.Client(token=token, progress=False) as client:
        sent, over, other, named, left = converse(
            make(Site(client, environment)),
            ("submit", {"competition": "digits", "csv": GOOD}),
            ("submit", {"competition": "digits", "csv": predictions({9}).decode()}),
            ("submit", {"competition": "secrets", "csv": GOOD}),
            ("read_competition", {"competition": "secrets"}),
            ("what_is_left", {"competition": "digits"}),
        )
    assert sent.structured_content
    assert sent.structured_content["campaign"] == "night"
    assert words(over).count("Its owner can raise the limit") == 1
    assert "Code: campaign_limit_reached" in words(over)
    assert all("Code: token_bound" in words(each) for each in (other, named))
    assert left.structured_content
    found = left.structured_content
    assert (found["campaign"]["left"], found["campaign"]["exposure"]["questions"]) == (0, 1)
    assert found["token"]["token_competition"] == "digits"
    assert found["token"]["token_quota_left"] == 4
    assert Submission.objects.count() == 1


def test_a_server_for_a_campaign_submits_to_it(alice: World, environment: Path) -> None:
    team = Team.objects.get(name="Alices")
    campaigns.begin(team=team, user=alice.alice, name="night")
    with holdfast.Client(progress=False) as client:
        (sent,) = converse(
            make(Site(client, environment, "digits", "night")), ("submit", {"csv": GOOD})
        )
        (unknown,) = converse(
            make(Site(client, environment, "digits", "day")), ("submit", {"csv": GOOD})
        )
    assert sent.structured_content
    assert sent.structured_content["campaign"] == "night"
    assert "no campaign called day" in words(unknown)
    assert Submission.objects.count() == 1


def test_a_rejected_file_costs_nothing_and_says_where_it_is_wrong(alice: World, ask: Ask) -> None:
    wrong = ask("submit", competition="digits", csv=GOOD.replace("r3,3", "r3,9"))
    assert wrong["status"] == "rejected"
    assert wrong["cost"] == {"question": False, "submission": False}
    assert (wrong["problems"][0]["line"], wrong["problems"][0]["column"]) == (5, "label")
    assert wrong["left"]["daily_left"] == 20


@pytest.mark.parametrize(
    ("tool", "arguments", "reasons"),
    [
        ("submit", {"cmpetition": "pets", "csv": "a"}, ["`cmpetition` is no argument", "it has:"]),
        ("submit", {"competition": "pets"}, ["Give `path` or `csv`, one of them."]),
        ("submit", {"competition": "pets", "csv": "a", "path": "b"}, ["one of them"]),
        ("submit", {"competition": "pets", "csv": 7}, ["`csv`", "valid string", "it is 7"]),
        ("submit", {"competition": "p/../q", "csv": "a"}, ["'p/../q' is no competition's"]),
        ("submit", {"csv": "a"}, ["Name a competition."]),
        ("submit", {"competition": "pets", "csv": "a", "wait_seconds": 1e9}, ["less than or"]),
        ("submit", {"competition": "pets", "csv": "a", "claim": "much"}, ["`claim`", "'much'"]),
        ("submit", {"competition": "pets", "csv": "a\ud800"}, ["`csv`"]),
        ("submission", {"competition": "pets", "number": "three"}, ["`number`", "'three'"]),
        ("submission", {"competition": "pets"}, ["`number` is missing."]),
        ("list_submissions", {"competition": "pets", "status": "won"}, ["'rejected'", "'won'"]),
        ("download_files", {"competition": "pets", "file": "../x"}, ["no file named '../x'"]),
        ("leaderboard", {"competition": "pets", "page": 0}, ["greater than or equal to 1"]),
        ("resubmit", {}, ["Unknown tool: resubmit"]),
    ],
)
def test_a_wrong_argument_is_named_and_nothing_is_sent(
    tool: str,
    arguments: dict[str, Any],
    reasons: list[str],
    pets: Server,
    fail: Callable[..., str],
) -> None:
    said = fail(tool, **arguments)
    assert all(reason in said for reason in reasons), said
    assert all(request.method == "GET" for request in pets.requests)


@pytest.mark.parametrize("path", ["../p.csv", "/etc/passwd", "out/p.csv", "nul\0l.csv", "loop"])
def test_no_file_outside_the_folder_is_read(
    path: str, pets: Server, fail: Callable[..., str], environment: Path
) -> None:
    (environment.parent / "p.csv").write_text(SAMPLE)
    (environment / "out").symlink_to(environment.parent)
    (environment / "loop").symlink_to("loop")
    assert "Nothing was sent or counted." in fail("submit", competition="pets", path=path)
    assert pets.requests == []


def test_no_file_is_saved_outside_the_folder(
    pets: Server, fail: Callable[..., str], environment: Path
) -> None:
    (environment / "pets").symlink_to(environment.parent)
    assert "is not below" in fail("download_files", competition="pets")


def test_a_hundred_megabytes_are_refused_before_anything_is_sent(
    pets: Server, fail: Callable[..., str], environment: Path
) -> None:
    reason = fail("submit", competition="pets", csv="1,cat\n" * 17_000_000)
    assert f"at most {LONGEST_TEXT} characters" in reason
    assert "102,000,000 characters long" in reason
    assert len(reason) < 500
    assert pets.requests == []
    (environment / "large.csv").write_bytes(b"\n" * (LONGEST_TEXT + 1))
    assert "takes at most 1 kB" in fail("submit", competition="pets", path="large.csv")
    assert [request.method for request in pets.requests] == ["GET"]


@pytest.mark.parametrize(
    ("answer", "reasons"),
    [
        (problem(429, "throttled", "Too many."), ["Too many.", "Code: throttled"]),
        (problem(404, "not_found", "There is no such competition."), ["no such competition"]),
        (problem(403, "not_a_member", "Join first."), ["holdfast join COMP"]),
        (httpx.ConnectError("refused"), ["Code: unreachable"]),
        (httpx.Response(500, text="<html>"), ["not as a Holdfast server does"]),
    ],
)
def test_each_refusal_is_worded(
    answer: httpx.Response | Exception, reasons: list[str], pets: Server, fail: Callable[..., str]
) -> None:
    pets.on("POST", SENT, answer)
    said = fail("submit", competition="pets", csv=SAMPLE)
    assert all(reason in said for reason in reasons), said


def test_who_does_not_want_to_wait_can_ask_again_by_number(pets: Server, ask: Ask) -> None:
    pets.on("GET", f"{SENT}3/", ok(QUEUED))
    sent = ask("submit", competition="pets", csv=SAMPLE, wait_seconds=0)
    assert (sent["status"], sent["cost"]["question"]) == ("queued", None)
    assert "`submission` for number 3" in sent["next"]
    still = ask("submission", competition="pets", number=3, wait_seconds=0.1)
    assert (still["status"], still["next"]) == ("queued", sent["next"])
    pets.on("GET", f"{SENT}3/", ok(RELEASED))
    done = ask("submission", competition="pets", number=3, wait_seconds=5)
    assert (done["release"]["score"], done["next"]) == (0.94, "")


def test_a_file_that_arrived_keeps_its_number_whatever_happens_then(pets: Server, ask: Ask) -> None:
    pets.on("GET", f"{SENT}3/", problem(403, "scope_missing", "The token may not read."))
    sent = ask("submit", competition="pets", csv=SAMPLE)
    assert (sent["number"], sent["status"]) == (3, "queued")
    assert "It was received, but: The token may not read." in sent["next"]
    assert sent["left"]["daily_left"] == 4


def test_a_check_says_what_is_wrong_and_sends_nothing(pets: Server, ask: Ask) -> None:
    found = ask("check_file", competition="pets", csv=BAD)
    assert (found["ok"], found["problems"][0]["value"]) == (False, "Dog")
    assert all(request.method == "GET" for request in pets.requests)


def test_a_check_without_the_science_extra_says_what_to_install(
    pets: Server, fail: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "scoring.predictions", None)
    assert 'pip install ".[science]"' in fail("check_file", competition="pets", csv=SAMPLE)


def test_a_bug_shows_nothing_of_itself(
    pets: Server, fail: Callable[..., str], caplog: pytest.LogCaptureFixture
) -> None:
    pets.on("GET", "competitions/pets/files/", ok({"results": [{"name": 3}], "next": None}))
    assert fail("list_files", competition="pets") == "Error executing tool list_files"
    assert "ValidationError" in caplog.text


def test_a_server_for_one_competition_knows_no_other(
    pets: Server, signed_in: None, environment: Path
) -> None:
    with holdfast.Client(progress=False) as client:
        server = make(Site(client, environment, "pets"))
        sent, other = converse(
            server, ("submit", {"csv": SAMPLE}), ("submit", {"csv": SAMPLE, "competition": "cats"})
        )
    assert sent.structured_content
    assert sent.structured_content["release"]["score"] == 0.94
    assert "This server is for pets alone, not for 'cats'." in words(other)


def test_texts_and_sample_are_resources(alice: World, site: MCPServer) -> None:
    async def read() -> tuple[list[str], str, str]:
        async with Client(site) as client:
            texts = []
            for part in ("description", "data", "rules", "evaluation", "sample"):
                (content,) = (await client.read_resource(f"holdfast://digits/{part}")).contents
                assert isinstance(content, TextResourceContents)
                texts.append(content.text)
            with pytest.raises(MCPError) as unknown:
                await client.read_resource("holdfast://nothing/rules")
            return texts, str(unknown.value), texts[-1]

    texts, reason, sample = asyncio.run(read())
    assert "Metric: Accuracy (maximize)." in texts[3]
    assert sample.startswith("id,label\n")
    assert "There is no such competition." in reason


def test_the_tools_say_what_answers_mean_and_cost(site: MCPServer) -> None:
    async def look() -> tuple[str, dict[str, Any]]:
        async with Client(site) as client:
            tools = (await client.list_tools()).tools
            return client.instructions or "", {each.name: each for each in tools}

    instructions, tools = asyncio.run(look())
    for said in (instructions, tools["submit"].description):
        assert "for good" in said
        assert "certified" in said
        assert "average" in said
    assert all(each.output_schema and each.description for each in tools.values())
    writing = {name for name, each in tools.items() if not each.annotations.read_only_hint}
    assert writing == {"submit", "download_files"}
