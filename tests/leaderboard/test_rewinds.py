"""After a restored backup: the published ledger is replayed, or what is lost is written off."""

from __future__ import annotations

import io
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.db import transaction

from leaderboard import organize, queries
from leaderboard.errors import Refused
from leaderboard.ledger import rewinds, watermark
from leaderboard.ledger.watermark import Head
from leaderboard.models import (
    BoardState,
    Competition,
    FinalScore,
    Holdout,
    Ledger,
    LedgerNote,
    Pause,
    Release,
    Standing,
    Status,
    Submission,
    Team,
    TeamState,
    User,
)
from leaderboard.operate import verification
from leaderboard.operate.log_verification import verify_log
from leaderboard.organize.revisions import revise_solution, to_score_again
from leaderboard.participate import selection
from leaderboard.tasks import score_submission, sweep
from leaderboard.words import entered
from scoring.verification.differences import Differs
from scoring.verification.run import verify
from tests import ending, snapshots
from tests.cast import (
    CHECKED_ROWS,
    World,
    ledger_of,
    make_checked,
    make_user,
    predictions,
    said,
    solution,
)
from tests.cast import upload as uploaded


@pytest.fixture(autouse=True)
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep watermarks of this test's own."""
    monkeypatch.setattr(settings, "WATERMARK_DIR", tmp_path / "watermark")
    return tmp_path / "watermark"


@pytest.fixture
@snapshots.kept
def checked(world: World) -> Competition:
    """A competition with Thresholdout: three corrections, two for a team."""
    return make_checked("checked", world.organizer)


@pytest.fixture
@snapshots.kept
def alice(world: World, checked: Competition) -> Team:
    """Alice's team, which has spent one of its corrections."""
    team = world.join(world.alice, competition=checked)
    world.score(team, wrong_from(20))
    return team


def wrong_from(row: int) -> bytes:
    return predictions(wrong=range(row, CHECKED_ROWS), rows=CHECKED_ROWS)


def lines(competition: Competition) -> list[bytes]:
    return b"".join(queries.ledger_lines(ledger_of(competition))).splitlines(keepends=True)


def lose(competition: Competition, play: Callable[[], object]) -> list[bytes]:
    """Plays on, publishes the ledger, and restores the database from before."""
    backup = transaction.savepoint()
    play()
    published = lines(competition)
    transaction.savepoint_rollback(backup)
    return published


def rewind(*arguments: object) -> str:
    said = io.StringIO()
    call_command("rewind", *map(str, arguments), stdout=said)
    return said.getvalue()


@pytest.fixture
def kept(tmp_path: Path) -> Callable[[list[bytes]], Path]:
    """Saves a published ledger, as anybody may."""

    def keep(published: list[bytes]) -> Path:
        path = tmp_path / "ledger.jsonl"
        path.write_bytes(b"".join(published))
        return path

    return keep


# --- Looking --------------------------------------------------------------------------------------


def test_a_whole_ledger_is_said_to_be_one(alice: Team) -> None:
    assert "They agree" in rewind("checked")


def test_it_says_how_far_each_is_and_what_can_be_done(
    world: World, checked: Competition, alice: Team
) -> None:
    lose(checked, lambda: world.score(alice, wrong_from(21)))
    told = rewind("checked")
    assert "The database is at entry 1 " in told
    assert "The watermark is at entry 2 " in told
    assert "--replay" in told
    assert "--give-up" in told


def test_a_pause_without_a_reason_ends_when_one_looks(
    world: World, checked: Competition, alice: Team
) -> None:
    Ledger.objects.filter(competition=checked).update(
        paused_at=alice.created_at, paused_for="rewound"
    )
    rewind("checked")
    assert world.score(alice, wrong_from(21)).status == Status.RELEASED


@pytest.mark.parametrize(
    "arguments", [("nothing",), ("checked", "--lost", 3), ("checked", "--give-up", "--lost", -1)]
)
def test_arguments_that_make_no_sense_are_refused(
    alice: Team, arguments: tuple[object, ...]
) -> None:
    with pytest.raises(CommandError):
        rewind(*arguments)


# --- Replaying ------------------------------------------------------------------------------------


def test_a_replay_brings_back_every_entry_and_every_state(
    world: World, checked: Competition, alice: Team, kept: Callable[[list[bytes]], Path]
) -> None:
    def play() -> None:
        for first in (CHECKED_ROWS, 21, 21, 22):
            world.score(alice, wrong_from(first))
        remembered.update(_everything(checked))

    remembered: dict[str, object] = {}
    published = lose(checked, play)
    assert "Replayed 4 entries." in rewind("checked", "--replay", kept(published))
    assert _everything(checked) == remembered
    assert lines(checked) == published


