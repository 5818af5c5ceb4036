"""`holdfast verify` of all rounds: finals, rank sets and ledgers of rounds that have ended."""

import re
from collections.abc import Callable, Iterable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db.models import F, Model
from django.utils import timezone

from leaderboard import organize, tasks
from leaderboard.log import heads
from leaderboard.models import (
    Competition,
    FileRole,
    FinalScore,
    FinalTests,
    Holdout,
    Release,
    Round,
    SanctionKind,
    Standing,
    Team,
)
from leaderboard.organize import sanctions, teams
from leaderboard.participate import membership, selection, tokens
from leaderboard.pipeline import publish
from tests import ending
from tests.cast import World, make_competition, make_user, set_round, upload
from tests.holdfast.conftest import Ran, Run

ROWS = 240
USAGE = ["Public"] * 20 + ["Private"] * 40 + ["Final"] * (ROWS - 60)
SCHEMA = {
    "id_column": "id",
    "columns": [{"name": "label", "kind": "label", "classes": ["0", "1"]}],
}
# Wrong rows of each team: the first Final ones of `b` are wrong in `a` as well.
FINAL = range(60, ROWS)
WRONG = {"good": (), "near": FINAL[:2], "far": FINAL[:60], "farther": FINAL[:62]}


def truth(first: int = 0) -> list[str]:
    return [f"r{row + first},{row % 2}" for row in range(ROWS)]


def file(wrong: Iterable[int] = (), first: int = 0) -> bytes:
    """A file that errs on these rows; those of the second round have other ids."""
    wrong = set(wrong)
    rows = [f"r{row + first},{(row + (row in wrong)) % 2}" for row in range(ROWS)]
    return "\n".join(["id,label", *rows, ""]).encode()


def seal(round: Round, by: Any, first: int = 0) -> None:
    sample = upload(file(first=first), "sample_submission.csv")
    organize.add_file(round, sample, role=FileRole.SAMPLE, by=by)
    rows = [f"{row},{usage}" for row, usage in zip(truth(first), USAGE, strict=True)]
    content = "\n".join(["id,label,Usage", *rows, ""]).encode()
    organize.install_solution(round, upload(content, "solution.csv"), by=by)


@pytest.fixture
def coins(stage: World, live_server: Any, monkeypatch: pytest.MonkeyPatch) -> Competition:
    """A competition of two classes with four teams, a baseline, and a disqualified team."""
    coins = make_competition("coins", stage.organizer, rows=ROWS)
    organize.return_to_draft(coins)
    set_round(coins, schema=SCHEMA)
    for entry in coins.current_round.files.all():
        entry.delete()
    seal(coins.current_round, stage.organizer)
    organize.open_competition(coins)
    coins = Competition.objects.get(pk=coins.pk)
    for name, wrong in {**WRONG, "base": FINAL[:30], "cheat": ()}.items():
        team = stage.join(make_user(name), name, coins)
        stage.score(team, file([*range(20, 25), *wrong]))
    stage.score(Team.objects.get(name="near"), file([*range(20, 26), *WRONG["near"], 190]))
    team = Team.objects.get(name="near")
    selection.select(team=team, user=team.captain, numbers=[1, 2])
    teams.change_team(Team.objects.get(name="base"), by=stage.organizer, is_baseline=True)
    sanctions.sanction_team(
        Team.objects.get(name="cheat"), SanctionKind.DISQUALIFIED, "Copied.", by=stage.organizer
    )
    ending.reveal(coins)
    monkeypatch.setenv("HOLDFAST_URL", live_server.url)
    monkeypatch.setenv("HOLDFAST_TOKEN", tokens.issue(team.captain, days=1).text)
    heads.sign(coins)
    return coins


def add_rows(world: World, coins: Competition) -> Round:
    """Begin a round on rows of its own, in which teams are merged."""
    now = timezone.now()
    round = organize.add_round(
        coins, by=world.organizer, opens_at=now + timedelta(days=1), closes_at=None
    )
    set_round(coins)
    Round.objects.filter(pk=round.pk).update(schema=SCHEMA)
    seal(round, world.organizer, first=1000)
    Round.objects.filter(pk=round.pk).update(opens_at=now - timedelta(minutes=1))
    coins.refresh_from_db()
    set_round(coins)
    for name, wrong in (("far", range(20, 40)), ("good", range(20, 30))):
        world.score(Team.objects.get(name=name), file(wrong, first=1000))
    far, good = (Team.objects.get(name=name) for name in ("far", "good"))
    membership.merge(team=far, into=good, by=world.organizer)
    heads.sign(coins)
    return round


def publish_first(coins: Competition, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publish, "enqueue_publication", lambda holdout_id: None)
    publish.publish(coins.rounds.get(number=1))
    for holdout in publish.to_publish():
        tasks.publish_holdout(holdout_id=holdout.pk)
    heads.sign(coins)


def verify(run: Run, *words: str) -> Ran:
    return run("verify", "coins", *words)


