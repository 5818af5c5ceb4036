"""`holdfast verify` and `holdfast witness` against a real server, and what its operator changes."""

from collections.abc import Callable
from contextlib import nullcontext
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db.models import F, Model

from holdfast import verify_log
from holdfast.connection import connect
from holdfast.errors import Failure
from holdfast.verify_log import Read, read_log
from leaderboard import tasks
from leaderboard.log import heads
from leaderboard.models import (
    Competition,
    FinalScore,
    FinalTests,
    LogEntry,
    Round,
    Standing,
    Submission,
    Team,
)
from leaderboard.organize import practice
from leaderboard.pipeline import finalize, publish
from scoring.verification.run import verify as verify_ledger
from tests.cast import World, predictions
from tests.ending import measure
from tests.holdfast.conftest import Run


@pytest.fixture
def season(alice: World, run: Run) -> World:
    """Alice and Bob have scored; Alice sent her files at her terminal."""
    theirs = alice.join(alice.bob, "Bobs")
    Path("one.csv").write_bytes(predictions({20}))
    Path("two.csv").write_bytes(predictions({20, 21, 22}))
    for name in ("two.csv", "one.csv"):
        assert run("submit", "digits", "-f", name, "--wait").code == 0
    alice.score(theirs, predictions({20, 22}))
    heads.sign(alice.digits)
    return alice


def test_a_season_is_verified_and_witnessed(
    season: World, run: Run, live_server: Any, settings: Any
) -> None:
    page = f"{live_server.url}/c/digits"
    made = run("witness", page, "--file", "heads.jsonl", "--cosign", "key", "--name", "w.example")
    assert "The witness's key" in made.out
    settings.WITNESSES = [made.out.splitlines()[0].rpartition(" ")[2]]
    assert run("witness", page, "--file", "heads.jsonl", "--cosign", "key").code == 0
    ran = run("verify", "digits", "--witness", settings.WITNESSES[0], "--witness", "heads.jsonl")
    assert ran.code == 0, ran.err
    assert "The public log agrees" in ran.out
    assert "Your 2 receipts kept here: each has its entry." in ran.out
    assert "witness" not in ran.err


def exchange_names() -> None:
    for name, other in (("Alices", "x"), ("Bobs", "Alices"), ("x", "Bobs")):
        Team.objects.filter(name=name).update(name=other)


def later(model: type[Model], field: str) -> None:
    model._default_manager.update(**{field: F(field) + timedelta(days=1)})


CHANGES: tuple[tuple[Callable[[], object], str], ...] = (
    (lambda: later(Standing, "reached_at"), "Alices, last_improvement_at: It is"),
    (lambda: later(Submission, "created_at"), "submission 1, created_at: The server lists"),
    (lambda: later(Round, "closes_at"), "closes_at: It is"),
    (lambda: Round.objects.update(daily_limit=50), "daily_limit: It is 50; the log has 20"),
    (lambda: FinalScore.objects.update(units=F("units") + 1), "Alices, score: Log entry"),
    (lambda: FinalScore.objects.update(place=F("place") + 1), "Alices, rank: It is 2; log entry"),
    (lambda: LogEntry.objects.update(hash="00" * 32), ""),  # hashes are computed again
    (exchange_names, "Bobs, team: The log names it 'Alices'"),
)


def test_what_an_operator_changed_in_the_database_is_named(
    season: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verify_log, "sleep", lambda seconds: None)
    finalize.close_early(season.digits.current_round, by=season.organizer)
    finalize.start_finals(Competition.objects.get().current_round)
    measure(season.digits)
    finalize.reveal(season.digits.current_round)
    heads.sign(season.digits)
    compare()
    changed = (Standing, Submission, Round, FinalScore)
    kept = [row for model in changed for row in model._default_manager.all()]
    for change, named in CHANGES:
        change()
        with pytest.raises(Failure, match=named) if named else nullcontext():
            compare()
        for row in kept:
            row.save()


def test_final_scores_on_private_rows_are_those_that_were_published(
    season: World, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publish, "enqueue_publication", lambda holdout_id: None)
    round = season.digits.current_round
    finalize.close_early(round, by=season.organizer)
    finalize.start_finals(Competition.objects.get().current_round)
    measure(season.digits)
    FinalScore.objects.filter(team__name="Alices").update(units=F("units") + 1)
    finalize.reveal(season.digits.current_round)
    publish.publish(round)
    for holdout in publish.to_publish():
        tasks.publish_holdout(holdout_id=holdout.pk)
    heads.sign(season.digits)
    ran = run("verify", "digits")
    assert ran.code == 1
    assert "scores: It is 2 of 32; measured were 1 of 32." in " ".join(ran.err.split())


def test_practice_changes_no_final_place_that_is_computed_again(season: World, run: Run) -> None:
    """The level of the tests rests on what the board had answered before."""
    finalize.close_early(season.digits.current_round, by=season.organizer)
    finalize.start_finals(Competition.objects.get().current_round)
    measure(season.digits)
    finalize.reveal(season.digits.current_round)
    practice.change_practice(season.digits.current_round, is_open=True)
    for wrong in ({30}, {31}, {32}):
        season.score(Team.objects.get(name="Bobs"), predictions(wrong))
    heads.sign(season.digits)
    ran = run("verify", "digits")
    assert ran.code == 0, ran.err
    assert FinalTests.objects.exists()


def compare() -> None:
    """Do what `holdfast verify` does with a log, without the rest of the command."""
    with connect() as client:
        log = read_log(client, "digits", None, [])
        assert log is not None
        facts, watch = client.get("competitions/digits/"), log.watch()
        client.save("competitions/digits/ledger/", Path("ledger"), 10**6, format="jsonl")
        lines = Path("ledger").read_bytes().splitlines(keepends=True)
        assert verify_ledger(lines, observer=watch).difference is None
        (round,) = facts["rounds"]
        log.compare(facts, [Read(round["ledger"], [round], watch, {})], whole=True)
