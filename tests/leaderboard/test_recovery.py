"""After a restored backup, log and ledger bring back what the storage still has."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.files.storage import default_storage
from django.core.management import call_command
from django.db import transaction
from django.test import Client
from django.utils import timezone
from django.utils.html import escape

from leaderboard import queries
from leaderboard.errors import Refused
from leaderboard.ledger import copies, rewinds
from leaderboard.ledger.recovery import recover, recover_all
from leaderboard.log import heads, journal, keys
from leaderboard.log.entries import utc
from leaderboard.models import (
    FinalScore,
    LedgerNote,
    LogEntry,
    Loss,
    LossKind,
    Selection,
    Standing,
    Status,
    Submission,
    Team,
)
from leaderboard.operate.log_verification import verify_log
from leaderboard.operate.verification import verify_ledger
from leaderboard.organize import revisions
from leaderboard.participate import membership, selection
from leaderboard.pipeline import finalize, publish
from leaderboard.tasks import publish_holdout, score_submission
from scoring.chain import canonical
from scoring.transparency import merkle
from scoring.transparency.checks import Shown
from scoring.transparency.history import History
from scoring.transparency.ledgers import LedgerCheck
from scoring.verification.differences import Differs
from scoring.verification.run import verify
from tests import ending
from tests.cast import World, ledger_of, make_competition, predictions, solution, upload
from tests.leaderboard.test_rounds_and_boards import further_round


@pytest.fixture(autouse=True)
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep watermarks of this test's own, and a key of the log."""
    monkeypatch.setattr(settings, "WATERMARK_DIR", tmp_path / "watermark")
    monkeypatch.setattr(settings, "LOG_KEY_FILE", str(tmp_path / "log.key"))
    keys.generate(tmp_path / "log.key")
    return tmp_path / "watermark"


@pytest.fixture
def alice(world: World) -> Team:
    """Alice's team, with an answer."""
    team = world.join(world.alice)
    world.score(team, predictions(range(10, 16)))
    return team


def lose(world: World, play: Callable[[], Any], *, journal: bool = True) -> Any:
    """Play on, as workers do with their copies, and restore the database from before.

    journal: whether the log was copied in time, or the ledger alone.
    """
    backup = transaction.savepoint()
    found = play()
    if journal:
        heads.sign(world.digits)
    copies.keep_all()
    transaction.savepoint_rollback(backup)
    world.digits.refresh_from_db()
    return found


def bring_back(world: World) -> None:
    recover(world.digits)
    rewinds.replay(world.round)


def everything() -> dict[str, Any]:
    """All that decides a place, by permanent ids."""
    sent = ("team__uid", "number", "file", "file_name", "sha256", "created_at", "status")
    stands = ("team__uid", "loss", "reached_at", "entries", "best__number", "last__number")
    return {
        "teams": sorted(Team.objects.values_list("uid", "name", "captain")),
        "submissions": sorted(Submission.objects.values_list(*sent)),
        "board": list(Standing.objects.values_list(*stands)),
        "selected": sorted(Selection.objects.values_list("team__uid", "submission__number")),
        "log": list(LogEntry.objects.values_list("index", "hash")),
    }


def test_a_log_that_cannot_be_taken_keeps_no_other_from_its_own(world: World) -> None:
    second = make_competition("second", world.organizer)
    team = world.join(world.alice, competition=second)
    for each in (world.digits, second):
        heads.sign(each)
    backup = transaction.savepoint()
    world.submit(team)
    heads.sign(second)
    transaction.savepoint_rollback(backup)
    with journal.file_of(world.digits.uid).open("a") as file:
        index = LogEntry.objects.filter(competition=world.digits).count()
        file.write(f'{{"index": {index}, "document": {{"kind": "team"}}, "opening": {{}}}}\n')
    failed = dict[str, Exception]()
    assert recover_all(failed.__setitem__) == {"second": 1}
    assert {slug: repr(each) for slug, each in failed.items()} == {"digits": "KeyError('team')"}
    assert team.submissions.count() == 1


