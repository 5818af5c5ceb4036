"""`holdfast campaigns`, `holdfast campaign`, and submitting to one."""

import json
from pathlib import Path

import pytest

from tests.holdfast.conftest import Run, Server, ok

pytestmark = pytest.mark.usefixtures("signed_in")

CAMPAIGNS = "competitions/digits/campaigns/"
TOLD = {"questions": 3, "informative": 2, "nats": 4.25, "before": 0.05, "after": 0.06}
NIGHT = {
    "name": "night", "limit": 9, "used": 3, "left": 6, "submissions": 4, "created_by": "alice",
    "created_at": "2026-01-01T00:00:00Z", "ended_at": None, "exposure": TOLD,
}  # fmt: skip
DETAIL = {**NIGHT, "team_exposure": TOLD | {"questions": 5}, "competition_exposure": None}


def test_campaigns_are_listed_with_what_they_were_told(server: Server, run: Run) -> None:
    server.on("GET", CAMPAIGNS, ok({"count": 1, "results": [NIGHT], "next": None}))
    listed = run("campaigns", "digits").out
    assert "night" in listed
    assert "4.25" in listed
    header, row = run("campaigns", "digits", "-v").out.splitlines()
    assert dict(zip(header.split(","), row.split(","), strict=True))["informative"] == "2"


def test_a_campaign_stands_beside_its_team_and_hidden_figures_are_left_out(
    server: Server, run: Run
) -> None:
    server.on("GET", f"{CAMPAIGNS}night/", ok(DETAIL))
    shown = run("campaign", "digits", "night").out
    assert "this campaign" in shown
    assert "your team" in shown
    assert "all teams" not in shown


def test_a_campaign_is_begun_limited_and_ended(server: Server, run: Run) -> None:
    server.on("POST", CAMPAIGNS, ok(DETAIL, 201))
    server.on("PATCH", f"{CAMPAIGNS}night/", ok(DETAIL))
    sent = []
    for options in (("--begin", "--limit", "9"), ("--limit", "8"), ("--no-limit",), ("--end",)):
        assert run("campaign", "digits", "night", *options).code == 0
        sent.append(json.loads(server.last.content))
    assert sent == [{"name": "night", "limit": 9}, {"limit": 8}, {"limit": None}, {"ended": True}]
    assert run("campaign", "digits", "night", "--end", "--limit", "3").code == 2


def test_a_file_is_sent_to_a_campaign(server: Server, run: Run) -> None:
    server.on("GET", "competitions/digits/submissions/", ok({"count": 0, "results": []}))
    limits = {"summary": "3 of 9 submissions left today."}
    sent = {"number": 1, "status": "queued", "limits": limits}
    server.on("POST", "competitions/digits/submissions/", ok(sent, 201))
    Path("predictions.csv").write_text("id,label\n", encoding="utf-8")
    ran = run("submit", "digits", "-f", "predictions.csv", "--campaign", "night")
    assert ran.code == 0, ran.err
    assert b'name="campaign"\r\n\r\nnight\r\n' in server.last.content
