"""Duels: held behind the answers that lead to them, once, and verified; only the bit leaves."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from django.core.files.storage import default_storage
from django.db import transaction
from django.test import Client
from django.utils import timezone

from leaderboard import organize, queries, tasks
from leaderboard.ledger import duels as ledger_duels
from leaderboard.ledger import rewinds
from leaderboard.ledger.entries import LostRace
from leaderboard.models import (
    Competition,
    Ledger,
    LedgerNote,
    NoteKind,
    Pause,
    Release,
    Rescore,
    Status,
    Submission,
    Team,
)
from leaderboard.operate.verification import verify_ledger
from leaderboard.organize.revisions import revise_solution
from leaderboard.participate import membership
from leaderboard.pipeline import duels, publish
from leaderboard.pipeline.remeasure import compare
from scoring.chain import document_hash
from scoring.duels import Comparison
from scoring.verification.run import verify
from tests import ending
from tests.cast import (
    World,
    active_holdout,
    ledger_of,
    make_competition,
    make_user,
    predictions,
    said,
    set_round,
    solution,
    upload,
)
from tests.snapshots import kept

ROWS, PUBLIC = 400, 100
GUARD = {"steps": "50", "budget": "20", "team_share": "5", "confidence": "0.95"}


def make_guarded(world: World, slug: str) -> Competition:
    """Make a competition with Guard: 100 Public and 300 Private rows of four classes."""
    return make_competition(
        slug,
        world.organizer,
        rows=ROWS,
        public=PUBLIC,
        mechanism="guard",
        mechanism_parameters=GUARD,
    )


@pytest.fixture
@kept
def guarded(world: World) -> Competition:
    return make_guarded(world, "guarded")


@pytest.fixture
def alice(world: World, guarded: Competition) -> Team:
    return world.join(world.alice, competition=guarded)


@pytest.fixture
def bob(world: World, guarded: Competition) -> Team:
    return world.join(world.bob, competition=guarded)


def wrong_every(step: int) -> bytes:
    """A file that errs on one row of so many, in each split alike."""
    return predictions(wrong=range(0, ROWS, step), rows=ROWS)


def hold(competition: Competition) -> list[dict[str, Any]]:
    """Hold what is due, as a worker would; return all duels so far."""
    tasks.hold_duels(ledger_id=ledger_of(competition).pk)
    notes = LedgerNote.objects.filter(kind=NoteKind.DUEL, holdout__ledger__competition=competition)
    return [note.document for note in notes.order_by("number")]


def lines(competition: Competition) -> list[bytes]:
    return b"".join(queries.ledger_lines(ledger_of(competition))).splitlines(keepends=True)


def shown(world: World, competition: Competition) -> dict[str, tuple[str, ...]]:
    """By team, whom the board says its score surely beats."""
    rows = queries.board(competition.current_round.board, world.alice).rows
    return {row.team: row.surely_better for row in rows}


def publish_now(competition: Competition, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publish, "enqueue_publication", lambda holdout_id: None)
    publish.publish(ending.reveal(competition).current_round)
    for holdout in publish.to_publish():
        tasks.publish_holdout(holdout_id=holdout.pk)


def assert_verified(competition: Competition, lost: int = 0) -> None:
    """Both verifiers agree: the server's with its vault, and anybody's with the document."""
    verified = verify_ledger(ledger_of(competition))
    assert verified.report.difference is None
    assert verified.report.lost == lost
    assert verify(lines(competition)).difference is None


def test_a_file_that_takes_the_lead_is_compared_with_the_one_that_led(
    world: World, guarded: Competition, alice: Team, bob: Team
) -> None:
    before = said(world.score(alice, wrong_every(2)))
    after = said(world.score(bob, wrong_every(50)))
    (duel,) = hold(guarded)
    assert (duel["entry"], duel["against"]) == (after.number, before.number)
    assert (duel["team"], duel["against_team"]) == (bob.uid, alice.uid)
    assert (duel["form"], duel["yes"]) == ("betting", True)
    assert_verified(guarded)


def test_nobody_is_compared_with_the_own_team_or_with_nobody(
    world: World, guarded: Competition, alice: Team
) -> None:
    world.score(alice, wrong_every(2))
    world.score(alice, wrong_every(50))
    assert hold(guarded) == []


def test_a_leader_that_goes_further_is_compared_with_the_last_other_team(
    world: World, guarded: Competition, alice: Team, bob: Team
) -> None:
    files = ((alice, 3), (bob, 4), (bob, 10), (alice, 5), (alice, 20))
    first, *later = [said(world.score(team, wrong_every(step))).number for team, step in files]
    pairs = [(duel["entry"], duel["against"]) for duel in hold(guarded)]
    assert pairs == [(later[0], first), (later[1], first), (later[3], later[1])]
    assert_verified(guarded)


def test_what_does_not_take_the_lead_is_not_compared(
    world: World, guarded: Competition, alice: Team, bob: Team
) -> None:
    world.score(alice, wrong_every(5))
    world.score(bob, wrong_every(5))
    world.score(bob, wrong_every(2))
    assert hold(guarded) == []


def test_a_no_is_charged_as_well(
    world: World, guarded: Competition, alice: Team, bob: Team
) -> None:
    world.score(alice, wrong_every(10))
    world.score(bob, wrong_every(14))
    before = Ledger.objects.get(rounds__competition=guarded).account["count"]
    (duel,) = hold(guarded)
    account = ledger_of(guarded).account
    assert duel["yes"] is False
    assert account["count"] == before | {
        "numbered": before["numbered"] + 1,
        "asked": before["asked"] + 1,
    }
    assert account["boards"]["duels"][0]["length"] > 0
    assert_verified(guarded)


def test_a_duel_is_held_once_however_often_it_is_asked_for(
    world: World, guarded: Competition, alice: Team, bob: Team
) -> None:
    world.score(alice, wrong_every(2))
    world.score(bob, wrong_every(50))
    assert hold(guarded) == hold(guarded)
    assert duels.waiting() == []


def test_the_release_asks_for_it_and_so_does_the_sweeper(
    world: World,
    guarded: Competition,
    alice: Team,
    bob: Team,
    monkeypatch: pytest.MonkeyPatch,
    django_capture_on_commit_callbacks: Any,
) -> None:
    sent: list[tuple[str, dict[str, int]]] = []
    monkeypatch.setattr(
        "leaderboard.pipeline.queue._send", lambda task, **ids: sent.append((task, ids))
    )
    world.score(alice, wrong_every(2))
    submission = world.submit(bob, wrong_every(50))
    asked = ("hold_duels", {"ledger_id": ledger_of(guarded).pk})
    with django_capture_on_commit_callbacks(execute=True):
        tasks.score_submission(submission_id=submission.pk)
    assert asked in sent
    sent.clear()
    tasks.sweep()
    assert asked in sent
    hold(guarded)
    sent.clear()
    tasks.sweep()
    assert asked not in sent


@pytest.mark.parametrize("where", ["lock.check", "watermark.append"])
def test_a_worker_that_dies_loses_nothing_and_asks_nothing_twice(
    world: World,
    guarded: Competition,
    alice: Team,
    bob: Team,
    monkeypatch: pytest.MonkeyPatch,
    where: str,
) -> None:
    """Before the commit nothing is written; behind it all but the watermark's line is."""
    world.score(alice, wrong_every(2))
    world.score(bob, wrong_every(50))

    def die(*_: object) -> None:
        raise SystemExit

    with monkeypatch.context() as patch:
        patch.setattr(f"leaderboard.pipeline.duels.{where}", die)
        with pytest.raises(SystemExit):
            hold(guarded)
    assert len(duels.waiting()) == (where == "lock.check")
    assert len(hold(guarded)) == 1
    world.score(alice, wrong_every(100))
    assert_verified(guarded)


