"""The watermark: what was released is known outside the database, and nothing is released that a
restored database would release a second time."""

import errno
import os
import subprocess
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from django.conf import settings
from django.db import transaction
from django.utils import timezone

from leaderboard import organize, tasks
from leaderboard.errors import Refused
from leaderboard.ledger import watermark
from leaderboard.ledger.pauses import look_for_rewinds
from leaderboard.ledger.watermark import Head, Rewound, WatermarkAway
from leaderboard.log import heads
from leaderboard.models import Holdout, Ledger, Pause, Release, Round, Status, Submission, Team
from leaderboard.organize import revisions
from leaderboard.pipeline import finalize
from leaderboard.tasks import score_submission
from tests.cast import (
    World,
    ledger_of,
    make_competition,
    make_user,
    predictions,
    solution,
    upload,
)

A, B, C = "a" * 64, "b" * 64, "c" * 64


@pytest.fixture(autouse=True)
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep watermarks of this test's own."""
    monkeypatch.setattr(settings, "WATERMARK_DIR", tmp_path / "watermark")
    return tmp_path / "watermark"


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The submissions that the sweeper asks for."""
    asked: list[int] = []

    def ask(submission_id: int) -> bool:
        asked.append(submission_id)
        return True

    monkeypatch.setattr(tasks, "enqueue", ask)
    return asked


def _file(world: World) -> Path:
    return watermark.file_of(ledger_of(world.digits).uid)


def _wrong(count: int) -> bytes:
    return predictions(wrong=range(10, 10 + count))


def _lose_a_release(world: World, team: Team) -> None:
    """A release that the database forgets, as after a restored backup."""
    restored = transaction.savepoint()
    world.score(team, _wrong(4))
    transaction.savepoint_rollback(restored)


# --- The file -------------------------------------------------------------------------------------


def test_there_is_nothing_to_read_before_the_first_line() -> None:
    assert watermark.read("ledger") is None


def test_the_highest_number_counts_however_lines_are_ordered() -> None:
    for head in (Head(0, ""), Head(2, B), Head(1, A)):
        watermark.append("ledger", head)
    assert watermark.read("ledger") == Head(2, B)


def test_a_line_that_was_cut_short_counts_as_not_written(directory: Path) -> None:
    watermark.append("ledger", Head(1, A))
    with (directory / "ledger").open("a") as file:
        file.write("2 bbbb")
    assert watermark.read("ledger") == Head(1, A)
    watermark.append("ledger", Head(2, C))
    assert watermark.read("ledger") == Head(2, C)


def test_a_first_line_that_was_cut_short_is_none(directory: Path) -> None:
    directory.mkdir()
    (directory / "ledger").write_bytes(b"0")
    assert watermark.read("ledger") is None
    watermark.append("ledger", Head(0, ""))
    assert watermark.read("ledger") == Head(0, "")


def test_a_long_file_is_read_from_its_end() -> None:
    for number in range(1, 600):
        watermark.append("ledger", Head(number, A))
    assert watermark.read("ledger") == Head(599, A)


def test_two_hashes_of_one_number_are_a_fork() -> None:
    watermark.append("ledger", Head(1, A))
    watermark.append("ledger", Head(1, B))
    with pytest.raises(Rewound, match="two entries"):
        watermark.read("ledger")


def test_a_file_without_a_line_is_damaged(directory: Path) -> None:
    directory.mkdir()
    (directory / "ledger").write_bytes(b"\0" * 4096)
    with pytest.raises(Rewound, match="damaged"):
        watermark.read("ledger")


def test_processes_that_write_at_once_lose_no_line(directory: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from django.conf import settings;"
        "settings.configure(WATERMARK_DIR=Path(sys.argv[1]));"
        "from leaderboard.ledger.watermark import append, Head;"
        "[append('ledger', Head(n, 'a' * 64)) for n in range(int(sys.argv[2]), 200, 4)]"
    )
    running = [
        subprocess.Popen([sys.executable, "-c", program, str(directory), str(first)])
        for first in range(4)
    ]
    assert [process.wait() for process in running] == [0] * 4
    lines = (directory / "ledger").read_text().splitlines()
    assert sorted(int(line.split()[0]) for line in lines) == list(range(200))


# --- Releases -------------------------------------------------------------------------------------


def test_every_release_leaves_a_line(world: World) -> None:
    team = world.join(world.alice)
    world.score(team, _wrong(9))
    world.score(team, _wrong(1))
    lines = [f"{each.number} {each.hash}" for each in Release.objects.order_by("number")]
    assert _file(world).read_text().splitlines() == ["0 -", *lines]
    assert ledger_of(world.digits).watermarked


def test_a_crash_between_commit_and_line_is_repaired_by_the_next_release(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    team = world.join(world.alice)
    world.score(team, _wrong(9))
    with monkeypatch.context() as patch:
        patch.setattr(watermark, "append", _nothing)
        world.score(team, _wrong(5))
    assert world.score(team, _wrong(1)).status == Status.RELEASED
    numbers = [line.split()[0] for line in _file(world).read_text().splitlines()]
    assert numbers == ["0", "1", "2", "3"]


def _nothing(*arguments: object) -> None:
    """What a process that was killed writes."""


def test_a_head_is_signed_over_no_answer_that_the_watermark_lacks(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    team = world.join(world.alice)
    world.score(team, _wrong(9))
    tasks.sweep()
    first = heads.newest(world.digits)
    with monkeypatch.context() as patch:
        patch.setattr(watermark, "append", _full)
        assert world.score(team, _wrong(5)).status == Status.RELEASED
        tasks.sweep()
    assert heads.newest(world.digits) == first
    tasks.sweep()
    assert heads.newest(world.digits) != first
    assert watermark.read(_file(world).name) == Head(2, ledger_of(world.digits).head_hash)


def _full(*arguments: object) -> None:
    raise WatermarkAway("No space left on device")


def test_a_restored_database_answers_nobody(world: World) -> None:
    team = world.join(world.alice)
    world.score(team, _wrong(9))
    _lose_a_release(world, team)
    submission = world.score(team, _wrong(1))
    assert submission.status == Status.QUEUED
    assert submission.attempts == 0
    assert ledger_of(world.digits).paused_for == Pause.REWOUND
    assert Release.objects.count() == 1


def test_a_database_of_before_the_first_release_is_rewound_too(world: World) -> None:
    team = world.join(world.alice)
    _lose_a_release(world, team)
    world.score(team, _wrong(1))
    assert ledger_of(world.digits).paused_for == Pause.REWOUND


def test_a_fork_is_found_at_the_same_number(world: World) -> None:
    team = world.join(world.alice)
    world.score(team, _wrong(9))
    Ledger.objects.update(head_hash=A)
    assert world.score(team, _wrong(1)).status == Status.QUEUED
    assert "entry 1" in ledger_of(world.digits).paused_because


def test_a_fork_is_found_behind_the_database_s_head(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    team = world.join(world.alice)
    world.score(team, _wrong(9))
    with monkeypatch.context() as patch:
        patch.setattr(watermark, "append", _nothing)
        world.score(team, _wrong(5))
    _file(world).write_text(f"1 {A}\n")
    assert world.score(team, _wrong(1)).status == Status.QUEUED
    assert ledger_of(world.digits).paused_for == Pause.REWOUND


def test_a_watermark_that_was_lost_stops_the_ledger(world: World) -> None:
    team = world.join(world.alice)
    world.score(team, _wrong(9))
    _file(world).unlink()
    assert world.score(team, _wrong(1)).status == Status.QUEUED
    assert "missing" in ledger_of(world.digits).paused_because


def test_a_watermark_that_can_not_be_written_lets_nothing_out_and_pauses_nothing(
    world: World, directory: Path, sent: list[int]
) -> None:
    directory.write_text("a file where the directory should be")
    submission = world.score(world.join(world.alice))
    assert (submission.status, submission.attempts) == (Status.QUEUED, 0)
    assert not ledger_of(world.digits).paused_at
    tasks.sweep()
    assert sent == []
    directory.unlink()
    score_submission(submission_id=submission.pk)
    assert Release.objects.count() == 1


def test_a_line_that_can_not_be_written_after_the_commit_takes_nothing_back(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    team = world.join(world.alice)
    world.score(team, _wrong(9))
    with monkeypatch.context() as patch:
        patch.setattr(watermark, "append", _full)
        assert world.score(team, _wrong(5)).status == Status.RELEASED
        assert world.score(team, _wrong(1)).status == Status.QUEUED
    waiting = Submission.objects.get(status=Status.QUEUED)
    score_submission(submission_id=waiting.pk)
    assert watermark.read(_file(world).name) == Head(3, ledger_of(world.digits).head_hash)


def test_a_ledger_from_before_the_watermark_is_taken_up_where_it_is(world: World) -> None:
    team = world.join(world.alice)
    world.score(team, _wrong(9))
    Ledger.objects.update(watermarked=False)
    _file(world).unlink()
    world.score(team, _wrong(1))
    assert [line.split()[0] for line in _file(world).read_text().splitlines()] == ["1", "2"]


# --- While it is paused ---------------------------------------------------------------------------


@pytest.fixture
def rewound(world: World) -> Team:
    """Alice's team, in a competition whose database was restored."""
    team = world.join(world.alice)
    world.score(team, _wrong(9))
    _lose_a_release(world, team)
    look_for_rewinds()
    return team


