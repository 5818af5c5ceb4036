"""The command line against a real server: a participant's day, and every wrong file."""

import csv
import json
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.test.utils import override_settings
from django.utils import timezone

from holdfast import config
from leaderboard.models import Ledger, Release, Round, Submission
from leaderboard.participate import tokens
from tests.api.test_submissions import WRONG
from tests.cast import World, predictions
from tests.holdfast.conftest import Run


def _write(content: bytes, name: str = "predictions.csv") -> str:
    Path(name).write_bytes(content)
    return name


def test_a_participant_s_day(stage: World, live_server: Any, run: Run, environment: Path) -> None:
    signed_in = run("login", "--url", live_server.url, "-u", "alice", stdin="alice-password\n")
    assert signed_in.code == 0, signed_in.err
    assert "digits" in run("competitions", "list").out
    assert "sample_submission.csv" in run("competitions", "files", "digits").out

    too_early = run("competitions", "download", "digits")
    assert too_early.code == 1
    assert "Accept the rules" in too_early.err
    joined = run("competitions", "join", "digits", "--team", "Alices", "--accept-rules")
    assert joined.out == "You have joined digits as team Alices.\n"
    assert run("competitions", "download", "digits", "-p", "data").code == 0
    assert (environment / "data" / "train.csv").read_bytes() == b"x,label\n1,0\n"

    file = _write(predictions({20}))
    sent = run("competitions", "submit", "digits", "-f", file, "-m", "first", "--wait")
    assert sent.code == 0, sent.err
    assert "19 of 20 submissions left today." in sent.out
    assert "New best: 0.95." in sent.out

    rows = list(csv.DictReader(StringIO(run("competitions", "submissions", "digits", "-v").out)))
    assert [(row["number"], row["message"], row["score_text"]) for row in rows] == [
        ("1", "first", "0.95")
    ]
    second = _write(predictions({20, 21}), "more.csv")
    assert run("submit", "digits", "-f", second, "-m", "second", "--wait").code == 0
    assert "1 of 40 rows differ." in run("compare", "digits", "1", "2").out
    assert "calmer" in run("submission", "digits", "2", "-m", "calmer").out
    named = run("submissions", "digits", "-s", "calm", "--status", "released", "--sort", "score")
    assert "more.csv" in named.out
    assert "predictions.csv" not in named.out
    board = json.loads(run("competitions", "leaderboard", "digits", "--format", "json").out)
    assert [(row["team"], row["score"], row["is_mine"]) for row in board] == [
        ("Alices", 0.95, True)
    ]
    assert "Team in digits  Alices" in run("whoami").out
    token = config.load().token
    assert run("logout").code == 0
    config.save(config.Settings(live_server.url, token, "alice"))
    ended = run("whoami")
    assert ended.code == 1
    assert "expired or been revoked" in ended.err


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_file_is_reported_at_the_terminal_and_costs_nothing(
    case: str, alice: World, run: Run
) -> None:
    content, reason = WRONG[case]
    ran = run("submit", "digits", "-f", _write(content), "--wait", "5")
    assert ran.code == 1
    assert ran.err.startswith("Error: Submission 1: ")
    assert reason.strip() in ran.err
    assert "Nothing was counted" in ran.err
    assert "20 of 20 submissions left today." in run("team", "digits").out
    assert not Release.objects.exists()
    assert Ledger.objects.get().asked == 0


def _late() -> None:
    Round.objects.update(closes_at=timezone.now() - timedelta(minutes=1))


def _not_open_yet() -> None:
    now = timezone.now()
    Round.objects.update(opens_at=now + timedelta(days=1), closes_at=now + timedelta(days=2))


def _over_quota() -> None:
    Round.objects.update(daily_limit=1, total_limit=None)


def _too_big() -> None:
    Round.objects.update(max_file_bytes=10)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (_late, "This competition closed on"),
        (_not_open_yet, "does not take submissions yet"),
        (_too_big, "larger than 10 bytes"),
    ],
)
def test_a_refusal_is_reported_at_the_terminal_and_writes_nothing(
    change: Any, reason: str, alice: World, run: Run
) -> None:
    change()
    ran = run("submit", "digits", "-f", _write(predictions()), "--wait", "5")
    assert ran.code == 1
    assert reason in ran.err
    assert not Submission.objects.exists()


def test_over_quota_is_reported_with_the_time_of_renewal(alice: World, run: Run) -> None:
    _over_quota()
    assert run("submit", "digits", "-f", _write(predictions())).code == 0
    ran = run("submit", "digits", "-f", _write(predictions([9])))
    assert ran.code == 1
    assert "used its one submission of today" in ran.err
    assert "00:00 UTC" in ran.err
    assert Submission.objects.count() == 1


def test_beyond_the_site_s_limit_is_reported_although_the_upload_is_cut(
    alice: World, run: Run
) -> None:
    file = _write(b"id,label\n" + b"r0,1\n" * 1_000_000)
    with override_settings(MAX_UPLOAD_BYTES=1000):
        ran = run("submit", "digits", "-f", file)
    assert ran.code == 1
    assert not Submission.objects.exists()
    assert "larger than" in ran.err


def test_an_unknown_competition_is_reported(alice: World, run: Run) -> None:
    ran = run("submit", "digts", "-f", _write(predictions()))
    assert (ran.code, ran.err) == (1, "Error: There is no such competition.\n")


def test_those_who_have_not_joined_learn_how(
    alice: World, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLDFAST_TOKEN", tokens.issue(alice.bob, days=1).text)
    ran = run("submit", "digits", "-f", _write(predictions()))
    assert ran.code == 1
    assert "Join the competition first" in ran.err


def test_without_a_token_the_board_is_public_and_submitting_is_not(
    alice: World, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HOLDFAST_TOKEN")
    assert run("leaderboard", "digits").code == 0
    ran = run("submit", "digits", "-f", _write(predictions()))
    assert ran.code == 1
    assert "Run `holdfast login`" in ran.err


def test_a_download_is_resumed_by_the_real_server(
    alice: World, run: Run, environment: Path
) -> None:
    entry = alice.round.files.get(name="train.csv")
    part = environment / f".train.csv.{entry.sha256[:16]}.part"
    part.write_bytes(b"x,lab")
    assert run("download", "digits", "-f", "train.csv").code == 0
    assert (environment / "train.csv").read_bytes() == b"x,label\n1,0\n"
    assert not part.exists()


def test_the_whole_board_is_downloaded(alice: World, run: Run, environment: Path) -> None:
    run("submit", "digits", "-f", _write(predictions()), "-q")
    assert run("leaderboard", "digits", "-d", "-q").code == 0
    with (environment / "digits-leaderboard.csv").open(newline="") as file:
        assert [row["team"] for row in csv.DictReader(file)] == ["Alices"]


def test_an_address_that_is_no_holdfast_is_reported(
    live_server: Any, run: Run, monkeypatch: pytest.MonkeyPatch, db: None
) -> None:
    monkeypatch.setenv("HOLDFAST_URL", f"{live_server.url}/account")
    ran = run("competitions", "list")
    assert ran.code == 1
    assert "Check the address" in ran.err
