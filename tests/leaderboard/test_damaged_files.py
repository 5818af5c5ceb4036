"""A stored file that a power loss has damaged is this site's fault, and never the participant's."""

import logging
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from django.core.files.storage import default_storage

from leaderboard import queries, tasks
from leaderboard.models import FileRole, Status, Submission
from leaderboard.pipeline import parse, queue
from leaderboard.platform.storage.disk import DurableFileSystemStorage
from leaderboard.words import summary
from tests.cast import World, predictions, upload

Damage = Callable[[bytes], bytes]


def cut_short(content: bytes) -> bytes:
    return content[: len(content) // 2]


def with_zeros(content: bytes) -> bytes:
    """What a file system may leave of a file whose length it knew."""
    return content[:20] + bytes(len(content) - 20)


def another_label(content: bytes) -> bytes:
    """Still a file that could be scored."""
    return content.replace(b"r3,3", b"r3,2")


def put(name: str, content: bytes) -> None:
    default_storage.delete(name)
    assert default_storage.save(name, upload(content)) == name


def score(submission: Submission) -> Submission:
    tasks.score_submission(submission_id=submission.pk)
    submission.refresh_from_db()
    return submission


@pytest.mark.parametrize("damage", [cut_short, with_zeros, another_label])
def test_a_damaged_file_is_not_scored_and_not_rejected(world: World, damage: Damage) -> None:
    submission = world.submit(world.join(world.alice))
    put(submission.file, damage(predictions()))
    score(submission)
    assert (submission.status, submission.problems) == (Status.FAILED, [])
    assert summary(queries.submission_row(submission)).startswith("Something failed on our side")


def test_the_organizer_reads_what_can_be_done(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    submission = world.submit(world.join(world.alice))
    put(submission.file, cut_short(predictions()))
    with caplog.at_level(logging.ERROR):
        score(submission)
    assert submission.failure == (
        f"The stored file {submission.file} is damaged: put it back from a backup, then queue this "
        "again."
    )
    assert submission.failure in caplog.text


def test_a_file_that_was_put_back_is_scored_again(world: World) -> None:
    submission = world.submit(world.join(world.alice))
    put(submission.file, with_zeros(predictions()))
    score(submission)
    put(submission.file, predictions())
    assert queue.requeue_failed(Submission.objects.all()) == 1
    assert score(submission).status == Status.RELEASED


def test_the_same_bytes_sent_again_are_stored_anew(world: World) -> None:
    """The damaged file has the right size, so that only its failure tells."""
    team = world.join(world.alice)
    first = world.submit(team)
    put(first.file, with_zeros(predictions()))
    score(first)
    assert world.score(team).status == Status.RELEASED


def test_a_damaged_sample_is_not_the_participant_s_fault_either(world: World) -> None:
    name = world.round.files.get(role=FileRole.SAMPLE).file.name or ""
    with default_storage.open(name) as file:
        sample = file.read()
    put(name, cut_short(sample))
    parse._read_row_ids.cache_clear()
    submission = world.score(world.join(world.alice))
    assert submission.status == Status.FAILED
    assert submission.failure.startswith(f"The stored file {name} is damaged")


def test_a_file_is_on_the_disk_with_its_folders_before_its_row_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced = list[Path]()

    def fsync(file: int) -> None:
        synced.append(Path(f"/proc/self/fd/{file}").readlink())

    monkeypatch.setattr(os, "fsync", fsync)
    DurableFileSystemStorage(location=tmp_path / "storage").save("a/b/c.csv", upload(b"id"))
    storage = tmp_path / "storage"
    assert synced == [storage / "a/b/c.csv", storage / "a/b", storage / "a", storage]