CHANGES: dict[str, Callable[[World], object]] = {
    "revise": lambda world: revisions.revise_solution(
        world.round, upload(solution()), by=world.organizer, reason="Two labels were wrong."
    ),
    "install": lambda world: organize.install_solution(
        world.round, upload(solution()), by=world.organizer
    ),
    "start the finals": lambda world: finalize.start_finals(world.round),
    "back to draft": lambda world: organize.return_to_draft(world.digits),
    "delete": lambda world: organize.delete_competition(world.digits),
}


@pytest.mark.parametrize("change", ["revise", "start the finals"])
def test_nothing_is_built_on_a_rewound_ledger_that_nobody_paused_yet(
    world: World, rewound: Team, change: str
) -> None:
    _resume(world)
    with pytest.raises(Refused) as refused:
        CHANGES[change](world)
    assert refused.value.code == "paused"
    world.digits.refresh_from_db()
    assert world.round.finals_started_at is None
    assert Holdout.objects.count() == 1


@pytest.mark.parametrize("change", ["install", "back to draft", "delete"])
def test_a_ledger_rewound_to_before_its_first_answer_is_no_fresh_one(
    world: World, change: str
) -> None:
    _lose_a_release(world, world.join(world.alice))
    Submission.objects.all().delete()
    with pytest.raises(Refused) as refused:
        CHANGES[change](world)
    assert refused.value.code == "paused"