def _everything(competition: Competition) -> dict[str, object]:
    """All that the mechanism and the board know, but for keys and digests."""
    head = Ledger.objects.filter(competition=competition)
    columns = ("loss", "entries", "best__number", "last__number")
    return {
        "head": head.values_list(
            "asked", "answered", "log_alphabets", "entries", "head_hash"
        ).get(),
        "board state": BoardState.objects.filter(ledger=head.get())
        .values_list("firings", "budget_left")
        .get(),
        "teams": list(TeamState.objects.values_list("team_id", "best", "last", "share_left")),
        "board": list(Standing.objects.values_list(*columns)),
        "hashes": list(Release.objects.values_list("hash", "cost")),
    }


def test_after_a_replay_the_ledger_goes_on_and_is_verified(
    world: World, checked: Competition, alice: Team, kept: Callable[[list[bytes]], Path]
) -> None:
    published = lose(checked, lambda: world.score(alice, wrong_from(21)))
    rewind("checked", "--replay", kept(published))
    last = world.score(alice, wrong_from(22))
    assert (said(last).kind, said(last).number) == ("exhausted", 3)
    assert verify(lines(checked)).difference is None


def test_what_was_asked_in_the_lost_part_is_not_asked_again(
    world: World, checked: Competition, alice: Team, kept: Callable[[list[bytes]], Path]
) -> None:
    published = lose(checked, lambda: world.score(alice, wrong_from(CHECKED_ROWS)))
    rewind("checked", "--replay", kept(published))
    again = said(world.score(alice, wrong_from(CHECKED_ROWS)))
    assert again.repeat_of == Release.objects.get(number=2)
    assert verify(lines(checked)).difference is None


def test_a_submission_that_the_backup_has_gets_its_lost_answer(
    world: World, checked: Competition, alice: Team, kept: Callable[[list[bytes]], Path]
) -> None:
    waiting = world.submit(alice, wrong_from(21))
    published = lose(checked, lambda: score_submission(submission_id=waiting.pk))
    rewind("checked", "--replay", kept(published))
    waiting.refresh_from_db()
    assert (waiting.status, said(waiting).number) == (Status.RELEASED, 2)
    assert waiting.file


def test_a_submission_that_came_in_after_the_restore_makes_room(
    world: World, checked: Competition, alice: Team, kept: Callable[[list[bytes]], Path]
) -> None:
    published = lose(checked, lambda: world.score(alice, wrong_from(21)))
    later = world.score(alice, wrong_from(22))
    Submission.objects.filter(pk=later.pk).update(created_at=later.created_at + timedelta(hours=1))
    rewind("checked", "--replay", kept(published))
    later.refresh_from_db()
    assert (later.number, later.status) == (3, Status.QUEUED)
    assert Submission.objects.get(number=2, team=alice).file == ""


def test_a_team_that_is_lost_gets_a_stand_in_and_keeps_its_share(
    world: World, checked: Competition, alice: Team, kept: Callable[[list[bytes]], Path]
) -> None:
    def play() -> None:
        bob = world.join(world.bob, competition=checked)
        world.score(bob, wrong_from(20))
        uids.append(bob.uid)

    uids: list[str] = []
    published = lose(checked, play)
    rewind("checked", "--replay", kept(published))
    restored = Team.objects.get(uid=uids[0])
    assert restored.name == f"Team {uids[0][:8]} (restored)"
    assert not restored.captain.is_active
    assert TeamState.objects.get(team=restored).share_left == 0
    assert world.join(world.bob, competition=checked).uid != uids[0]


def test_a_team_that_came_after_the_restore_is_not_taken_for_a_lost_one(
    world: World, checked: Competition, alice: Team, kept: Callable[[list[bytes]], Path]
) -> None:
    def play() -> None:
        world.score(world.join(world.bob, competition=checked), wrong_from(20))

    published = lose(checked, play)
    carol = world.join(make_user("carol"), competition=checked)
    rewind("checked", "--replay", kept(published))
    assert Release.objects.count() == 2
    assert not carol.releases.exists()