def test_two_workers_hold_a_duel_once(
    world: World, guarded: Competition, alice: Team, bob: Team
) -> None:
    world.score(alice, wrong_every(2))
    world.score(bob, wrong_every(50))

    def overtaken(*compared: Any) -> Any:
        hold(guarded)
        return compare(*compared)

    with pytest.raises(LostRace):
        duels.hold_next(ledger_of(guarded).pk, overtaken)
    assert len(hold(guarded)) == 1
    assert_verified(guarded)


@pytest.mark.parametrize("is_first", [True, False])
def test_a_duel_may_be_held_while_others_look_for_the_next(
    world: World,
    guarded: Competition,
    alice: Team,
    bob: Team,
    monkeypatch: pytest.MonkeyPatch,
    is_first: bool,
) -> None:
    world.score(alice, wrong_every(2))
    real = ledger_duels._leading_answers

    def overtaken(*asked: Any) -> Any:
        """Read before or after a file takes the lead and is compared."""
        monkeypatch.setattr(ledger_duels, "_leading_answers", real)
        answers = real(*asked) if is_first else {}
        world.score(bob, wrong_every(50))
        assert len(hold(guarded)) == 1
        return answers or real(*asked)

    monkeypatch.setattr(ledger_duels, "_leading_answers", overtaken)
    found = ledger_duels.find_due(ledger_of(guarded), active_holdout(guarded))
    assert (found is None) == is_first
    assert not duels.hold_next(ledger_of(guarded).pk, compare)
    assert_verified(guarded)