def test_files_ties_teams_and_selections_come_back(world: World, alice: Team) -> None:
    def play() -> dict[str, Any]:
        bob = world.join(world.bob, "Bob's")
        first = world.submit(bob, predictions(range(10, 12)))
        second = world.submit(alice, predictions(range(11, 13)))
        # Both reach the same score; who was accepted first is scored last, and stands above.
        score_submission(submission_id=second.pk)
        score_submission(submission_id=first.pk)
        membership.rename_team(team=alice, user=world.alice, name="Aces")
        selection.select(team=alice, user=world.alice, numbers=[1])
        world.submit(bob, predictions(range(10, 20)))
        return everything()

    before = lose(world, play)
    bring_back(world)
    assert everything() == before
    assert not Loss.objects.exists()
    waiting = Submission.objects.get(status=Status.QUEUED)
    score_submission(submission_id=waiting.pk)
    lines = b"".join(queries.ledger_lines(ledger_of(world.digits))).splitlines(keepends=True)
    assert verify(lines).difference is None


def test_the_log_agrees_with_a_ledger_whose_lost_answers_are_written_off(
    world: World, alice: Team
) -> None:
    lose(world, lambda: world.score(alice, predictions(range(10, 13))))
    recover(world.digits)
    rewinds.give_up(world.round)
    heads.sign(world.digits)
    score_submission(submission_id=Submission.objects.get(status=Status.QUEUED).pk)
    assert verify_log(world.digits) > 0
    LedgerNote.objects.all().delete()
    with pytest.raises(Differs, match="answer"):
        verify_log(world.digits)


def test_the_log_learns_of_answers_that_came_after_its_last_copy(world: World, alice: Team) -> None:
    def play() -> None:
        sent = world.submit(alice, predictions(range(10, 14)))
        heads.sign(world.digits)
        score_submission(submission_id=sent.pk)
        copies.keep_all()

    backup = transaction.savepoint()
    play()
    transaction.savepoint_rollback(backup)
    world.digits.refresh_from_db()
    bring_back(world)
    heads.sign(world.digits)
    assert verify_log(world.digits) > 0
    assert Submission.objects.filter(status=Status.RELEASED).count() == 2


def test_a_reveal_that_is_done_again_is_told_once(world: World, alice: Team) -> None:
    lose(world, lambda: ending.reveal(world.digits))
    recover(world.digits)
    rewinds.end_again(world.round)
    Loss.objects.update(accepted_at=timezone.now())
    ending.measure(world.digits)
    finalize.reveal(world.round)
    heads.sign(world.digits)
    assert verify_log(world.digits) > 0
    assert LogEntry.objects.filter(kind="revealed").count() == 1


def test_a_merger_of_which_the_copy_ends_in_the_middle_is_told_once(
    world: World, alice: Team
) -> None:
    bob = world.join(world.bob, "Bob's")
    world.score(bob, predictions(range(10, 12)))
    lose(world, lambda: membership.merge(team=bob, into=alice, by=world.organizer))
    whole = journal.file_of(world.digits.uid).read_bytes().splitlines(keepends=True)
    journal.file_of(world.digits.uid).write_bytes(b"".join(whole[:-1]))
    bring_back(world)
    heads.sign(world.digits)
    assert verify_log(world.digits) > 0
    told = LogEntry.objects.filter(kind__in=("merged", "noted")).order_by("index")
    assert list(told.values_list("kind", flat=True)) == ["merged", "noted"]


def test_finals_whose_every_entry_was_lost_are_verified(world: World) -> None:
    team = world.join(world.alice)

    def play() -> None:
        world.score(team, predictions(range(10, 12)))
        ending.score(world.digits)

    lose(world, play, journal=False)
    rewinds.give_up(world.round)
    ending.close(world.digits)
    rewinds.end_again(world.round)
    ending.measure(world.digits)
    assert world.round.finals_scored_at is not None
    assert verify_ledger(ledger_of(world.digits)).report.difference is None
    finalize.reveal(world.round)
    assert verify_log(world.digits) > 0


def test_answers_that_a_revealed_board_rests_on_are_replayed_not_written_off(
    world: World, alice: Team
) -> None:
    def play() -> None:
        world.score(alice, predictions(range(10, 11)))
        ending.reveal(world.digits)

    lose(world, play)
    recover(world.digits)
    with pytest.raises(Refused, match="Replay it"):
        rewinds.give_up(world.round)
    rewinds.replay(world.round)
    rewinds.end_again(world.round)
    ending.measure(world.digits)
    finalize.reveal(world.round)
    assert verify_log(world.digits) > 0