@pytest.mark.parametrize("change", ["forged", "short", "foreign", "no ledger"])
def test_a_file_that_does_not_lead_to_the_watermark_changes_nothing(
    world: World, checked: Competition, alice: Team, change: str
) -> None:
    published = lose(checked, lambda: world.score(alice, wrong_from(21)))
    other = {
        "forged": [line.replace(b'"share_left":0', b'"share_left":1') for line in published],
        "short": lines(checked),
        "foreign": _of_another(world),
        "no ledger": [b"id,label\n"],
    }[change]
    before = _everything(checked)
    with pytest.raises((Refused, Differs)):
        rewinds.replay(checked.current_round, other)
    assert _everything(checked) == before


def _of_another(world: World) -> list[bytes]:
    other = make_checked("other", world.organizer)
    team = world.join(world.bob, competition=other)
    for first in (20, 21):
        world.score(team, wrong_from(first))
    return lines(other)


def test_a_second_replay_does_nothing(
    world: World, checked: Competition, alice: Team, kept: Callable[[list[bytes]], Path]
) -> None:
    published = kept(lose(checked, lambda: world.score(alice, wrong_from(21))))
    rewind("checked", "--replay", published)
    assert "Replayed 0 entries." in rewind("checked", "--replay", published)


def test_a_lost_revision_can_not_be_replayed(
    world: World, checked: Competition, alice: Team, kept: Callable[[list[bytes]], Path]
) -> None:
    def play() -> None:
        revise(checked)
        world.score(alice, wrong_from(21))

    published = lose(checked, play)
    with pytest.raises(CommandError, match="holds a revision"):
        rewind("checked", "--replay", kept(published))


def revise(checked: Competition) -> Holdout:
    file = uploaded(solution(CHECKED_ROWS, 20).replace(b"r99,3", b"r99,0"))
    return revise_solution(
        checked.current_round, file, by=None, reason="One label.", rescore="none"
    )


# --- Writing off ----------------------------------------------------------------------------------


def test_each_lost_answer_is_counted_as_the_most_it_could_have_said(
    world: World, checked: Competition, alice: Team
) -> None:
    lose(checked, lambda: [world.score(alice, wrong_from(each)) for each in (21, 22)])
    before = ledger_of(checked)
    assert "Wrote 2 answers off: entry 4." in rewind("checked", "--give-up")
    after = ledger_of(checked)
    assert (after.asked, after.answered) == (before.asked + 2, before.answered + 2)
    assert after.log_alphabets > before.log_alphabets
    assert BoardState.objects.get(ledger=after).budget_left == 0
    assert TeamState.objects.get(team=alice).share_left == 0


def test_after_a_write_off_the_ledger_goes_on_and_is_verified(
    world: World, checked: Competition, alice: Team
) -> None:
    lose(checked, lambda: world.score(alice, wrong_from(21)))
    rewind("checked", "--give-up")
    entry = said(world.score(alice, wrong_from(22)))
    note = LedgerNote.objects.get()
    assert (note.number, entry.number, entry.previous_hash) == (3, 4, note.hash)
    assert verify(lines(checked)).difference is None


def test_certificates_after_a_write_off_are_no_narrower_than_the_lost_ledger_s(
    world: World, checked: Competition, alice: Team
) -> None:
    def play() -> None:
        for first in (21, 22, CHECKED_ROWS):
            world.score(alice, wrong_from(first))
        widths.append(said(world.score(alice, wrong_from(98))).width)

    widths: list[float] = []
    lose(checked, play)
    rewind("checked", "--give-up")
    assert said(world.score(alice, wrong_from(97))).width > widths[0]