@pytest.mark.parametrize("how", ["damaged", "gone", "another"])
def test_a_file_that_is_lost_blocks_no_other_duel(
    world: World, guarded: Competition, alice: Team, bob: Team, how: str
) -> None:
    first = world.score(alice, wrong_every(2))
    lost = world.score(bob, wrong_every(10))
    last = world.score(alice, wrong_every(100))
    if how == "gone":
        default_storage.delete(lost.file)
    elif how == "damaged":
        Submission.objects.filter(pk=lost.pk).update(sha256="0" * 64)
    else:
        Submission.objects.filter(pk=lost.pk).update(file=first.file, sha256=first.sha256)
    numbered = ledger_of(guarded).account["count"]["numbered"]
    found = hold(guarded)
    assert [(duel["entry"], duel["yes"], duel["length"]) for duel in found] == [
        (said(lost).number, None, None),
        (said(last).number, None, None),
    ]
    assert ledger_of(guarded).account["count"]["numbered"] == numbered
    assert verify(lines(guarded)).difference is None


def test_a_ledger_that_has_reached_its_limit_holds_no_duel(
    world: World, guarded: Competition
) -> None:
    organize.return_to_draft(guarded)
    set_round(guarded, question_limit=2)
    organize.open_competition(guarded)
    alice, bob = (world.join(user, competition=guarded) for user in (world.alice, world.bob))
    world.score(alice, wrong_every(2))
    world.score(bob, wrong_every(50))
    assert hold(guarded) == []
    assert_verified(guarded)


def test_boards_that_are_hidden_until_the_end_hold_no_duels(
    world: World, guarded: Competition
) -> None:
    organize.return_to_draft(guarded)
    set_round(guarded, question_limit=60, team_limit=3, is_hidden=True)
    organize.open_competition(guarded)
    alice, bob = (world.join(user, competition=guarded) for user in (world.alice, world.bob))
    world.score(alice, wrong_every(2))
    world.score(bob, wrong_every(50))
    assert hold(guarded) == []
    assert_verified(guarded)


def test_boards_of_other_mechanisms_hold_no_duels(world: World) -> None:
    alice, bob = world.join(world.alice), world.join(world.bob)
    world.score(alice, predictions(wrong=range(40)))
    world.score(bob)
    assert hold(world.digits) == []


def test_no_duel_follows_the_finals(
    world: World, guarded: Competition, alice: Team, bob: Team
) -> None:
    world.score(alice, wrong_every(2))
    world.score(bob, wrong_every(50))
    now = timezone.now()
    set_round(guarded, closes_at=now, finals_started_at=now)
    assert hold(guarded) == []


def test_a_paused_ledger_holds_none(
    world: World, guarded: Competition, alice: Team, bob: Team
) -> None:
    world.score(alice, wrong_every(2))
    world.score(bob, wrong_every(50))
    Ledger.objects.filter(pk=ledger_of(guarded).pk).update(
        paused_at=timezone.now(), paused_for=Pause.REWOUND
    )
    assert hold(guarded) == []