def test_what_is_published_after_a_write_off_is_told_again(world: World, alice: Team) -> None:
    def end() -> None:
        finalize.reveal(world.round)
        publish.publish(world.round)
        publish_holdout(holdout_id=ledger_of(world.digits).holdouts.get().pk)
        heads.sign(world.digits)

    def play() -> None:
        world.score(alice, predictions(range(10, 18)))
        ending.score(world.digits)
        end()

    lose(world, play)
    recover(world.digits)
    copies.file_of(ledger_of(world.digits).uid).unlink()
    rewinds.give_up(world.round)
    rewinds.end_again(world.round)
    ending.measure(world.digits)
    end()
    assert verify_log(world.digits) > 0
    assert verify_ledger(ledger_of(world.digits)).report.difference is None
    told = LogEntry.objects.filter(kind="published").values_list("document__sha256", flat=True)
    assert len(set(told)) == len(told) == 2


def test_what_neither_log_nor_storage_has_is_named_before_the_finals(
    world: World, alice: Team
) -> None:
    def play() -> str:
        # Bytes that no other test has stored: recovery would find them.
        sent = world.score(alice, predictions({9, 14, 22, 37}))
        selection.select(team=alice, user=world.alice, numbers=[sent.number])
        return sent.file

    default_storage.delete(lose(world, play))
    bring_back(world)
    assert set(Loss.objects.values_list("kind", "team__name", "submission")) == {
        (LossKind.FILE, alice.name, 2),
        (LossKind.SELECTION, alice.name, 2),
    }
    # Of its files that are left, the best stands in.
    assert selection.entered(world.round).get().number == 1
    ending.close(world.digits)
    with pytest.raises(Refused) as refused:
        finalize.start_finals(world.round)
    assert refused.value.code == "restore_unsettled"
    assert f"{alice.name} #2" in str(refused.value)
    finalize.start_finals(world.round, accept_lost=True)
    assert not finalize.unfinished(world.round).lost
    heads.sign(world.digits)
    assert verify_log(world.digits) > 0


def test_pages_offer_nothing_of_a_file_that_is_lost(
    world: World, alice: Team, client: Client
) -> None:
    default_storage.delete(
        lose(world, lambda: world.score(alice, predictions({9, 15, 23, 38})).file)
    )
    bring_back(world)
    client.force_login(world.alice)
    listed = client.get("/c/digits/submissions/").content.decode()
    assert "/submissions/1/file" in listed
    assert "/submissions/2/file" not in listed
    assert 'name="numbers" value="1"' in listed
    assert 'name="numbers" value="2"' not in listed
    page = client.get("/c/digits/submissions/2/").content.decode()
    assert "Download the file" not in page
    assert "Upload it again to enter it." in page


def test_organizers_read_what_they_have_to_do_again(
    world: World, alice: Team, client: Client
) -> None:
    """A round and a revision that came after the backup are not brought back, and are named."""

    def play() -> None:
        revised = upload(solution().replace(b"r39,3,", b"r39,0,"), "revised.csv")
        revisions.revise_solution(
            world.round, revised, reason="A label was wrong.", rescore="all", by=world.organizer
        )
        round = further_round(world)
        team = world.join(world.bob, "Bob's")
        world.submit(team, predictions(range(10, 12)))
        assert round.number == 2

    lose(world, play)
    assert recover(world.digits)
    said = {str(each) for each in Loss.objects.filter(kind=LossKind.ACTION)}
    assert said == {
        "A round was added: add it again, with its times, boards and solution",
        "Bob's #1: sent to a round that the backup lacks: it has to be sent again",
        "The solution was revised: revise it again, with the same file",
    }
    client.force_login(world.organizer)
    page = client.get("/organize/digits/finals/").content.decode()
    for each in said:
        assert escape(each) in page
    assert "Announcements, texts and data files are in no log" in page
    assert "A restored backup lacks something" in client.get("/organize/").content.decode()
    ending.close(world.digits)
    rewinds.give_up(world.round)
    with pytest.raises(Refused) as refused:
        finalize.start_finals(world.round)
    assert refused.value.code == "restore_unsettled"