def test_organizers_change_nothing_where_the_watermark_can_not_be_read(
    world: World, directory: Path
) -> None:
    world.score(world.join(world.alice))
    _file(world).unlink()
    directory.rmdir()
    directory.write_text("a file where the directory should be")
    with pytest.raises(Refused) as refused:
        CHANGES["revise"](world)
    assert (refused.value.code, refused.value.status) == ("watermark_away", 503)


def test_a_watermark_that_can_only_be_read_is_enough_for_organizers(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.score(world.join(world.alice))
    open_file = os.open

    def read_only(path: Path, flags: int, *mode: int) -> int:
        if flags & (os.O_WRONLY | os.O_RDWR):
            raise OSError(errno.EROFS, "Read-only file system")
        return open_file(path, flags, *mode)

    with monkeypatch.context() as patched:
        patched.setattr(os, "open", read_only)
        CHANGES["revise"](world)
    assert Holdout.objects.count() == 2


def test_what_a_crash_left_unwritten_keeps_no_organizer_from_a_change(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    team = world.join(world.alice)
    world.score(team, _wrong(9))
    with monkeypatch.context() as patched:
        patched.setattr(watermark, "append", _nothing)
        world.score(team, _wrong(5))
    CHANGES["revise"](world)
    look_for_rewinds()
    assert not Ledger.objects.filter(paused_at__isnull=False).exists()


def _resume(world: World) -> None:
    """As it is between the restore and the first look at the watermark."""
    Ledger.objects.update(paused_at=None, paused_for="", paused_because="")
    past = timezone.now() - timedelta(minutes=1)
    Round.objects.update(closes_at=past)


def test_workers_that_start_look_for_rewinds(world: World, rewound: Team) -> None:
    assert ledger_of(world.digits).paused_for == Pause.REWOUND


def test_uploads_are_refused_while_it_is_paused(world: World, rewound: Team) -> None:
    with pytest.raises(Refused) as refused:
        world.submit(rewound)
    assert refused.value.code == "paused"


def test_what_waits_is_neither_claimed_nor_sent_again(
    world: World, rewound: Team, sent: list[int]
) -> None:
    state = Ledger.objects.values().get()
    Ledger.objects.update(paused_at=None, paused_for="")
    waiting = world.submit(rewound)
    Ledger.objects.filter(pk=state["id"]).update(
        paused_at=state["paused_at"], paused_for=state["paused_for"]
    )
    score_submission(submission_id=waiting.pk)
    tasks.sweep()
    waiting.refresh_from_db()
    assert (waiting.status, waiting.attempts, sent) == (Status.QUEUED, 0, [])


def test_other_competitions_go_on(world: World, rewound: Team) -> None:
    other = make_competition("letters", make_user("another", is_organizer=True))
    assert world.score(world.join(world.bob, competition=other)).status == Status.RELEASED


def test_the_watermark_s_files_are_their_owner_s_alone(world: World) -> None:
    world.score(world.join(world.alice))
    assert _file(world).stat().st_mode & 0o077 == 0