def test_a_revision_begins_without_duels(
    world: World, guarded: Competition, alice: Team, bob: Team
) -> None:
    world.score(alice, wrong_every(2))
    world.score(bob, wrong_every(50))
    hold(guarded)
    labels = solution(ROWS, PUBLIC).replace(b"r399,3,", b"r399,0,")
    revise_solution(
        guarded.current_round,
        upload(labels, "solution.csv"),
        reason="A label.",
        rescore=Rescore.ALL,
        by=world.organizer,
    )
    guarded.refresh_from_db()
    assert len(hold(guarded)) == 1
    assert not any(shown(world, guarded).values())
    for submission in Submission.objects.filter(status=Status.QUEUED).order_by("number", "pk"):
        tasks.score_submission(submission_id=submission.pk)
    found = hold(guarded)
    assert len(found) == 2
    assert found[1]["entry"] > found[0]["number"]
    assert_verified(guarded)


def test_files_of_teams_that_became_one_are_not_compared(
    world: World, guarded: Competition, alice: Team, bob: Team
) -> None:
    carol = world.join(make_user("carol"), competition=guarded)
    third = said(world.score(carol, wrong_every(2)))
    world.score(alice, wrong_every(4))
    newest = said(world.score(bob, wrong_every(50)))
    membership.merge(team=alice, into=bob, by=world.organizer)
    found = hold(guarded)
    assert (found[-1]["entry"], found[-1]["against"]) == (newest.number, third.number)
    assert {duel["team"] for duel in found} == {bob.uid}
    assert_verified(guarded)


def test_lost_duels_are_replayed_from_the_published_ledger(
    world: World, guarded: Competition, alice: Team, bob: Team
) -> None:
    world.score(alice, wrong_every(2))
    backup = transaction.savepoint()
    world.score(bob, wrong_every(20))
    hold(guarded)
    world.score(alice, wrong_every(100))
    hold(guarded)
    published, account = lines(guarded), ledger_of(guarded).account
    transaction.savepoint_rollback(backup)
    assert rewinds.replay(guarded.current_round, published) == 4
    assert (lines(guarded), ledger_of(guarded).account) == (published, account)
    assert duels.waiting() == []


def test_duels_that_were_written_off_may_be_held_again(
    world: World, guarded: Competition, alice: Team, bob: Team
) -> None:
    world.score(alice, wrong_every(2))
    world.score(bob, wrong_every(50))
    backup = transaction.savepoint()
    hold(guarded)
    transaction.savepoint_rollback(backup)
    assert rewinds.give_up(guarded.current_round) is not None
    assert len(hold(guarded)) == 1
    assert_verified(guarded)