def test_every_round_is_verified_and_the_finals_by_what_was_published(
    stage: World, coins: Competition, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = verify(run)
    assert ran.code == 0, ran.err
    publish_first(coins, monkeypatch)
    add_rows(stage, coins)
    Path("sample.csv").write_bytes(file())
    Path("mine.csv").write_bytes(file([*range(20, 25), *WRONG["near"]]))
    ran = verify(run, "--save", "kept.jsonl", "-f", "mine.csv", "--sample", "sample.csv")
    assert ran.code == 0, ran.err
    assert "Round 1: The hash chain of coins is whole: 7 entries." in ran.out
    assert "Round 2: The hash chain of coins is whole: 3 entries." in ran.out
    assert "Recomputed from solution and secret: 7 answers." in ran.out
    assert "Computed again from what was published: 1 final score." in ran.out
    ran = verify(run, "--since", "kept-round2.jsonl", "--since", "kept.jsonl")
    assert ran.code == 0, ran.err
    assert ran.out.count("Unchanged since the earlier copy") == 2
    for change, named in (
        (lambda: Release.objects.filter(holdout__ledger__rounds__number=1).update(high=0.9),
         "Round 1: The ledger differs. Entry 1, hash"),
        (lambda: Release.objects.filter(holdout__ledger__rounds__number=2).update(low=0),
         "Round 2: The ledger differs."),
        (lambda: later(Standing, board__round__number=1), "Round 1, good, last_improvement_at"),
        (lambda: Holdout.objects.filter(ledger__rounds__number=1).update(published_at=None),
         "Round 1, publication of version 2: It is not shown; log entry"),
        (lambda: Round.objects.filter(number=1).update(ledger=None),
         "ledger .*: Log entry .* commits to an answer of it; the server does not show it"),
    ):  # fmt: skip
        assert_named(run, change, named)


def later(model: type[Model], **which: object) -> None:
    rows = model._default_manager.filter(**which)
    rows.update(reached_at=F("reached_at") + timedelta(days=1))


def assert_named(run: Run, change: Callable[[], object], named: str) -> None:
    """Verify what somebody changed in the database, and put it back."""
    models: tuple[type[Model], ...] = (FinalScore, FinalTests, Standing, Round, Release, Holdout)
    kept = {model: list(model._default_manager.all()) for model in models}
    change()
    ran = verify(run)
    assert ran.code == 1, (named, ran.out)
    assert re.search(named, " ".join(ran.err.split())), ran.err
    for rows in kept.values():
        for row in reversed(rows):
            row.save()


def rewritten(**changes: Callable[[Any], Any]) -> Callable[[], object]:
    """Return what changes fields of the published tests."""

    def change() -> None:
        row = FinalTests.objects.get()
        for name, new in changes.items():
            row.document[name] = new(row.document[name])
        row.save()

    return change


def scored(team: str, **changes: Any) -> Callable[[], object]:
    """Return what changes the best final score of a team."""
    return lambda: FinalScore.objects.filter(team__name=team, place__isnull=False).update(**changes)


def test_what_an_operator_changed_in_finals_and_rank_sets_is_named(
    coins: Competition, run: Run
) -> None:
    for change, named in (
        (scored("near", best_place=2), "near, best_place: It is 2; computed again it is 1"),
        (scored("far", worst_place=3), "far, worst_place: It is 3; computed again it is 4"),
        (scored("far", units=F("units") - 1), "far, score: Log entry"),
        (scored("far", released_place=2), "far, released_rank: It is 2; computed again it is 1"),
        (lambda: FinalScore.objects.filter(team__name="far").delete(), "final board: It has 3"),
        (FinalTests.objects.all().delete, "tests: There are none"),
        (rewritten(level=lambda _: "0.05"), "tests, level: It is 0.05; computed again it is 0.025"),
        (rewritten(form=lambda _: "bingo"), "tests, form: It is 'bingo'; computed again"),
        (rewritten(rows=lambda _: "private"), "tests, rows: It is 'private'"),
        (rewritten(hypotheses=lambda count: count - 2), "tests, hypotheses: It is 28"),
        (rewritten(entries=lambda old: old[1:]), "tests: They can't be read|tests, entries"),
        (rewritten(entries=lambda old: old[:3] + old[:2:-1]), "tests, entries: Submission"),
        (rewritten(better=lambda old: old[:-1]), "tests, better: Entries . and . differ"),
        (rewritten(better=lambda old: [[*old[0][:2], "1e-30"], *old[1:]]),
         "tests, better: 1e-30 is too small a p-value"),
        (rewritten(better=lambda old: [[*old[0][:2], "0.9"], *old[1:]]),
         "tests, better: Not all p-values are small enough"),
        (rewritten(better=lambda old: [[old[0][1], old[0][0], old[0][2]], *old[1:]]),
         "tests, better: Entry . is not better than entry . by its score"),
        (rewritten(places=lambda old: [[1, 1], *old[1:]]), "tests, places: The places do not"),
    ):  # fmt: skip
        assert_named(run, change, named)
    assert verify(run).code == 0