def test_the_finals_of_an_older_backup_are_those_that_were(world: World, alice: Team) -> None:
    def play() -> Any:
        world.score(alice, predictions(range(10, 11)))
        selection.select(team=alice, user=world.alice, numbers=[1])
        ending.score(world.digits)
        return world.round.finals_started_at, finals()

    def finals() -> list[Any]:
        fields = ("team__uid", "submission__number", "units", "place")
        return list(FinalScore.objects.order_by("position").values_list(*fields))

    started_at, before = lose(world, play)
    call_command("rewind", "digits", "--replay", verbosity=0)
    call_command("rewind", "digits", "--end", verbosity=0)
    world.digits.refresh_from_db()
    assert world.round.finals_started_at is not None
    assert abs(world.round.finals_started_at - started_at) <= timedelta(seconds=1)
    ending.measure(world.digits)
    assert finals() == before


def test_finals_for_which_no_answer_is_left_are_verified(world: World) -> None:
    team = world.join(world.alice)

    def play() -> None:
        world.score(team, predictions(range(10, 11)))
        ending.score(world.digits)

    lose(world, play)
    recover(world.digits)
    rewinds.give_up(world.round)
    rewinds.end_again(world.round)
    ending.measure(world.digits)
    assert world.round.finals_scored_at is not None
    assert verify_ledger(ledger_of(world.digits)).report.difference is None


def test_what_was_written_since_the_restore_follows_behind_in_the_log(
    world: World, alice: Team
) -> None:
    def play() -> None:
        world.score(alice, predictions(range(10, 11)))

    lose(world, play)
    copied = [line.hash for line in journal.read(world.digits.uid)]
    late = world.submit(alice, predictions(range(10, 12)))
    Submission.objects.filter(pk=late.pk).update(created_at=timezone.now() + timedelta(hours=1))
    with pytest.raises(heads.LogDiffers):
        heads.sign(world.digits)
    bring_back(world)
    late.refresh_from_db()
    assert late.number == 3
    entries = list(LogEntry.objects.order_by("index"))
    assert [each.hash for each in entries[: len(copied)]] == copied
    assert entries[len(copied)].document["submission"] == 3
    head = heads.sign(world.digits)
    assert head is not None
    hashes = [bytes.fromhex(each.hash) for each in entries]
    assert merkle.Frontier.from_json(head.frontier).root() == merkle.root_at(
        len(hashes), merkle.nodes_of(hashes)
    )


def test_answers_that_the_log_had_lost_are_written_as_restored(world: World, alice: Team) -> None:
    def play() -> None:
        bob = world.join(world.bob, "Bob's")
        for wrong in (range(10, 12), range(10, 13)):
            world.score(bob, predictions(wrong))
        world.score(alice, predictions(range(10, 11)))
        membership.merge(team=bob, into=alice, by=world.organizer)

    heads.sign(world.digits)
    lose(world, play, journal=False)
    bring_back(world)
    heads.sign(world.digits)
    restored = LogEntry.objects.filter(kind="restored").order_by("index")
    said = [(each.document["submission"], len(each.document["entries"])) for each in restored]
    assert said == [(1, 1), (2, 1), (2, 1)]
    assert LogEntry.objects.filter(kind__in=("noted", "merged")).count() == 2
    verify_log(world.digits)
    entries = LogEntry.objects.order_by("index").values_list("document", flat=True)
    history = History.of(map(canonical, entries))
    assert len(history.stand_ins) == 3
    check = LedgerCheck(history, "9999-01-01T00:00:00+00:00")
    lines = b"".join(queries.ledger_lines(ledger_of(world.digits))).splitlines(keepends=True)
    assert verify(lines, observer=check).difference is None
    check.check_end()
    assert check.pending == 0
    (standing,) = Shown(history, {}).standings(check.answers[world.board.uid])
    row = Standing.objects.get()
    assert (standing.team, float(standing.loss)) == (alice.uid, row.loss)
    assert standing.at == utc(row.reached_at)


def test_an_answer_of_a_file_that_the_log_has_is_written_as_restored(
    world: World, alice: Team
) -> None:
    def play() -> None:
        sent = world.submit(alice, predictions(range(10, 12)))
        heads.sign(world.digits)
        score_submission(submission_id=sent.pk)

    lose(world, play, journal=False)
    bring_back(world)
    heads.sign(world.digits)
    verify_log(world.digits)
    entries = LogEntry.objects.order_by("index").values_list("document", flat=True)
    history = History.of(map(canonical, entries))
    assert not history.stand_ins
    assert not history.unanswered


def test_a_second_recovery_changes_nothing(world: World, alice: Team) -> None:
    lose(world, lambda: world.score(alice, predictions(range(10, 13))))
    bring_back(world)
    before = everything()
    assert recover(world.digits) == 0
    assert everything() == before