def test_a_published_duel_is_computed_again(
    world: World, guarded: Competition, alice: Team, bob: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.score(alice, wrong_every(2))
    world.score(bob, wrong_every(50))
    hold(guarded)
    publish_now(guarded, monkeypatch)
    verified = verify_ledger(ledger_of(guarded))
    assert verified.means == "publication"
    assert verified.report.difference is None
    assert (verified.report.recomputed, verified.report.measured) == (3, 3)


@pytest.mark.parametrize(
    ("field", "value"),
    [("yes", False), ("length", 1), ("against", 9), ("form", "binomial"), ("team", "f" * 32)],
)
def test_a_duel_that_was_changed_is_found(
    world: World, guarded: Competition, alice: Team, bob: Team, field: str, value: object
) -> None:
    world.score(alice, wrong_every(2))
    world.score(bob, wrong_every(50))
    hold(guarded)
    note = LedgerNote.objects.get(kind=NoteKind.DUEL)
    rewritten = note.document | {field: value}
    LedgerNote.objects.filter(pk=note.pk).update(document=rewritten, hash=document_hash(rewritten))
    Ledger.objects.filter(pk=note.holdout.ledger_id).update(head_hash=document_hash(rewritten))
    difference = verify_ledger(ledger_of(guarded)).report.difference
    assert difference is not None
    assert (difference.number, difference.field) == (note.number, field)


def test_the_board_names_who_is_surely_beaten_as_long_as_both_files_stand(
    world: World, guarded: Competition, alice: Team, bob: Team
) -> None:
    world.score(alice, wrong_every(2))
    world.score(bob, wrong_every(20))
    assert shown(world, guarded) == {bob.name: (), alice.name: ()}
    hold(guarded)
    assert shown(world, guarded) == {bob.name: (alice.name,), alice.name: ()}
    world.score(alice, wrong_every(8))
    assert shown(world, guarded) == {bob.name: (), alice.name: ()}


def test_page_and_api_say_it_in_words(
    world: World, guarded: Competition, alice: Team, bob: Team, client: Client
) -> None:
    world.score(alice, wrong_every(2))
    world.score(bob, wrong_every(20))
    assert "surely better" not in client.get("/c/guarded/leaderboard/").content.decode()
    hold(guarded)
    page = client.get("/c/guarded/leaderboard/").content.decode()
    assert f"<summary>surely better than {alice.name}</summary>" in page
    assert "95 % confidence" in page
    rows = client.get("/api/v1/competitions/guarded/leaderboard/").json()["results"]
    assert [row["surely_better_than"] for row in rows] == [[alice.name], []]


def test_every_page_counts_a_duel_among_the_questions(
    world: World, guarded: Competition, alice: Team, bob: Team, client: Client
) -> None:
    world.score(alice, wrong_every(2))
    world.score(bob, wrong_every(20))
    hold(guarded)
    client.force_login(world.organizer)
    assert "3 questions answered;" in client.get("/c/guarded/leaderboard/").content.decode()
    for path in ("/c/guarded/ledger/", "/organize/guarded/budget/"):
        content = client.get(path).content.decode()
        assert "3: 2 about files, the others in duels and by revisions<" in content


def test_a_no_is_shown_nowhere(world: World, guarded: Competition, alice: Team, bob: Team) -> None:
    world.score(alice, wrong_every(10))
    world.score(bob, wrong_every(14))
    assert [duel["yes"] for duel in hold(guarded)] == [False]
    assert not any(shown(world, guarded).values())


def test_nothing_but_the_bit_leaves(
    world: World,
    guarded: Competition,
    alice: Team,
    bob: Team,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Of two holdouts with the same answers, everything is the same: what is written names no p."""
    caplog.set_level(logging.DEBUG)
    world.score(alice, wrong_every(2))
    world.score(bob, wrong_every(50))
    (duel,) = hold(guarded)
    shared = {"number", "kind", "asked", "answered", "log_alphabets", "boards", "parameters_hash"}
    assert duel.keys() - shared - {"previous_hash", "created_at"} == {
        *("board", "entry", "team", "against", "against_team", "form", "length", "yes"),
    }
    rows = Release.objects.filter(number__in=(duel["entry"], duel["against"]))
    holdout = rows[0].holdout
    files = {row.number: row for row in rows.select_related("board__round", "submission__round")}
    found = compare(holdout, files[duel["entry"]], files[duel["against"]])
    assert isinstance(found, Comparison)
    assert str(found.p) not in caplog.text + repr(found) + b"".join(lines(guarded)).decode()
    with pytest.raises(TypeError):
        found.__reduce__()


def test_another_holdout_with_the_same_answers_gives_the_same_duels(world: World) -> None:
    """A private row that one file had right and both have wrong now moves p, and no answer."""
    labels = solution(ROWS, PUBLIC), solution(ROWS, PUBLIC).replace(b"r399,3,", b"r399,1,")
    found = []
    for slug, content in zip(("one", "two"), labels, strict=True):
        competition = make_guarded(world, slug)
        organize.return_to_draft(competition)
        organize.install_solution(
            competition.current_round, upload(content, "solution.csv"), by=world.organizer
        )
        organize.open_competition(competition)
        alice, bob = (
            world.join(user, competition=competition) for user in (world.alice, world.bob)
        )
        world.score(alice, wrong_every(2))
        world.score(bob, wrong_every(50))
        (duel,) = hold(competition)
        ledger = ledger_of(competition)
        kept = ("number", "entry", "against", "form", "length", "yes")
        account = ledger.account["count"], ledger.account["boards"]["duels"]
        found.append(({name: duel[name] for name in kept}, account, shown(world, competition)))
        assert_verified(competition)
    assert found[0] == found[1]