def test_what_waited_is_scored_after_the_write_off(
    world: World, checked: Competition, alice: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    lose(checked, lambda: world.score(alice, wrong_from(21)))
    waiting = world.score(alice, wrong_from(22))
    assert waiting.status == Status.QUEUED
    rewind("checked", "--give-up")

    def ask(submission_id: int) -> bool:
        score_submission(submission_id=submission_id)
        return True

    monkeypatch.setattr("leaderboard.tasks.enqueue", ask)
    sweep()
    waiting.refresh_from_db()
    assert waiting.status == Status.RELEASED


def test_giving_up_twice_writes_off_once(world: World, checked: Competition, alice: Team) -> None:
    lose(checked, lambda: world.score(alice, wrong_from(21)))
    rewind("checked", "--give-up")
    rewind("checked", "--give-up")
    assert LedgerNote.objects.count() == 1


@pytest.mark.parametrize("broken", ["missing", "damaged", "forked"])
def test_without_a_readable_watermark_the_operator_says_how_many(
    world: World, checked: Competition, alice: Team, broken: str
) -> None:
    file = watermark.file_of(ledger_of(checked).uid)
    if broken == "missing":
        file.unlink()
    elif broken == "damaged":
        file.write_bytes(b"\0" * 100)
    else:
        file.write_text(f"5 {'a' * 64}\n5 {'b' * 64}\n")
    with pytest.raises(CommandError, match="--lost"):
        rewind("checked", "--give-up")
    rewind("checked", "--give-up", "--lost", 3)
    # Where numbers can be read, no fewer are written off than they skip.
    assert ledger_of(checked).asked == 1 + (4 if broken == "forked" else 3)
    assert world.score(alice, wrong_from(22)).status == Status.RELEASED
    assert verify(lines(checked)).difference is None


@pytest.mark.parametrize("broken", ["missing", "behind"])
def test_a_crash_before_the_watermark_is_told_writes_nothing_off_twice(
    world: World,
    checked: Competition,
    alice: Team,
    broken: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if broken == "missing":
        watermark.file_of(ledger_of(checked).uid).unlink()
    else:
        lose(checked, lambda: world.score(alice, wrong_from(21)))

    def killed(*arguments: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(watermark, "append", killed)
        with pytest.raises(KeyboardInterrupt):
            rewinds.give_up(checked.current_round, lost=1)
    asked = ledger_of(checked).asked
    rewind("checked", "--give-up", "--lost", 1)
    assert ledger_of(checked).asked == asked
    assert LedgerNote.objects.count() == 1
    assert world.score(alice, wrong_from(22)).status == Status.RELEASED


def test_a_fork_is_written_off_from_where_both_agree(
    world: World, checked: Competition, alice: Team
) -> None:
    row = ledger_of(checked)
    for number, digest in ((2, "b" * 64), (3, "c" * 64)):
        watermark.append(row.uid, Head(number, digest))
    Release.objects.filter(number=1).update(number=4)
    Ledger.objects.filter(pk=row.pk).update(entries=4)
    note = rewinds.give_up(checked.current_round)
    assert note is not None
    assert (note.number, note.document["lost"]) == (5, 3)
    assert note.previous_hash == row.head_hash


def test_a_lost_revision_is_written_off_and_made_again(
    world: World, checked: Competition, alice: Team
) -> None:
    def play() -> None:
        revise(checked)
        world.score(alice, wrong_from(21))

    lose(checked, play)
    rewind("checked", "--give-up")
    revise(checked)
    assert said(world.score(alice, wrong_from(21))).number == 6
    assert verify(lines(checked)).difference is None


def test_nobody_is_told_anything_by_the_stand_ins(
    world: World, checked: Competition, alice: Team, kept: Callable[[list[bytes]], Path]
) -> None:
    def play() -> None:
        world.score(world.join(world.bob, competition=checked), wrong_from(20))

    rewind("checked", "--replay", kept(lose(checked, play)))
    stand_in = User.objects.get(username__startswith="lost-team-")
    assert not stand_in.has_usable_password()


def test_a_file_that_is_lost_is_neither_scored_again_nor_entered_for_the_end(
    world: World, checked: Competition, alice: Team, kept: Callable[[list[bytes]], Path]
) -> None:
    rewind("checked", "--replay", kept(lose(checked, lambda: world.score(alice, wrong_from(99)))))
    lost = Submission.objects.get(team=alice, number=2)
    assert lost not in to_score_again(checked.current_round, "all")
    with pytest.raises(Refused):
        selection.enter(team=alice, user=world.alice, number=2)
    assert lost not in selection.entered(checked.current_round)


def test_the_best_file_that_is_left_stands_in_for_one_that_is_lost(
    world: World, checked: Competition, alice: Team, kept: Callable[[list[bytes]], Path]
) -> None:
    rewind("checked", "--replay", kept(lose(checked, lambda: world.score(alice, wrong_from(99)))))
    assert queries.choice(alice).entered == (1,)
    assert selection.entered(checked.current_round).get().number == 1


def test_a_team_whose_only_file_is_lost_is_told_to_enter_another(
    world: World, checked: Competition, kept: Callable[[list[bytes]], Path]
) -> None:
    bob = world.join(world.bob, competition=checked)
    rewind("checked", "--replay", kept(lose(checked, lambda: world.score(bob, wrong_from(99)))))
    assert "lost with a database: upload it again, or enter another" in entered(queries.choice(bob))
    assert not selection.entered(checked.current_round).exists()


def test_a_replayed_ledger_is_verified_with_all_that_the_server_knows(
    world: World, checked: Competition, alice: Team, kept: Callable[[list[bytes]], Path]
) -> None:
    waiting = world.submit(alice, wrong_from(21))
    published = lose(
        checked,
        lambda: [score_submission(submission_id=waiting.pk), world.score(alice, wrong_from(98))],
    )
    rewind("checked", "--replay", kept(published))
    assert verification.verify_ledger(ledger_of(checked)).report.difference is None


@pytest.mark.parametrize("given_up", [False, True])
def test_another_solution_begins_no_new_ledger_where_all_answers_are_lost(
    world: World, checked: Competition, given_up: bool
) -> None:
    team = world.join(world.alice, competition=checked)
    lose(checked, lambda: world.score(team, wrong_from(20)))
    world.score(team, wrong_from(21))
    if given_up:
        rewind("checked", "--give-up")
    left = BoardState.objects.filter(board__round__competition=checked)
    before = left.values("ledger", "budget_left").get()
    file = uploaded(solution(CHECKED_ROWS, 20))
    with pytest.raises(Refused) as refused:
        organize.install_solution(checked.current_round, file, by=world.organizer)
    assert refused.value.code == "frozen"
    assert left.values("ledger", "budget_left").get() == before


def test_a_revision_is_compared_with_a_version_whose_answers_were_all_written_off(
    world: World, checked: Competition
) -> None:
    team = world.join(world.alice, competition=checked)
    lose(checked, lambda: world.score(team, wrong_from(20)))
    world.score(team, wrong_from(21))
    rewind("checked", "--give-up")
    moved = uploaded(solution(CHECKED_ROWS, 10))
    revise_solution(
        checked.current_round, moved, by=world.organizer, reason="Ten Public rows became Private."
    )
    sweep()
    assert ledger_of(checked).paused_for == Pause.MOVED_ROWS


# --- The end --------------------------------------------------------------------------------------


def _end(competition: Competition) -> None:
    ending.score(Competition.objects.get(pk=competition.pk))


def test_a_database_of_before_the_finals_answers_nobody(
    world: World, checked: Competition, alice: Team
) -> None:
    lose(checked, lambda: _end(checked))
    late = world.score(alice, wrong_from(21))
    assert late.status == Status.QUEUED
    assert ledger_of(checked).paused_for == Pause.REWOUND
    assert "--end" in rewind("checked")


def test_nobody_chooses_anew_what_to_enter_while_the_end_is_lost(
    world: World, checked: Competition, alice: Team
) -> None:
    lose(checked, lambda: _end(checked))
    world.score(alice, wrong_from(21))
    with pytest.raises(Refused) as refused:
        selection.select(team=alice, user=world.alice, numbers=[1])
    assert refused.value.code == "paused"
    assert not alice.selections.exists()


@pytest.mark.parametrize("way", [("--give-up", "--lost", 1), ("--replay",)])
def test_an_end_can_be_neither_replayed_nor_given_up(
    checked: Competition, alice: Team, kept: Callable[[list[bytes]], Path], way: tuple[object, ...]
) -> None:
    published = lose(checked, lambda: _end(checked))
    more = (kept(published),) if way == ("--replay",) else ()
    with pytest.raises(CommandError, match="--end"):
        rewind("checked", *way, *more)
    assert rewinds.look(checked.current_round).end_undone


def test_answers_that_are_lost_with_the_end_are_repaired_first(
    world: World, checked: Competition, alice: Team
) -> None:
    def play() -> None:
        world.score(alice, wrong_from(21))
        _end(checked)

    lose(checked, play)
    with pytest.raises(CommandError, match="knows entry"):
        rewind("checked", "--end")
    assert "--end" in rewind("checked", "--give-up")
    assert world.score(alice, wrong_from(22)).status == Status.QUEUED
    rewind("checked", "--end")
    assert not rewinds.look(checked.current_round).problem


def test_ending_again_fails_what_waits_and_takes_no_more(
    world: World, checked: Competition, alice: Team
) -> None:
    lose(checked, lambda: _end(checked))
    late = world.score(alice, wrong_from(21))
    rewind("checked", "--end")
    late.refresh_from_db()
    assert late.status == Status.FAILED
    assert "had ended" in late.failure
    assert verify_log(checked) > 0
    checked.refresh_from_db()
    alice.competition.refresh_from_db()
    with pytest.raises(Refused):
        world.submit(alice)
    ending.measure(checked)
    assert FinalScore.objects.filter(team=alice).count() == 1


def test_an_end_that_is_not_lost_is_not_made_again(checked: Competition, alice: Team) -> None:
    with pytest.raises(CommandError, match="not lost"):
        rewind("checked", "--end")
